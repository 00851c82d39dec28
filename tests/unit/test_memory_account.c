/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iobench/memory_account.h"
#include "scratch_dir.h"

static char dir[SCRATCH_PATH];

static void put(const char *folder, const char *name, const char *text)
{
    char path[2 * SCRATCH_PATH], file[64];
    for (const char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
        char part[64];
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - folder), folder);
        (void)mkdir(scratch_path(dir, part, path), 0700);
    }
    (void)mkdir(scratch_path(dir, folder, path), 0700);
    (void)snprintf(file, sizeof file, "%s/%s", folder, name);
    assert_int_equal(scratch_write(dir, file, text, strlen(text)), 0);
}

static void what_is_charged_in_both_versions(void **state)
{
    (void)state;
    char root[2 * SCRATCH_PATH];
    scratch_make(dir);
    put("7", "cgroup", "5:cpu:/docker/abc\n4:memory:/docker/abc\n0::/x\n");
    put("8", "cgroup", "0::/calf-bare-client\n");
    put("9", "cgroup", "4:memory:/\n0::/\n");
    put("memory/docker/abc", "memory.usage_in_bytes", "123456\n");
    put("memory/docker/abc", "cgroup.procs", "7\n");
    put("calf-bare-client", "memory.current", "777\n");
    put("calf-bare-client", "cgroup.procs", "8\n");
    (void)snprintf(root, sizeof root, "%s", dir);
    assert_int_equal(memory_account_charged(dir, root, 7), 123456);
    assert_int_equal(memory_account_charged(dir, root, 8), 777);
    assert_int_equal(memory_account_charged(dir, root, 9), 0);  /* everybody's */
    assert_int_equal(memory_account_charged(dir, root, 10), 0); /* no such process */
    put("calf-bare-client", "cgroup.procs", "8\n11\n");
    assert_int_equal(memory_account_charged(dir, root, 8), 0); /* with others in it, it says nothing of one */
}

static void this_process_is_resident(void **state)
{
    (void)state;
    struct cpu_processes p = {2, {getpid(), getpid()}, {RESULT_PART_CLIENTS, RESULT_PARTS}};
    struct memory_use use;
    memory_account_take(&p, &use);
    assert_in_range(use.iobench, 100, 1 << 20);
    assert_true(use.part[RESULT_PART_CLIENTS] > 0);
    assert_int_equal(use.part[RESULT_PART_MASTER], 0);
    assert_true(use.machine > use.iobench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_charged_in_both_versions),
        cmocka_unit_test(this_process_is_resident),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
