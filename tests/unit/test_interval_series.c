/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "iobench/interval_series.h"

static void pieces_are_per_interval_and_add_up(void **state)
{
    (void)state;
    static struct interval_series s;
    interval_series_init(&s, 1000);
    interval_series_look(&s, 400, 4);
    interval_series_look(&s, 1050, 10);
    interval_series_look(&s, 1900, 15);
    interval_series_look(&s, 2010, 17);
    interval_series_end(&s, 2500, 20);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.pieces[0].operations, 10);
    assert_int_equal(s.pieces[0].end_ns, 1050);
    assert_int_equal(s.pieces[1].operations, 7);
    assert_int_equal(s.pieces[2].operations, 3);
    assert_int_equal(s.pieces[2].end_ns, 2500);
}

static void a_long_run_takes_no_more_room(void **state)
{
    (void)state;
    static struct interval_series s;
    uint64_t sum = 0;
    int64_t end = 0;
    interval_series_init(&s, 100);
    for (int64_t t = 0; t < 1000000; t += 50)
        interval_series_look(&s, t, (uint64_t)t * 3);
    interval_series_end(&s, 1000010, 3000030);
    assert_in_range(s.count, RESULT_INTERVALS / 2, RESULT_INTERVALS);
    for (uint32_t i = 0; i < s.count; i++) {
        assert_true(s.pieces[i].end_ns > end);
        end = s.pieces[i].end_ns;
        sum += s.pieces[i].operations;
    }
    assert_int_equal(sum, 3000030);
    assert_int_equal(end, 1000010);
}

static void none_is_none(void **state)
{
    (void)state;
    static struct interval_series s;
    interval_series_init(&s, 0);
    interval_series_look(&s, 5000, 5);
    interval_series_end(&s, 6000, 6);
    assert_int_equal(s.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_per_interval_and_add_up),
        cmocka_unit_test(a_long_run_takes_no_more_room),
        cmocka_unit_test(none_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
