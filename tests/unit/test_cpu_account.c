/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "iobench/cpu_account.h"
#include "scratch_dir.h"

static void the_list_of_processes(void **state)
{
    (void)state;
    static const char text[] = "master 12\nchunkserver1 34\nnonsense\nclient x\n\nclient 0\nclient 56\n";
    char dir[SCRATCH_PATH], path[2 * SCRATCH_PATH];
    scratch_make(dir);
    struct cpu_processes p;
    assert_int_equal(scratch_write(dir, "pids", text, strlen(text)), 0);
    cpu_account_processes(scratch_path(dir, "pids", path), &p);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.pid[1], 34);
    assert_int_equal(p.pid[2], 56);
    assert_int_equal(p.part[0], RESULT_PART_MASTER);
    assert_int_equal(p.part[1], RESULT_PART_CHUNKSERVERS);
    assert_int_equal(p.part[2], RESULT_PART_CLIENTS);
    scratch_remove(dir);
    cpu_account_processes(path, &p);
    assert_int_equal(p.count, 0);
}

static void burnt_time_is_seen(void **state)
{
    (void)state;
    struct cpu_processes p = {.count = 1, .pid = {getpid()}, .part = {RESULT_PART_CLIENTS}};
    struct cpu_snapshot before, after;
    struct cpu_use use;
    cpu_account_take(&p, &before);
    int64_t until = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) + 100 * NS_PER_MS;
    while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < until) {
    }
    cpu_account_take(&p, &after);
    cpu_account_between(&p, &before, &after, 0, &use);
    assert_true(use.cluster_s > 0.099 && use.cluster_s < 0.2);
    assert_true(use.part_s[RESULT_PART_CLIENTS] == use.cluster_s && use.part_s[RESULT_PART_MASTER] == 0);
    assert_true(use.machine_busy_s >= 0.05);
}

static void who_is_gone_counts_nothing(void **state)
{
    (void)state;
    struct cpu_processes p = {.count = 2, .pid = {1, 2}};
    struct cpu_snapshot before = {.machine_busy_s = 10, .steal_s = 1, .process_s = {5, 3}};
    struct cpu_snapshot after = {.machine_busy_s = 12, .steal_s = 1.5, .process_s = {5.5, -1}};
    struct cpu_use use;
    cpu_account_between(&p, &before, &after, 0.25, &use);
    assert_true(use.cluster_s > 0.49 && use.cluster_s < 0.51);
    assert_true(use.unattributed_s > 1.24 && use.unattributed_s < 1.26);
    assert_true(use.steal_s > 0.49 && use.steal_s < 0.51);
    cpu_account_between(&p, &before, &after, 5, &use);
    assert_true(use.unattributed_s == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_of_processes),
        cmocka_unit_test(burnt_time_is_seen),
        cmocka_unit_test(who_is_gone_counts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
