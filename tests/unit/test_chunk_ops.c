/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of versions with servers that answer, fail, go and come back; and what happens to what they report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/log.h"
#include "master/chunk_reports.h"
#include "tests/unit/core_fixture.h"

static struct core_time now;

/* A file of one chunk, 1000 bytes, written on `copies` servers. */
static struct chunk *make_chunk(struct core_fixture *f, uint32_t copies, inode_id *ino)
{
    *ino = fixture_make_file(f, "file");
    assert_int_equal(fixture_lease(f, *ino, 0, copies), WIRE_OK);
    assert_int_equal(fixture_publish(f, *ino, 1000, 0, true), WIRE_OK);
    return inode_find_chunk(namespace_find(&f->core.names, *ino), 0);
}

/* Takes the one command that waits for the server and answers it; WIRE_TYPES: only takes it. */
static struct wire_command serve(struct core_fixture *f, server_id id, uint16_t status)
{
    struct server *server = servers_find(&f->core.servers, id);
    uint8_t data[4096];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_list commands = {0};
    struct wire_command command = {0};
    struct server_command taken;
    server_take_commands(server, &f->core.servers, now.mono_ns, &room, &commands);
    assert_int_equal(commands.count, 1);
    assert_true(wire_next_command(&commands, &command));
    if (status == WIRE_TYPES)
        return command;
    assert_true(server_take_result(server, command.number, &taken));
    if (taken.action == WIRE_ACTION_SET_VERSION)
        chunk_ops_result(&f->core, server, &taken, &(struct wire_command_result){.status = status, .blocks = 3}, now);
    return command;
}

static unsigned waiting(struct core_fixture *f, server_id id)
{
    return servers_find(&f->core.servers, id)->waiting.count;
}

static void report(struct core_fixture *f, server_id id, const struct wire_chunk_report *reports, unsigned count)
{
    struct server *server = servers_find(&f->core.servers, id);
    server_begin(server, (uint64_t)now.mono_ns, wire_text("host"), 1);
    chunk_reports_begin(&f->core, server);
    for (unsigned i = 0; i < count; i++)
        chunk_reports_take(&f->core, server, &reports[i], now);
    chunk_reports_end(&f->core, server, now);
}

static void lose(struct core_fixture *f, server_id id)
{
    server_lost(servers_find(&f->core.servers, id));
    chunk_ops_server_gone(&f->core, servers_find(&f->core.servers, id), now);
}

static void a_version_stands_in_the_journal_before_servers_hear_of_it(void **state)
{
    struct core_fixture *f = fixture_create(2);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 2, &ino);
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    assert_int_equal(f->records[f->count - 1].change.type, WIRE_TYPE_j_version);
    assert_int_equal(chunk->version, 2);
    assert_true(chunk_is_unsettled(chunk));
    struct wire_command command = serve(f, 1, WIRE_OK);
    assert_int_equal(command.version, 1);
    assert_int_equal(command.new_version, 2);
    assert_int_equal(command.keep_bytes, WIRE_KEEP_ALL);
    assert_true(chunk_is_unsettled(chunk));
    (void)serve(f, 2, WIRE_OK);
    assert_false(chunk_is_unsettled(chunk));
    assert_int_equal(f->records[f->count - 1].change.type, WIRE_TYPE_j_copies);
    assert_int_equal(chunk->copy_count, 2);
    fixture_destroy(f);
}

static void a_copy_that_fails_is_left_out(void **state)
{
    struct core_fixture *f = fixture_create(3);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 3, &ino);
    const uint16_t without[] = {2};
    assert_true(chunk_ops_raise(&f->core, chunk, without, 1, now));
    assert_int_equal(waiting(f, 2), 0);
    (void)serve(f, 1, WIRE_IO);
    (void)serve(f, 3, WIRE_OK);
    assert_int_equal(chunk->copy_count, 1);
    assert_non_null(chunk_find_copy(chunk, 3));
    fixture_destroy(f);
}

