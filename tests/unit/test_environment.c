/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/clock.h"
#include "iobench/environment.h"
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
        cmocka_unit_test(this_machine),
        cmocka_unit_test(warning_only_where_idle_cores_halt),
        cmocka_unit_test(the_eta_is_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
