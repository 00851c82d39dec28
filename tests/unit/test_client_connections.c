/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients of a real master over real sockets: hello, requests done once, requests that wait, hostile frames, restarts.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "common/log.h"
#include "tests/unit/master_fixture.h"

static int set_up(void **state)
{
    *state = master_fixture_create();
    return 0;
}

static int tear_down(void **state)
{
    master_fixture_destroy(*state);
    return 0;
}

static void hello_is_refused_with_its_reason(void **state)
{
    struct master_fixture *f = *state;
    const struct {
        struct wire_hello hello;
        uint16_t status;
    } cases[] = {
        {{.protocol = 99, .role = WIRE_ROLE_CLIENT}, WIRE_WRONG_PROTOCOL},
        {{.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CLIENT, .cluster = 5}, WIRE_WRONG_CLUSTER},
        {{.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CLIENT, .session = 5}, WIRE_NO_SESSION},
        {{.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CHUNKSERVER}, WIRE_BAD_MESSAGE},
        {{.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CLIENT, .slot = SESSION_SLOTS_LIMIT}, WIRE_BAD_MESSAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_client c = {0};
        assert_int_equal(test_client_hello(&c, f, cases[i].hello), cases[i].status);
        stream_close(&c.stream);
    }
}

static void an_exclusive_session_is_alone(void **state)
{
    struct master_fixture *f = *state;
    const struct wire_hello normal = {.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CLIENT};
    const struct wire_hello exclusive = {.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CLIENT, .exclusive = 1};
    const union wire_any nothing = {.keepalive = {}};
    struct test_client one = {0}, two = {0};
    assert_int_equal(test_client_hello(&one, f, normal), WIRE_OK);
    assert_int_equal(test_client_hello(&two, f, exclusive), WIRE_EXCLUSIVE);
    stream_close(&two.stream);
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_session_end, &nothing), WIRE_OK);
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_keepalive, &nothing), WIRE_NO_SESSION);
    stream_close(&one.stream);
    assert_int_equal(test_client_hello(&two, f, exclusive), WIRE_OK);
    assert_int_equal(test_client_hello(&one, f, normal), WIRE_EXCLUSIVE);
    stream_close(&one.stream);
    stream_close(&two.stream);
}

/* The client did not get the reply, connects again, and asks the same: also from a master that was started anew. */
static void a_change_asked_for_twice_is_done_once(void **state)
{
    struct master_fixture *f = *state;
    struct test_client c = test_client_connect(f, 0, 7);
    struct wire_attr first, second;
    union wire_any rename = {.rename = {ROOT_INODE, wire_text("a"), ROOT_INODE, wire_text("b"), 0}};
    assert_int_equal(test_client_create(&c, "a", WIRE_OPEN_EXCLUSIVE, &first), WIRE_OK);
    for (int restart = 0; restart < 2; restart++) {
        uint32_t sequence = c.sequence;
        stream_close(&c.stream);
        if (restart) {
            master_fixture_stop(f);
            master_fixture_start(f);
        }
        c = test_client_connect(f, c.session, 7);
        c.sequence = sequence - 1;
        assert_int_equal(test_client_create(&c, "a", WIRE_OPEN_EXCLUSIVE, &second), WIRE_OK);
        assert_int_equal(first.ino, second.ino);
    }
    assert_int_equal(test_client_create(&c, "a", WIRE_OPEN_EXCLUSIVE, &second), WIRE_EXISTS);
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_rename, &rename), WIRE_OK);
    c.sequence--;
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_rename, &rename), WIRE_OK);
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_rename, &rename), WIRE_NO_ENTRY);
    stream_close(&c.stream);
}

static void a_slot_has_one_connection(void **state)
{
    struct master_fixture *f = *state;
    struct test_client old = test_client_connect(f, 0, 1);
    struct test_client other = test_client_connect(f, old.session, 2);
    struct test_client new = test_client_connect(f, old.session, 1);
    const union wire_any nothing = {.keepalive = {}};
    assert_true(test_client_is_closed(&old));
    assert_int_equal(test_client_ask(&new, WIRE_TYPE_keepalive, &nothing), WIRE_OK);
    assert_int_equal(test_client_ask(&other, WIRE_TYPE_keepalive, &nothing), WIRE_OK);
    stream_close(&old.stream);
    stream_close(&new.stream);
    stream_close(&other.stream);
}