static void with_nobody_the_chunk_stays_unsettled_and_is_tried_again(void **state)
{
    struct core_fixture *f = fixture_create(2);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 2, &ino);
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    (void)serve(f, 1, WIRE_IO);
    lose(f, 2);
    assert_true(chunk_is_unsettled(chunk));
    assert_null(f->core.ops);
    assert_int_equal(chunk->copy_count, 2);
    lose(f, 1);
    now.mono_ns += NS_PER_S;
    chunk_ops_tick(&f->core, now);
    assert_null(f->core.ops);
    /* Server 2 may or may not have taken version 2; both are fine. */
    const struct wire_chunk_report again = {.chunk_id = chunk->node.id, .version = 2};
    report(f, 2, &again, 1);
    struct wire_command command = serve(f, 2, WIRE_OK);
    assert_int_equal(command.version, 1);
    assert_int_equal(command.new_version, 3);
    assert_false(chunk_is_unsettled(chunk));
    assert_int_equal(chunk->version, 3);
    assert_int_equal(chunk->copy_count, 1);
    fixture_destroy(f);
}

static void a_second_cut_under_way_is_not_forgotten(void **state)
{
    struct core_fixture *f = fixture_create(1);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 1, &ino);
    assert_int_equal(fixture_set_size(f, ino, 500), WIRE_OK);
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    assert_int_equal(fixture_set_size(f, ino, 100), WIRE_OK);
    struct wire_command command = serve(f, 1, WIRE_OK);
    assert_int_equal(command.keep_bytes, 500);
    assert_true(chunk_is_unsettled(chunk));
    command = serve(f, 1, WIRE_OK);
    assert_int_equal(command.keep_bytes, 100);
    assert_false(chunk_is_unsettled(chunk));
    assert_int_equal(chunk->version, 3);
    fixture_destroy(f);
}

static void a_freed_chunk_forgets_its_operation_and_is_deleted(void **state)
{
    struct core_fixture *f = fixture_create(1);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 1, &ino);
    chunk_id id = chunk->node.id;
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    struct wire_command version = serve(f, 1, WIRE_TYPES);
    assert_int_equal(fixture_set_size(f, ino, 0), WIRE_OK);
    struct server_command taken;
    assert_true(server_take_result(servers_find(&f->core.servers, 1), version.number, &taken));
    chunk_ops_result(&f->core, servers_find(&f->core.servers, 1), &taken,
                     &(struct wire_command_result){.status = WIRE_OK, .blocks = WIRE_BLOCKS_UNKNOWN}, now);
    struct wire_command command = serve(f, 1, WIRE_OK);
    assert_int_equal(command.action, WIRE_ACTION_DELETE);
    assert_int_equal(command.chunk_id, id);
    fixture_destroy(f);
}

static void a_server_that_polls_but_does_not_answer_fails_in_the_end(void **state)
{
    struct core_fixture *f = fixture_create(2);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 2, &ino);
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    (void)serve(f, 1, WIRE_OK);
    now.mono_ns += CHUNK_OPS_LIMIT_NS;
    chunk_ops_tick(&f->core, now);
    assert_false(chunk_is_unsettled(chunk));
    assert_int_equal(chunk->copy_count, 1);
    fixture_destroy(f);
}

static void after_a_start_all_copies_are_waited_for(void **state)
{
    struct core_fixture *f = fixture_create(2);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 2, &ino);
    server_lost(servers_find(&f->core.servers, 2));
    f->core.all_known_ns = now.mono_ns + 5 * NS_PER_S;
    assert_false(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    now.mono_ns += 5 * NS_PER_S;
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    fixture_destroy(f);
}

/* ---- reports ---- */

static void what_was_removed_is_deleted_and_what_is_strange_stays(void **state)
{
    struct core_fixture *f = fixture_create(1);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 1, &ino);
    chunk_id id = chunk->node.id;
    assert_int_equal(fixture_set_size(f, ino, 0), WIRE_OK);
    const struct wire_chunk_report reports[] = {
        {.chunk_id = id, .version = 5},
        {.chunk_id = f->core.chunks.next_id, .version = 1},
        {.chunk_id = 999999, .version = 1},
    };
    report(f, 1, reports, 3);
    struct wire_command command = serve(f, 1, WIRE_OK);
    assert_int_equal(command.action, WIRE_ACTION_DELETE);
    assert_int_equal(command.chunk_id, id);
    assert_int_equal(servers_find(&f->core.servers, 1)->strange_chunks, 2);
    fixture_destroy(f);
}

