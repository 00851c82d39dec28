/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "iobench/environment.h"
#include "iobench/environment_disks.h"
#include "iobench/progress.h"
#include "scratch_dir.h"

static void values_of_a_file(void **state)
{
    (void)state;
    static const char text[] = "processor\t: 0\nmodel name\t: A  CPU \nPRETTY_NAME=\"Some OS 1\"\nempty:\n";
    char dir[SCRATCH_PATH], path[2 * SCRATCH_PATH], value[32];
    scratch_make(dir);
    assert_int_equal(scratch_write(dir, "f", text, strlen(text)), 0);
    (void)scratch_path(dir, "f", path);
    assert_true(environment_find_value(path, "model name", ':', value, sizeof value));
    assert_string_equal(value, "A  CPU");
    assert_true(environment_find_value(path, "PRETTY_NAME", '=', value, sizeof value));
    assert_string_equal(value, "Some OS 1");
    assert_true(environment_find_value(path, "empty", ':', value, sizeof value));
    assert_string_equal(value, "");
    assert_false(environment_find_value(path, "model", ':', value, sizeof value));
    scratch_remove(dir);
}

static void put(const char *dir, const char *name, const char *text)
{
    char path[2 * SCRATCH_PATH];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        char folder[SCRATCH_PATH];
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
        (void)mkdir(scratch_path(dir, folder, path), 0700);
    }
    assert_int_equal(scratch_write(dir, name, text, strlen(text)), 0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void caches_disks_and_idle_states(void **state)
{
    (void)state;
    char dir[SCRATCH_PATH], text[256];
    scratch_make(dir);
    put(dir, "devices/system/cpu/cpu0/cache/index0/level", "1\n");
    put(dir, "devices/system/cpu/cpu0/cache/index0/type", "Data\n");
    put(dir, "devices/system/cpu/cpu0/cache/index0/size", "48K\n");
    put(dir, "devices/system/cpu/cpu0/cache/index1/level", "3\n");
    put(dir, "devices/system/cpu/cpu0/cache/index1/type", "Unified\n");
    put(dir, "devices/system/cpu/cpu0/cache/index1/size", "32768K\n");
    put(dir, "devices/system/cpu/cpu0/cache/index1/shared_cpu_list", "0-7\n");
    environment_caches(dir, text, sizeof text);
    assert_string_equal(text, "L1d 48K, L3 32768K for CPUs 0-7");
    put(dir, "devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n");
    put(dir, "devices/system/cpu/cpu0/cpuidle/state1/name", "C6\n");
    put(dir, "devices/system/cpu/cpu0/cpuidle/state1/disable", "1\n");
    environment_idle_states(dir, text, sizeof text);
    assert_string_equal(text, "POLL, C6 (disabled)");
    put(dir, "block/sda/size", "2097152\n");
    put(dir, "block/sda/device/model", "A Disk  \n");
    put(dir, "block/sda/queue/rotational", "1\n");
    put(dir, "block/md0/size", "4194304\n");
    put(dir, "block/md0/slaves/sda", "");
    put(dir, "block/md0/slaves/sdb", "");
    put(dir, "block/loop0/size", "8\n");
    put(dir, "block/sdc/size", "0\n");
    environment_disks(dir, text, sizeof text);
    assert_string_equal(text, "md0 2.00 GiB of sda sdb, sda 1.00 GiB A Disk (rotating)");
    environment_disks(dir, text, 8);
    assert_string_equal(text, "md0 2.0");
    environment_disks("/nonexistent", text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void this_machine(void **state)
{
    (void)state;
    struct result_environment e;
    environment_read(&e);
    assert_true(e.cpus >= 1 && e.memory_bytes > 0);
    assert_true(e.kernel[0] && e.hostname[0]);
    assert_true(e.guest_halt_poll_ns >= -1);
}

static void warning_only_where_idle_cores_halt(void **state)
{
    (void)state;
    struct result_environment e = {.virtualization = "KVM", .cpuidle_driver = "none", .guest_halt_poll_ns = 200000};
    assert_non_null(environment_idle_warning(&e));
    (void)strcpy(e.cpuidle_driver, "haltpoll");
    assert_null(environment_idle_warning(&e));
    e.guest_halt_poll_ns = 0;
    assert_non_null(environment_idle_warning(&e));
    (void)strcpy(e.virtualization, "none");
    assert_null(environment_idle_warning(&e));
}

static void the_eta_is_never_negative(void **state)
{
    (void)state;
    struct progress p;
    progress_init(&p, 10, 100);
    int64_t start = p.started_ns;
    assert_true(progress_eta_s(&p, start) == 100);
    progress_done(&p, 50);
    double eta = progress_eta_s(&p, start + 10 * NS_PER_S);
    assert_true(eta > 9.9 && eta < 10.1);
    progress_done(&p, 60);
    assert_true(progress_eta_s(&p, start + 20 * NS_PER_S) == 0);
    assert_true(progress_eta_s(&p, start - NS_PER_S) == 0);
    progress_init(&p, 10, 100);
    progress_skip(&p, 100);
    assert_true(progress_eta_s(&p, start) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_a_file),
        cmocka_unit_test(caches_disks_and_idle_states),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(warning_only_where_idle_cores_halt),
        cmocka_unit_test(the_eta_is_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