static void an_appender_waits_for_the_other(void **state)
{
    struct master_fixture *f = *state;
    struct test_client one = test_client_connect(f, 0, 0), two = test_client_connect(f, 0, 0);
    struct wire_attr attr;
    assert_int_equal(test_client_create(&one, "log", 0, &attr), WIRE_OK);
    union wire_any begin = {.append_begin = {.ino = attr.ino}};
    union wire_any publish = {.publish = {.ino = attr.ino, .length = 77, .mtime = 1, .append_end = 1}};
    struct wire_append_begin_reply reply;
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_append_begin, &begin), WIRE_OK);
    test_client_send(&two, WIRE_TYPE_append_begin, &begin);
    struct pollfd wait = {.fd = two.stream.fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 100), 0);
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_publish, &publish), WIRE_OK);
    assert_int_equal(test_client_recv(&two), WIRE_OK);
    assert_int_equal(wire_get_append_begin_reply(two.body, two.header.body_bytes, &reply), 0);
    assert_int_equal(reply.attr.size, 77);
    /* A holder that is gone gives it back with its session. */
    const union wire_any nothing = {.keepalive = {}};
    test_client_send(&one, WIRE_TYPE_append_begin, &begin);
    assert_int_equal(test_client_ask(&two, WIRE_TYPE_session_end, &nothing), WIRE_OK);
    assert_int_equal(test_client_recv(&one), WIRE_OK);
    stream_close(&one.stream);
    stream_close(&two.stream);
}

static uint64_t lock_count(struct test_client *client)
{
    struct wire_lock_events_reply reply;
    assert_int_equal(wire_get_lock_events_reply(client->body, client->header.body_bytes, &reply), 0);
    return reply.count;
}

/* Who was refused is told when the lock is free: given back, or gone with its holder's session. It outlives a restart. */
static void who_waits_for_a_lock_is_told(void **state)
{
    struct master_fixture *f = *state;
    struct test_client one = test_client_connect(f, 0, 3), two = test_client_connect(f, 0, 0);
    struct wire_attr attr;
    assert_int_equal(test_client_create(&one, "file", 0, &attr), WIRE_OK);
    union wire_any lock = {.lock_set = {.ino = attr.ino, .owner = 5, .end = 9, .type = WIRE_LOCK_WRITE, .wait = 1}};
    union wire_any give = {.lock_set = {.ino = attr.ino, .owner = 5, .end = 9}};
    union wire_any events = {.lock_events = {.wait_ms = 60000}};
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_lock_set, &lock), WIRE_OK);
    assert_int_equal(test_client_ask(&two, WIRE_TYPE_lock_events, &events), WIRE_OK);
    events.lock_events.seen = lock_count(&two);
    assert_int_equal(test_client_ask(&two, WIRE_TYPE_lock_set, &lock), WIRE_LOCKED);
    test_client_send(&two, WIRE_TYPE_lock_events, &events);
    struct pollfd wait = {.fd = two.stream.fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 100), 0);
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_lock_set, &give), WIRE_OK);
    assert_int_equal(test_client_recv(&two), WIRE_OK);
    assert_int_not_equal(lock_count(&two), events.lock_events.seen);
    assert_int_equal(test_client_ask(&two, WIRE_TYPE_lock_set, &lock), WIRE_OK);

    uint64_t sessions[2] = {one.session, two.session};
    stream_close(&one.stream);
    stream_close(&two.stream);
    master_fixture_stop(f);
    master_fixture_start(f);
    one = test_client_connect(f, sessions[0], 4);
    two = test_client_connect(f, sessions[1], 4);
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_lock_set, &lock), WIRE_LOCKED);
    const union wire_any nothing = {.keepalive = {}};
    assert_int_equal(test_client_ask(&two, WIRE_TYPE_session_end, &nothing), WIRE_OK);
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_lock_events, &events), WIRE_OK);
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_lock_set, &lock), WIRE_OK);
    /* Without news it is answered in time. */
    events.lock_events.seen = 0;
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_lock_events, &events), WIRE_OK);
    events.lock_events = (struct wire_lock_events){.seen = lock_count(&one), .wait_ms = 100};
    assert_int_equal(test_client_ask(&one, WIRE_TYPE_lock_events, &events), WIRE_OK);
    assert_int_equal(lock_count(&one), events.lock_events.seen);
    stream_close(&one.stream);
    stream_close(&two.stream);
}

static void an_administrator_may_look_and_set_goals(void **state)
{
    struct master_fixture *f = *state;
    struct test_client c = {0};
    const struct wire_hello hello = {.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_ADMIN};
    struct wire_attr attr;
    assert_int_equal(test_client_hello(&c, f, hello), WIRE_OK);
    union wire_any request = {.getattr = {.ino = ROOT_INODE}};
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_getattr, &request), WIRE_OK);
    assert_int_equal(test_client_create(&c, "a", 0, &attr), WIRE_NO_SESSION);
    request.set_goal = (struct wire_set_goal){.ino = ROOT_INODE, .goal = 2};
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_set_goal, &request), WIRE_OK);
    stream_close(&c.stream);
}

