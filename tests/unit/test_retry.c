/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/retry.h"
#include "common/clock.h"

static void test_pauses_grow_until_the_limit(void **state)
{
    (void)state;
    struct retry retry;
    int64_t start = clock_mono_ns();
    int rc, tries = 0;
    retry_start(&retry, 300 * NS_PER_MS);
    while ((rc = retry_wait(&retry)) == 0)
        tries++;
    assert_int_equal(rc, -EIO);
    assert_in_range(tries, 4, 10); /* 1, 2, 4, ... 128 ms */
    assert_in_range(clock_mono_ns() - start, 300 * NS_PER_MS, 3 * NS_PER_S);
}

static bool say(void *argument)
{
    return *(bool *)argument;
}

static void test_an_interrupt_ends_it(void **state)
{
    (void)state;
    struct retry retry;
    bool interrupted = false;
    retry_set_interrupted(say, &interrupted);
    retry_start(&retry, NS_PER_S);
    assert_int_equal(retry_wait(&retry), 0);
    interrupted = true;
    assert_int_equal(retry_wait(&retry), -EINTR);
    retry_set_interrupted(NULL, NULL);
    assert_int_equal(retry_wait(&retry), 0);
}

static void test_the_end_of_the_program_ends_it(void **state)
{
    (void)state;
    struct retry retry;
    retry_start(&retry, NS_PER_S);
    retry_stop_all(); /* for good, so this test is the last one */
    assert_int_equal(retry_wait(&retry), -EINTR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses_grow_until_the_limit),
        cmocka_unit_test(test_an_interrupt_ends_it),
        cmocka_unit_test(test_the_end_of_the_program_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
