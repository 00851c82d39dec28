/* SPDX-License-Identifier: Apache-2.0
 *
 * A chunkserver's talk with a real master over its control plane, and what clients see of it.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/log.h"
#include "tests/unit/master_fixture.h"

enum { CALL_MS = 5000, START = 42 };

struct talk {
    struct master_fixture *f;
    struct control_client *control;
    struct wire_header header;
    union wire_any reply;
    uint32_t server_id;
    struct wire_command command; /* the first of the last poll */
    uint32_t commands;
};

static int set_up(void **state)
{
    static struct talk t;
    memset(&t, 0, sizeof t);
    t.f = master_fixture_create();
    assert_int_equal(control_connect(&t.f->control, &t.control), 0);
    *state = &t;
    return 0;
}

static int tear_down(void **state)
{
    struct talk *t = *state;
    control_client_destroy(t->control);
    master_fixture_destroy(t->f);
    return 0;
}

static uint16_t call(struct talk *t, uint16_t type, const union wire_any *request)
{
    assert_int_equal(control_call(t->control, type, request, CALL_MS, &t->header, &t->reply), 0);
    return t->header.status;
}

static union wire_any registration(void)
{
    return (union wire_any){.server_register = {.protocol = WIRE_PROTOCOL,
                                                .node = 1001,
                                                .start = START,
                                                .host = wire_text("127.0.0.1"),
                                                .port = 1,
                                                .total_bytes = 1 << 30,
                                                .first = 1,
                                                .last = 1}};
}

static void register_server(struct talk *t)
{
    union wire_any request = registration();
    assert_int_equal(call(t, WIRE_TYPE_server_register, &request), WIRE_OK);
    t->server_id = t->reply.server_register_reply.server_id;
}

/* One poll with the result of one command (0: none). */
static bool poll_master(struct talk *t, uint64_t start, uint64_t number, uint16_t status)
{
    uint8_t data[64];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_command_result result = {number, status, WIRE_BLOCKS_UNKNOWN};
    union wire_any request = {.server_poll = {.server_id = t->server_id, .start = start, .total_bytes = 1 << 30}};
    if (number)
        assert_true(wire_append_command_result(&room, &request.server_poll.results, &result));
    assert_int_equal(call(t, WIRE_TYPE_server_poll, &request), WIRE_OK);
    struct wire_list commands = t->reply.server_poll_reply.commands;
    t->commands = commands.count;
    (void)wire_next_command(&commands, &t->command);
    return t->reply.server_poll_reply.register_again;
}

static void registration_is_checked(void **state)
{
    struct talk *t = *state;
    union wire_any request = registration();
    request.server_register.protocol = 9;
    assert_int_equal(call(t, WIRE_TYPE_server_register, &request), WIRE_WRONG_PROTOCOL);
    request = registration();
    request.server_register.cluster = 5;
    assert_int_equal(call(t, WIRE_TYPE_server_register, &request), WIRE_WRONG_CLUSTER);
    request = registration();
    request.server_register.first = 0;
    assert_int_equal(call(t, WIRE_TYPE_server_register, &request), WIRE_AGAIN);
    register_server(t);
    assert_int_equal(t->server_id, 1);
    assert_int_equal(t->reply.server_register_reply.chunk_bytes, CORE_CHUNK_BYTES_SMALL);
    register_server(t);
    assert_int_equal(t->server_id, 1);
}

static void a_poll_is_held_and_a_strange_one_is_sent_to_register(void **state)
{
    struct talk *t = *state;
    assert_true(poll_master(t, START, 0, 0));
    register_server(t);
    int64_t began_ns = clock_mono_ns();
    assert_false(poll_master(t, START, 0, 0));
    assert_int_equal(t->commands, 0);
    assert_in_range((clock_mono_ns() - began_ns) / NS_PER_MS, 900, 3000);
    assert_true(poll_master(t, START + 1, 0, 0));
}

