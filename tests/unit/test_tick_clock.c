/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "iobench/tick_clock.h"

static void it_goes_as_the_monotonic_clock_does(void **state)
{
    (void)state;
    tick_clock_refresh();
    for (int i = 0; i < 20; i++) {
        int64_t before = clock_mono_ns(), ticks = tick_clock_ns(), after = clock_mono_ns();
        /* A microsecond of rounding and drift. */
        assert_true(ticks >= before - NS_PER_US && ticks <= after + NS_PER_US);
        clock_sleep_ns(NS_PER_MS);
    }
}

static void it_does_not_stand_still(void **state)
{
    (void)state;
    int64_t first = tick_clock_ns(), now = first;
    for (int i = 0; i < 1000 && now == first; i++)
        now = tick_clock_ns();
    assert_true(now > first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_as_the_monotonic_clock_does),
        cmocka_unit_test(it_does_not_stand_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
