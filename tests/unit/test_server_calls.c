/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "iobench/server_calls.h"

enum { CALLS = 50 };

static void calls_of_chunkservers_are_counted(void **state)
{
    (void)state;
    struct cpu_processes processes = {.count = 2,
                                      .pid = {getpid(), getpid()},
                                      .part = {RESULT_PART_CLIENTS, RESULT_PART_CHUNKSERVERS}};
    uint64_t before, after;
    char byte;
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(server_calls_read(&processes, &before));
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(read(fd, &byte, 1), 1);
    assert_true(server_calls_read(&processes, &after));
    assert_in_range(after - before, CALLS, CALLS + 10); /* reading /proc is a call, too */
    assert_int_equal(close(fd), 0);
}

static void without_a_chunkserver_nothing_is_known(void **state)
{
    (void)state;
    struct cpu_processes none = {.count = 1, .pid = {getpid()}, .part = {RESULT_PART_MASTER}};
    struct cpu_processes gone = {.count = 1, .pid = {INT32_MAX}, .part = {RESULT_PART_CHUNKSERVERS}};
    uint64_t calls;
    assert_false(server_calls_read(&none, &calls));
    assert_false(server_calls_read(&gone, &calls));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_chunkservers_are_counted),
        cmocka_unit_test(without_a_chunkserver_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