/* Writes through a lease as far as the master can see it. */
static void write_file(struct test_client *c, inode_id ino, uint64_t length)
{
    uint8_t data[64];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_released_lease released = {.index = 0, .written = 1};
    union wire_any request = {.chunk_lease = {.ino = ino}};
    struct wire_chunk_lease_reply lease;
    assert_int_equal(test_client_ask(c, WIRE_TYPE_chunk_lease, &request), WIRE_OK);
    assert_int_equal(wire_get_chunk_lease_reply(c->body, c->header.body_bytes, &lease), 0);
    assert_int_equal(lease.create, 1);
    assert_int_equal(lease.servers.count, 1);
    request.publish = (struct wire_publish){
        .ino = ino, .size_epoch = lease.size_epoch, .length = length, .mtime = 1, .sync = 1};
    assert_true(wire_append_released_lease(&room, &request.publish.released, &released));
    assert_int_equal(test_client_ask(c, WIRE_TYPE_publish, &request), WIRE_OK);
}

static void a_cut_is_answered_when_the_copies_have_it(void **state)
{
    struct talk *t = *state;
    struct test_client c = test_client_connect(t->f, 0, 0), reader = test_client_connect(t->f, c.session, 1);
    struct wire_attr attr;
    struct wire_chunk_locate_reply located;
    assert_int_equal(test_client_create(&c, "a", 0, &attr), WIRE_OK);
    union wire_any request = {.chunk_lease = {.ino = attr.ino}};
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_chunk_lease, &request), WIRE_NO_SERVERS);
    register_server(t);
    write_file(&c, attr.ino, 5000);
    request.setattr = (struct wire_setattr){.ino = attr.ino, .valid = WIRE_SET_SIZE, .size = 100};
    test_client_send(&c, WIRE_TYPE_setattr, &request);
    request.chunk_locate = (struct wire_chunk_locate){.ino = attr.ino};
    test_client_send(&reader, WIRE_TYPE_chunk_locate, &request);
    assert_false(poll_master(t, START, 0, 0));
    assert_int_equal(t->commands, 1);
    assert_int_equal(t->command.action, WIRE_ACTION_SET_VERSION);
    assert_int_equal(t->command.keep_bytes, 100);
    struct pollfd wait[] = {{.fd = c.stream.fd, .events = POLLIN}, {.fd = reader.stream.fd, .events = POLLIN}};
    assert_int_equal(poll(wait, 2, 100), 0);
    assert_false(poll_master(t, START, t->command.number, WIRE_OK));
    assert_int_equal(test_client_recv(&c), WIRE_OK);
    assert_int_equal(test_client_recv(&reader), WIRE_OK);
    assert_int_equal(wire_get_chunk_locate_reply(reader.body, reader.header.body_bytes, &located), 0);
    assert_int_equal(located.version, 2);
    assert_int_equal(located.servers.count, 1);
    stream_close(&c.stream);
    stream_close(&reader.stream);
}

/* A master killed between the record of a new version and its servers' answers goes on with it. */
static void an_unfinished_cut_survives_a_restart(void **state)
{
    struct talk *t = *state;
    struct test_client c = test_client_connect(t->f, 0, 0);
    struct wire_attr attr;
    register_server(t);
    assert_int_equal(test_client_create(&c, "a", 0, &attr), WIRE_OK);
    write_file(&c, attr.ino, 5000);
    union wire_any request = {.setattr = {.ino = attr.ino, .valid = WIRE_SET_SIZE, .size = 100}};
    test_client_send(&c, WIRE_TYPE_setattr, &request);
    assert_false(poll_master(t, START, 0, 0));
    assert_int_equal(t->command.new_version, 2);
    control_client_destroy(t->control);
    master_fixture_stop(t->f);
    master_fixture_start(t->f);
    assert_int_equal(control_connect(&t->f->control, &t->control), 0);
    uint32_t sequence = c.sequence;
    stream_close(&c.stream);
    c = test_client_connect(t->f, c.session, 0);
    c.sequence = sequence - 1;
    test_client_send(&c, WIRE_TYPE_setattr, &request);
    uint8_t data[64];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_chunk_report report = {.chunk_id = t->command.chunk_id, .version = 2};
    union wire_any again = registration();
    assert_true(wire_append_chunk_report(&room, &again.server_register.chunks, &report));
    assert_int_equal(call(t, WIRE_TYPE_server_register, &again), WIRE_OK);
    assert_false(poll_master(t, START, 0, 0));
    assert_int_equal(t->commands, 1);
    assert_int_equal(t->command.version, 1);
    assert_int_equal(t->command.new_version, 3);
    assert_int_equal(t->command.keep_bytes, 100);
    assert_false(poll_master(t, START, t->command.number, WIRE_OK));
    assert_int_equal(test_client_recv(&c), WIRE_OK);
    stream_close(&c.stream);
}

