/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "master/placement.h"

enum { CHUNK = 1 << 20 };

static void make_servers(struct servers *servers, const uint64_t *free_bytes, uint32_t count)
{
    *servers = (struct servers){0};
    for (uint32_t i = 0; i < count; i++) {
        struct server *server = servers_add(servers, 100 + i);
        server->connected = true;
        server->total_bytes = free_bytes[i];
    }
}

static void copies_go_to_different_servers(void **state)
{
    struct servers servers;
    const uint64_t free_bytes[] = {100 * CHUNK, 100 * CHUNK, 100 * CHUNK};
    struct server *chosen[WIRE_COPIES_LIMIT];
    uint32_t count;
    (void)state;
    make_servers(&servers, free_bytes, 3);
    assert_int_equal(placement_choose(&servers, 2, CHUNK, chosen, &count), WIRE_OK);
    assert_int_equal(count, 2);
    assert_ptr_not_equal(chosen[0], chosen[1]);
    assert_int_equal(placement_choose(&servers, 5, CHUNK, chosen, &count), WIRE_OK);
    assert_int_equal(count, 3);
    servers_fini(&servers);
}

static void turns_follow_free_space(void **state)
{
    struct servers servers;
    const uint64_t free_bytes[] = {3000 * (uint64_t)CHUNK, 1000 * (uint64_t)CHUNK};
    struct server *chosen[WIRE_COPIES_LIMIT];
    uint32_t count, got[3] = {0};
    (void)state;
    make_servers(&servers, free_bytes, 2);
    for (int i = 0; i < 400; i++) {
        assert_int_equal(placement_choose(&servers, 1, CHUNK, chosen, &count), WIRE_OK);
        got[chosen[0]->id]++;
    }
    assert_in_range(got[1], 295, 305);
    assert_in_range(got[2], 95, 105);
    servers_fini(&servers);
}

static void a_server_that_comes_late_does_not_get_everything(void **state)
{
    struct servers servers;
    const uint64_t free_bytes[] = {1000 * (uint64_t)CHUNK, 1000 * (uint64_t)CHUNK};
    struct server *chosen[WIRE_COPIES_LIMIT];
    uint32_t count, got[3] = {0};
    (void)state;
    make_servers(&servers, free_bytes, 2);
    servers.list[1]->connected = false;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(placement_choose(&servers, 1, CHUNK, chosen, &count), WIRE_OK);
    servers.list[1]->connected = true;
    placement_welcome(&servers, servers.list[1]);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(placement_choose(&servers, 1, CHUNK, chosen, &count), WIRE_OK);
        got[chosen[0]->id]++;
    }
    assert_in_range(got[1], 45, 55);
    servers_fini(&servers);
}

/* What little there is gets used, where most of it is, before anybody hears of a full cluster. */
static void the_last_space_is_used(void **state)
{
    struct servers servers;
    const uint64_t free_bytes[] = {CHUNK / 2, CHUNK / 4, 1000};
    struct server *chosen[WIRE_COPIES_LIMIT];
    uint32_t count;
    (void)state;
    make_servers(&servers, free_bytes, 3);
    assert_int_equal(placement_choose(&servers, 1, CHUNK, chosen, &count), WIRE_OK);
    assert_int_equal(chosen[0]->id, 1);
    servers.list[0]->used_bytes = CHUNK / 2;
    assert_int_equal(placement_choose(&servers, 1, CHUNK, chosen, &count), WIRE_OK);
    assert_int_equal(chosen[0]->id, 2);
    servers.list[1]->used_bytes = CHUNK;
    assert_int_equal(placement_choose(&servers, 1, CHUNK, chosen, &count), WIRE_NO_SPACE);
    for (int i = 0; i < 3; i++)
        servers.list[i]->connected = false;
    assert_int_equal(placement_choose(&servers, 1, CHUNK, chosen, &count), WIRE_NO_SERVERS);
    servers_fini(&servers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_go_to_different_servers),
        cmocka_unit_test(turns_follow_free_space),
        cmocka_unit_test(a_server_that_comes_late_does_not_get_everything),
        cmocka_unit_test(the_last_space_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