/* ---- hostile clients ---- */

static void send_raw(struct test_client *c, uint16_t type, const void *body, uint32_t bytes)
{
    struct wire_header header = {.body_bytes = bytes, .type = type, .sequence = ++c->sequence};
    assert_int_equal(stream_send(&c->stream, &header, body, NULL, 0), 0);
}

/* Every message of the schema, cut at every byte, and with each byte set to all ones (so that each length is at its
 * maximum once). */
static void malformed_messages_close_only_their_connection(void **state)
{
    struct master_fixture *f = *state;
    struct test_client honest = test_client_connect(f, 0, 0);
    const union wire_any nothing = {.keepalive = {}};
    static const uint16_t types[] = {
#define TYPE_ROW(name, number, class, payload, reply_payload, meaning) number,
        WIRE_MASTER_MESSAGES(TYPE_ROW)
#undef TYPE_ROW
    };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        uint8_t body[4096];
        union wire_any value;
        memset(&value, 0, sizeof value);
        struct wire_out out = wire_out_on(body, sizeof body);
        assert_int_equal(wire_put_any(types[t], &out, &value), 0);
        for (uint32_t cut = 0; cut < out.used; cut++) {
            struct test_client c = test_client_connect(f, honest.session, 1);
            send_raw(&c, types[t], body, cut);
            assert_true(test_client_is_closed(&c));
            stream_close(&c.stream);
        }
        for (uint32_t at = 0; at + 4 <= out.used; at++) {
            struct test_client c = test_client_connect(f, honest.session, 1);
            uint8_t bent[4096];
            memcpy(bent, body, out.used);
            memset(bent + at, 0xff, 4);
            send_raw(&c, types[t], bent, (uint32_t)out.used);
            int rc = stream_recv(&c.stream, &c.header, &c.body); /* refused or closed: but answered */
            assert_true(rc == 0 || rc == -ECONNRESET);
            stream_close(&c.stream);
        }
        assert_int_equal(test_client_ask(&honest, WIRE_TYPE_keepalive, &nothing), WIRE_OK);
    }
    stream_close(&honest.stream);
}

static void misplaced_frames_close_their_connection(void **state)
{
    struct master_fixture *f = *state;
    const uint16_t types[] = {WIRE_TYPE_hello, WIRE_TYPE_chunk_read, WIRE_TYPE_server_poll, WIRE_TYPE_j_lease, 999,
                              WIRE_TYPE_getattr | WIRE_REPLY};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct test_client c = test_client_connect(f, 0, 0);
        send_raw(&c, types[i], NULL, 0);
        assert_true(test_client_is_closed(&c));
        stream_close(&c.stream);
        assert_int_equal(stream_connect(&f->clients, 5000, &c.stream), 0);
        send_raw(&c, types[i], NULL, 0);
        assert_true(test_client_is_closed(&c));
        stream_close(&c.stream);
    }
}

/* Who sends without end and never reads is not served further, costs no more memory, and hinders nobody. */
static void who_does_not_read_is_not_served(void **state)
{
    struct master_fixture *f = *state;
    struct test_client honest = test_client_connect(f, 0, 0), greedy = test_client_connect(f, 0, 0);
    const union wire_any nothing = {.keepalive = {}};
    uint8_t frames[400 * WIRE_HEADER_BYTES];
    for (uint32_t i = 0; i < 400; i++) {
        struct wire_header header = {.type = WIRE_TYPE_server_list, .sequence = i};
        wire_put_header(frames + i * WIRE_HEADER_BYTES, &header);
    }
    int full = 0;
    for (int i = 0; i < 20000 && full < 20; i++) {
        if (send(greedy.stream.fd, frames, sizeof frames, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
            continue;
        full++;
        assert_int_equal(test_client_ask(&honest, WIRE_TYPE_keepalive, &nothing), WIRE_OK);
        (void)poll(NULL, 0, 5);
    }
    assert_int_equal(full, 20);
    stream_close(&greedy.stream);
    assert_int_equal(test_client_ask(&honest, WIRE_TYPE_keepalive, &nothing), WIRE_OK);
    stream_close(&honest.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hello_is_refused_with_its_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_exclusive_session_is_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_asked_for_twice_is_done_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slot_has_one_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_appender_waits_for_the_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_waits_for_a_lock_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_administrator_may_look_and_set_goals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(malformed_messages_close_only_their_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(misplaced_frames_close_their_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_read_is_not_served, set_up, tear_down),
    };
    log_init("test", LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