/* After a start of the master the servers come one by one. That the first one has no room says nothing of the cluster. */
static void a_full_server_that_is_back_first_does_not_speak_for_all(void **state)
{
    struct talk *t = *state;
    struct test_client c = test_client_connect(t->f, 0, 0);
    struct wire_attr attr;
    struct wire_statfs_reply space;
    union wire_any full = registration(), nothing = {.statfs = {}};
    full.server_register.node = 1002;
    full.server_register.used_bytes = full.server_register.total_bytes;
    register_server(t);
    assert_int_equal(call(t, WIRE_TYPE_server_register, &full), WIRE_OK);
    assert_int_equal(test_client_create(&c, "a", 0, &attr), WIRE_OK);
    control_client_destroy(t->control);
    stream_close(&c.stream);
    master_fixture_stop(t->f);
    master_fixture_start(t->f);
    assert_int_equal(control_connect(&t->f->control, &t->control), 0);
    assert_int_equal(call(t, WIRE_TYPE_server_register, &full), WIRE_OK);
    c = test_client_connect(t->f, c.session, 1);
    union wire_any lease = {.chunk_lease = {.ino = attr.ino}};
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_chunk_lease, &lease), WIRE_NO_SERVERS);
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_statfs, &nothing), WIRE_OK);
    assert_int_equal(wire_get_statfs_reply(c.body, c.header.body_bytes, &space), 0);
    assert_int_equal(space.free_bytes, 0);
    assert_int_equal(space.more_expected, 1);
    union wire_any other = registration();
    other.server_register.used_bytes = other.server_register.total_bytes;
    assert_int_equal(call(t, WIRE_TYPE_server_register, &other), WIRE_OK);
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_chunk_lease, &lease), WIRE_NO_SPACE); /* now they all have spoken */
    assert_int_equal(test_client_ask(&c, WIRE_TYPE_statfs, &nothing), WIRE_OK);
    assert_int_equal(wire_get_statfs_reply(c.body, c.header.body_bytes, &space), 0);
    assert_int_equal(space.more_expected, 0);
    stream_close(&c.stream);
}

static void status_counts_what_is_there(void **state)
{
    struct talk *t = *state;
    struct test_client c = test_client_connect(t->f, 0, 0);
    struct wire_attr attr;
    const union wire_any nothing = {.keepalive = {}};
    register_server(t);
    assert_int_equal(test_client_create(&c, "a", 0, &attr), WIRE_OK);
    write_file(&c, attr.ino, 5000);
    assert_int_equal(call(t, WIRE_TYPE_admin_status, &nothing), WIRE_OK);
    assert_int_equal(t->reply.admin_status_reply.files, 1);
    assert_int_equal(t->reply.admin_status_reply.directories, 1);
    assert_int_equal(t->reply.admin_status_reply.chunks, 1);
    assert_int_equal(t->reply.admin_status_reply.chunks_missing, 0);
    assert_int_equal(t->reply.admin_status_reply.servers_connected, 1);
    assert_int_equal(t->reply.admin_status_reply.sessions, 1);
    assert_int_equal(call(t, WIRE_TYPE_admin_servers, &nothing), WIRE_OK);
    assert_int_equal(t->reply.admin_servers_reply.servers.count, 1);
    assert_int_equal(call(t, WIRE_TYPE_lookup, &(union wire_any){.lookup = {.parent = 1}}), WIRE_BAD_MESSAGE);
    stream_close(&c.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(registration_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_poll_is_held_and_a_strange_one_is_sent_to_register, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_is_answered_when_the_copies_have_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unfinished_cut_survives_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_server_that_is_back_first_does_not_speak_for_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(status_counts_what_is_there, set_up, tear_down),
    };
    log_init("test", LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
