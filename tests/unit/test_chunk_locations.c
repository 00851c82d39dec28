/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/chunk_locations.h"

static struct chunk_location at(uint64_t id, uint32_t version)
{
    return (struct chunk_location){.chunk_id = id, .version = version, .count = 1};
}

static void test_entries_are_found_whatever_the_order(void **state)
{
    (void)state;
    struct chunk_locations table = {0};
    const uint32_t order[] = {7, 0, 1000, 3, 4294967294u, 5};
    for (unsigned i = 0; i < 6; i++) {
        struct chunk_location location = at(order[i] + 1u, 1);
        (void)chunk_locations_put(&table, order[i], &location, false);
    }
    for (unsigned i = 0; i < 6; i++) {
        const struct chunk_entry *entry = chunk_locations_find(&table, order[i]);
        assert_non_null(entry);
        assert_int_equal(entry->location.chunk_id, order[i] + 1u);
        assert_true(entry->usable);
    }
    assert_null(chunk_locations_find(&table, 1));
    assert_null(chunk_locations_find(&table, 4294967295u));
    chunk_locations_fini(&table);
}

static void test_only_the_outdated_version_goes(void **state)
{
    (void)state;
    struct chunk_locations table = {0};
    struct chunk_location old = at(9, 1), new = at(9, 2);
    (void)chunk_locations_put(&table, 4, &old, false);
    (void)chunk_locations_put(&table, 4, &new, false);
    chunk_locations_outdated(&table, 4, &old);
    assert_true(chunk_locations_find(&table, 4)->usable);
    chunk_locations_outdated(&table, 4, &new);
    assert_false(chunk_locations_find(&table, 4)->usable);
    chunk_locations_fini(&table);
}

static void test_leases_in_use_are_not_given_back(void **state)
{
    (void)state;
    struct chunk_locations table = {0};
    struct wire_released_lease released[8];
    for (uint32_t i = 0; i < 4; i++) {
        struct chunk_location location = at(i + 1, 1);
        location.create = true;
        chunk_locations_put(&table, i, &location, i != 3)->writers = i == 1;
    }
    chunk_locations_find(&table, 0)->writers = 1;
    chunk_locations_end_write(&table, 0, 1, 5, false);
    assert_int_equal(chunk_locations_take_leases(&table, released, 8), 2);
    assert_int_equal(released[0].index, 0);
    assert_int_equal(released[0].written, 1);
    assert_int_equal(released[0].version, 1);
    assert_int_equal(released[0].blocks, 5);
    assert_int_equal(released[1].index, 2);
    assert_int_equal(released[1].written, 0);
    /* What was written is still there to be read; what may be absent has to be asked for again. */
    assert_non_null(chunk_locations_find(&table, 0));
    assert_null(chunk_locations_find(&table, 2));
    assert_true(chunk_locations_find(&table, 1)->leased);
    chunk_locations_failed_write(&table, 1);
    assert_int_equal(chunk_locations_take_leases(&table, released, 8), 1);
    assert_int_equal(released[0].index, 1);
    assert_int_equal(table.leases, 0);
    chunk_locations_fini(&table);
}

static void test_the_blocks_of_the_last_write_are_told_once(void **state)
{
    (void)state;
    struct chunk_locations table = {0};
    struct wire_released_lease told[4];
    struct chunk_location location = at(1, 1), raised = at(1, 2);
    struct chunk_entry *entry = chunk_locations_put(&table, 7, &location, true);
    entry->writers = 4;
    assert_int_equal(chunk_locations_take_blocks(&table, told, 4), 0);
    chunk_locations_end_write(&table, 7, 1, 3, false);
    chunk_locations_end_write(&table, 7, 1, 2, false); /* its reply was overtaken */
    assert_int_equal(chunk_locations_take_blocks(&table, told, 4), 1);
    assert_int_equal(told[0].index, 7);
    assert_int_equal(told[0].kept, 1);
    assert_int_equal(told[0].blocks, 3);
    assert_int_equal(chunk_locations_take_blocks(&table, told, 4), 0);
    chunk_locations_end_write(&table, 7, 1, 1, true);
    assert_int_equal(chunk_locations_take_blocks(&table, told, 4), 1);
    assert_int_equal(told[0].blocks, 1);
    /* What was counted before a cut does not count after it. */
    (void)chunk_locations_put(&table, 7, &raised, true);
    chunk_locations_end_write(&table, 7, 1, 9, false);
    assert_int_equal(chunk_locations_take_blocks(&table, told, 4), 0);
    assert_int_equal(chunk_locations_take_leases(&table, told, 4), 1);
    assert_int_equal(told[0].version, 2);
    assert_int_equal(told[0].blocks, WIRE_BLOCKS_UNKNOWN);
    chunk_locations_fini(&table);
}

static void test_only_an_unwritten_chunk_is_given_up(void **state)
{
    (void)state;
    struct chunk_locations table = {0};
    struct wire_released_lease released;
    struct chunk_location location = at(1, 1);
    assert_false(chunk_locations_take_unwritten(&table, 0, &released));
    chunk_locations_put(&table, 0, &location, true)->writers = 2;
    chunk_locations_failed_write(&table, 0);
    assert_false(chunk_locations_take_unwritten(&table, 0, &released)); /* another write is under way */
    chunk_locations_failed_write(&table, 0);
    assert_true(chunk_locations_take_unwritten(&table, 0, &released));
    assert_int_equal(released.written, 0);
    assert_int_equal(table.leases, 0);
    chunk_locations_put(&table, 0, &location, true)->writers = 1;
    chunk_locations_end_write(&table, 0, 1, 1, false);
    assert_false(chunk_locations_take_unwritten(&table, 0, &released));
    chunk_locations_fini(&table);
}

static void test_a_lease_survives_its_location(void **state)
{
    (void)state;
    struct chunk_locations table = {0};
    struct wire_released_lease released[1];
    struct chunk_location location = at(1, 1);
    (void)chunk_locations_put(&table, 0, &location, true);
    chunk_locations_all_outdated(&table);
    assert_false(chunk_locations_find(&table, 0)->usable);
    assert_int_equal(chunk_locations_take_leases(&table, released, 1), 1);
    assert_null(chunk_locations_find(&table, 0));
    chunk_locations_end_write(&table, 0, 1, 5, false); /* of a write that began before: nothing happens */
    chunk_locations_fini(&table);
}

static void test_many_read_locations_are_bounded(void **state)
{
    (void)state;
    struct chunk_locations table = {0};
    struct chunk_location location = at(1, 1);
    for (uint32_t i = 0; i < 100000; i++)
        (void)chunk_locations_put(&table, i, &location, i % 10000 == 0);
    assert_true(table.count < 20000);
    for (uint32_t i = 0; i < 100000; i += 10000)
        assert_non_null(chunk_locations_find(&table, i));
    chunk_locations_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_found_whatever_the_order),
        cmocka_unit_test(test_only_the_outdated_version_goes),
        cmocka_unit_test(test_leases_in_use_are_not_given_back),
        cmocka_unit_test(test_the_blocks_of_the_last_write_are_told_once),
        cmocka_unit_test(test_only_an_unwritten_chunk_is_given_up),
        cmocka_unit_test(test_a_lease_survives_its_location),
        cmocka_unit_test(test_many_read_locations_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
