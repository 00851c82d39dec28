/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots that cannot be written for days: it is counted, tried again each minute and no more often, and no journal goes that the
 * last good one needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "master/data_directory.h"
#include "master/snapshot_task.h"
#include "tests/unit/scratch_dir.h"

#define FIRST_JOURNAL "journal.00000000000000000001"

static char dir[SCRATCH_PATH];
static struct master master;

static int set_up(void **state)
{
    char why[DATA_DIRECTORY_WHY];
    (void)state;
    scratch_make(dir);
    if (data_directory_init(dir, CORE_CHUNK_BYTES_SMALL) < 0)
        return -1;
    memset(&master, 0, sizeof master);
    master.dir = dir;
    return data_directory_open(&master, why);
}

static int tear_down(void **state)
{
    (void)state;
    journal_close(master.journal);
    core_fini(&master.core);
    scratch_remove(dir);
    return 0;
}

static void change(uint64_t session)
{
    union wire_any record = {.j_session = {.session = session, .node = wire_text("test")}};
    assert_int_equal(core_decide(&master.core, WIRE_TYPE_j_session, &record, 1), WIRE_OK);
    assert_int_equal(journal_commit(master.journal, true), 0);
}

/* Time goes by, and what is due is done. True if a snapshot was tried. */
static bool after_ns(int64_t ns)
{
    master.now.wall_ns += ns;
    master.now.mono_ns += ns;
    snapshot_task_consider(&master);
    if (master.snapshot_pid == 0)
        return false;
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)master.snapshot_pid, &ended, WEXITED | WNOWAIT), 0);
    snapshot_task_child(&master);
    assert_int_equal(master.snapshot_pid, 0);
    return true;
}

/* The name under which the next one would be written is taken by something that is no file. */
static void hinder(char path[2 * SCRATCH_PATH])
{
    char name[40];
    (void)snprintf(name, sizeof name, "snapshot.%020llu.tmp", (unsigned long long)journal_last_index(master.journal));
    assert_int_equal(mkdir(scratch_path(dir, name, path), 0700), 0);
}

static void a_failure_is_counted_and_costs_no_journal(void **state)
{
    char path[2 * SCRATCH_PATH];
    uint64_t before = master.snapshot_index;
    (void)state;
    master.now = (struct core_time){clock_wall_ns(), clock_mono_ns()};
    change(77);
    assert_false(after_ns(NS_PER_S)); /* neither old nor grown */
    hinder(path);
    assert_true(after_ns(2 * 3600 * NS_PER_S));
    assert_int_equal(master.snapshot_failures, 1);
    assert_int_equal(master.snapshot_index, before);
    assert_false(after_ns(59 * NS_PER_S));
    for (uint32_t failures = 2; failures < 5; failures++) {
        assert_true(after_ns(61 * NS_PER_S));
        assert_int_equal(master.snapshot_failures, failures);
    }
    assert_true(scratch_has(dir, FIRST_JOURNAL));
    assert_int_equal(rmdir(path), 0);
    assert_true(after_ns(61 * NS_PER_S));
    assert_int_equal(master.snapshot_failures, 0);
    assert_int_equal(master.snapshot_index, journal_last_index(master.journal));
    assert_false(after_ns(3600 * NS_PER_S)); /* nothing is new */
}

/* Two good ones are kept, and the journal since the older of them. */
static void journals_go_when_two_snapshots_cover_them(void **state)
{
    (void)state;
    master.now = (struct core_time){clock_wall_ns(), clock_mono_ns()};
    for (uint64_t i = 1; i <= 2; i++) {
        change(i);
        assert_true(scratch_has(dir, FIRST_JOURNAL));
        assert_true(after_ns(2 * 3600 * NS_PER_S));
    }
    assert_false(scratch_has(dir, FIRST_JOURNAL));
    char why[DATA_DIRECTORY_WHY];
    journal_close(master.journal);
    core_fini(&master.core);
    memset(&master, 0, sizeof master);
    master.dir = dir;
    assert_int_equal(data_directory_open(&master, why), 0);
    assert_int_equal(master.core.sessions.table.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failure_is_counted_and_costs_no_journal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(journals_go_when_two_snapshots_cover_them, set_up, tear_down),
    };
    log_init("test", LOG_ERROR); /* what is said of each failure goes to stderr */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
