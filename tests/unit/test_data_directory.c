/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a master: what is in its directory, what is missing, what is damaged.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/log.h"
#include "master/data_directory.h"
#include "master/snapshot_file.h"
#include "master/snapshot_task.h"
#include "tests/unit/scratch_dir.h"

static char dir[SCRATCH_PATH];

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static int open_master(struct master *master, char why[DATA_DIRECTORY_WHY])
{
    memset(master, 0, sizeof *master);
    master->dir = dir;
    return data_directory_open(master, why);
}

static void close_master(struct master *master)
{
    journal_close(master->journal);
    core_fini(&master->core);
}

/* A session is the simplest change there is. */
static void change(struct master *master, uint64_t session)
{
    union wire_any record = {.j_session = {.session = session, .node = wire_text("test")}};
    assert_int_equal(core_decide(&master->core, WIRE_TYPE_j_session, &record, 1), WIRE_OK);
    assert_int_equal(journal_commit(master->journal, true), 0);
}

static bool must_be_synced(struct master *master, uint16_t type, const union wire_any *value)
{
    struct core_change change = {.type = type, .value = value};
    master->need_sync = false;
    master->core.record(master->core.record_context, &change);
    return master->need_sync;
}

/* What the next request builds upon is never lost once it was told: a chunk's place in its file, a length that a truncate
 * follows, an open that keeps an unlinked file. What only gives back is no such thing. */
static void what_later_requests_rely_on_is_synced(void **state)
{
    struct master master;
    char why[DATA_DIRECTORY_WHY];
    union wire_any nothing = {.publish = {.sync = 0}};
    (void)state;
    assert_int_equal(data_directory_init(dir, CORE_CHUNK_BYTES_SMALL), 0);
    assert_int_equal(open_master(&master, why), 0);
    const uint16_t synced[] = {WIRE_TYPE_j_lease, WIRE_TYPE_append_begin, WIRE_TYPE_create, WIRE_TYPE_unlink, WIRE_TYPE_open};
    for (size_t i = 0; i < sizeof synced / sizeof *synced; i++)
        assert_true(must_be_synced(&master, synced[i], &nothing));
    assert_false(must_be_synced(&master, WIRE_TYPE_publish, &nothing));
    assert_false(must_be_synced(&master, WIRE_TYPE_release, &nothing));
    const union wire_any told[] = {
        {.publish = {.sync = 1}}, {.publish = {.length = 1}}, {.publish = {.mtime = 1}}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        assert_true(must_be_synced(&master, WIRE_TYPE_publish, &told[i]));
    close_master(&master);
}

static void a_directory_without_a_cluster_is_refused(void **state)
{
    struct master master;
    char why[DATA_DIRECTORY_WHY];
    (void)state;
    assert_false(data_directory_has_cluster(dir));
    assert_int_equal(open_master(&master, why), -ENOENT);
    assert_non_null(strstr(why, "--init"));
    assert_false(data_directory_has_cluster(dir));
}

static void a_lock_left_behind_is_no_cluster_and_hinders_nobody(void **state)
{
    int first, second;
    (void)state;
    assert_int_equal(data_directory_lock(dir, false, &first), 0);
    assert_int_equal(data_directory_lock(dir, false, &second), -EBUSY);
    (void)close(first);
    assert_true(scratch_has(dir, "master.lock"));
    assert_int_equal(data_directory_lock(dir, false, &second), 0);
    assert_false(data_directory_has_cluster(dir));
    (void)close(second);
    char missing[SCRATCH_PATH + 8];
    (void)snprintf(missing, sizeof missing, "%s/none", dir);
    assert_int_equal(data_directory_lock(missing, false, &first), -ENOENT);
}

static void each_start_is_a_new_reign_with_new_numbers(void **state)
{
    struct master master;
    char why[DATA_DIRECTORY_WHY];
    (void)state;
    assert_int_equal(data_directory_init(dir, CORE_CHUNK_BYTES_SMALL), 0);
    assert_true(data_directory_has_cluster(dir));
    uint64_t cluster = 0, next = 0, seen = 0;
    for (uint64_t start = 1; start <= 3; start++) {
        assert_int_equal(open_master(&master, why), 0);
        assert_true(start == 1 || cluster == master.core.cluster);
        cluster = master.core.cluster;
        assert_int_equal(master.core.epoch, start);
        assert_true(master.core.chunks.next_id > next);
        next = master.core.chunks.next_id;
        /* Whatever the last master did in a moment and lost, its clients take what is left for newer. */
        assert_true(master.core.names.root->change > seen + 1000000);
        seen = master.core.names.root->change;
        assert_int_equal(master.core.sessions.table.count, start - 1);
        change(&master, start);
        close_master(&master);
    }
}

static void a_snapshot_and_the_journal_after_it_make_the_state(void **state)
{
    struct master master;
    char why[DATA_DIRECTORY_WHY];
    uint64_t oldest;
    (void)state;
    assert_int_equal(data_directory_init(dir, CORE_CHUNK_BYTES_SMALL), 0);
    assert_int_equal(open_master(&master, why), 0);
    for (uint64_t i = 1; i <= 3; i++) {
        change(&master, 10 * i);
        assert_int_equal(journal_rotate(master.journal), 0);
        assert_int_equal(snapshot_task_write(&master.core, dir, journal_last_index(master.journal)), 0);
        change(&master, 10 * i + 1);
    }
    assert_int_equal(snapshot_oldest(dir, &oldest), 0);
    assert_int_equal(journal_drop_before(master.journal, oldest + 1), 0);
    close_master(&master);
    assert_int_equal(open_master(&master, why), 0);
    assert_int_equal(master.core.sessions.table.count, 6);
    close_master(&master);
}

/* A record that cannot be done was not written by this state: nothing is guessed. */
static void a_journal_of_another_state_is_refused(void **state)
{
    struct master master;
    char why[DATA_DIRECTORY_WHY];
    (void)state;
    assert_int_equal(data_directory_init(dir, CORE_CHUNK_BYTES_SMALL), 0);
    assert_int_equal(open_master(&master, why), 0);
    struct journal_record record = {.type = WIRE_TYPE_j_session_end, .body = "12345678", .body_bytes = 8};
    journal_append(master.journal, &record);
    close_master(&master);
    assert_int_equal(open_master(&master, why), -EUCLEAN);
    assert_non_null(strstr(why, "j_session_end"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_later_requests_rely_on_is_synced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_without_a_cluster_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_left_behind_is_no_cluster_and_hinders_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_start_is_a_new_reign_with_new_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_snapshot_and_the_journal_after_it_make_the_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_journal_of_another_state_is_refused, set_up, tear_down),
    };
    log_init("test", LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
