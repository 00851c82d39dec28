/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "common/clock.h"
#include "iobench/child_process.h"

static int shell(const char *script, int64_t limit_ns, char *output, size_t bytes)
{
    char copy[256];
    (void)snprintf(copy, sizeof copy, "%s", script);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, copy, NULL};
    return child_process_run(argv, limit_ns, false, output, bytes);
}

static void output_and_status(void **state)
{
    (void)state;
    char text[64];
    assert_int_equal(shell("echo out; echo err >&2; exit 7", 5 * NS_PER_S, text, sizeof text), 7);
    assert_string_equal(text, "out\n");
    assert_int_equal(shell("cat", 5 * NS_PER_S, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(shell("kill -9 $$", 5 * NS_PER_S, text, sizeof text), -ECHILD);
}

static void much_output_is_cut_and_does_not_block(void **state)
{
    (void)state;
    char text[16];
    assert_int_equal(shell("head -c 300000 /dev/zero | tr '\\0' x", 20 * NS_PER_S, text, sizeof text), 0);
    assert_string_equal(text, "xxxxxxxxxxxxxxx");
}

static void a_program_that_is_not_there(void **state)
{
    (void)state;
    char text[16];
    char *argv[] = {(char[]){"/nonexistent/program"}, NULL};
    assert_int_equal(child_process_run(argv, NS_PER_S, false, text, sizeof text), -ENOENT);
}

static void one_that_takes_too_long_is_ended(void **state)
{
    (void)state;
    char text[16];
    int64_t begin = clock_mono_ns();
    assert_int_equal(shell("sleep 60 & sleep 60", 200 * NS_PER_MS, text, sizeof text), -ETIMEDOUT);
    assert_true(clock_mono_ns() - begin < 3 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status),
        cmocka_unit_test(much_output_is_cut_and_does_not_block),
        cmocka_unit_test(a_program_that_is_not_there),
        cmocka_unit_test(one_that_takes_too_long_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
