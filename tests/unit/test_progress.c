/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "iobench/progress.h"

/* Runs that take longer or shorter than planned, and more of them than planned: the time left is never negative. */
static void the_time_left_is_never_negative(void **state)
{
    (void)state;
    struct progress p;
    progress_init(&p, 4, 40);
    assert_true(progress_eta_s(&p, p.started_ns) == 40);
    for (int i = 0; i < 8; i++) {
        progress_done(&p, 10);
        double left = progress_eta_s(&p, p.started_ns + (i + 1) * 20 * NS_PER_S);
        assert_true(left >= 0);
        if (i == 0)
            assert_true(left == 60); /* a quarter took twice as long */
    }
    assert_true(progress_eta_s(&p, p.started_ns - NS_PER_S) >= 0);
    progress_init(&p, 0, 0);
    assert_true(progress_eta_s(&p, p.started_ns + NS_PER_S) == 0);
    progress_skip(&p, 5);
    assert_true(progress_eta_s(&p, p.started_ns + NS_PER_S) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_time_left_is_never_negative)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