static void a_stale_copy_goes_only_when_a_newer_one_is_certain(void **state)
{
    struct core_fixture *f = fixture_create(2);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 2, &ino);
    const uint16_t without[] = {2};
    assert_true(chunk_ops_raise(&f->core, chunk, without, 1, now));
    (void)serve(f, 1, WIRE_OK);
    lose(f, 1);
    const struct wire_chunk_report stale = {.chunk_id = chunk->node.id, .version = 1};
    const struct wire_chunk_report good = {.chunk_id = chunk->node.id, .version = 2};
    report(f, 2, &stale, 1);
    assert_int_equal(waiting(f, 2), 0); /* the only other copy is away */
    report(f, 1, &good, 1);
    struct wire_command command = serve(f, 2, WIRE_OK);
    assert_int_equal(command.action, WIRE_ACTION_DELETE);
    assert_int_equal(command.version, 1);
    fixture_destroy(f);
}

static void a_version_ahead_of_the_journal_is_taken_over(void **state)
{
    struct core_fixture *f = fixture_create(2);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 2, &ino);
    const struct wire_chunk_report ahead = {.chunk_id = chunk->node.id, .version = 4};
    report(f, 1, &ahead, 1);
    assert_int_equal(chunk->version, 4);
    assert_int_equal(chunk->copy_count, 1);
    assert_int_equal(chunk_copies(chunk)->server, 1);
    fixture_destroy(f);
}

static void a_lost_only_copy_is_hopeless_and_a_damaged_one_still_usable(void **state)
{
    struct core_fixture *f = fixture_create(1);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 1, &ino);
    const struct wire_chunk_report damaged = {.chunk_id = chunk->node.id, .version = 1, .damaged = 1};
    report(f, 1, &damaged, 1);
    assert_true(chunk_ops_is_usable(&f->core, chunk, chunk_copies(chunk)));
    assert_false(chunk_ops_is_hopeless(&f->core, chunk));
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    (void)serve(f, 1, WIRE_NO_CHUNK);
    assert_true(chunk_ops_is_hopeless(&f->core, chunk));
    fixture_destroy(f);
}

static void an_unanswered_command_is_sent_again(void **state)
{
    struct core_fixture *f = fixture_create(1);
    inode_id ino;
    (void)state;
    struct chunk *chunk = make_chunk(f, 1, &ino);
    assert_true(chunk_ops_raise(&f->core, chunk, NULL, 0, now));
    struct wire_command first = serve(f, 1, WIRE_TYPES);
    now.mono_ns += SERVER_RESEND_NS;
    struct wire_command second = serve(f, 1, WIRE_OK);
    assert_int_equal(first.number, second.number);
    assert_false(chunk_is_unsettled(chunk));
    struct server_command taken;
    assert_false(server_take_result(servers_find(&f->core.servers, 1), first.number, &taken));
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_stands_in_the_journal_before_servers_hear_of_it),
        cmocka_unit_test(a_copy_that_fails_is_left_out),
        cmocka_unit_test(with_nobody_the_chunk_stays_unsettled_and_is_tried_again),
        cmocka_unit_test(a_second_cut_under_way_is_not_forgotten),
        cmocka_unit_test(a_freed_chunk_forgets_its_operation_and_is_deleted),
        cmocka_unit_test(a_server_that_polls_but_does_not_answer_fails_in_the_end),
        cmocka_unit_test(after_a_start_all_copies_are_waited_for),
        cmocka_unit_test(what_was_removed_is_deleted_and_what_is_strange_stays),
        cmocka_unit_test(a_stale_copy_goes_only_when_a_newer_one_is_certain),
        cmocka_unit_test(a_version_ahead_of_the_journal_is_taken_over),
        cmocka_unit_test(a_lost_only_copy_is_hopeless_and_a_damaged_one_still_usable),
        cmocka_unit_test(an_unanswered_command_is_sent_again),
    };
    log_init("test", LOG_ERROR);
    now = (struct core_time){.wall_ns = 1, .mono_ns = 1000};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
