/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "iobench/access_pattern.h"
#include "iobench/histogram.h"

static void a_slot_is_never_off_by_more_than_it_says(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < HISTOGRAM_VALUE_BITS; bit++) {
        for (int64_t around = -2; around <= 2; around++) {
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)around;
            if (value > UINT64_C(1) << 41)
                continue;
            uint64_t back = histogram_slot_value(histogram_slot(value));
            uint64_t off = back > value ? back - value : value - back;
            assert_true(off * 256 <= value);
        }
    }
    assert_int_equal(histogram_slot(UINT64_MAX), HISTOGRAM_SLOTS - 1);
}

static void slots_rise_with_the_value(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (uint64_t value = 0; value < 1 << 20; value++) {
        uint32_t slot = histogram_slot(value);
        assert_true(slot == last || slot == last + 1);
        last = slot;
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void percentiles_of_many(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    static int64_t values[MANY];
    static struct histogram one, two, both;
    histogram_init(&one);
    histogram_init(&two);
    histogram_init(&both);
    for (uint64_t i = 0; i < MANY; i++) {
        values[i] = (int64_t)(access_pattern_mix(7, i) % (UINT64_C(1) << (10 + i % 20)));
        histogram_record(i % 3 ? &one : &two, values[i]);
    }
    histogram_merge(&both, &one);
    histogram_merge(&both, &two);
    qsort(values, MANY, sizeof values[0], by_value);
    static const double shares[] = {0.001, 0.5, 0.9, 0.99, 0.999, 0.9999};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        double exact = (double)values[(size_t)(shares[i] * MANY) - 1];
        double found = (double)histogram_percentile(&both, shares[i]);
        assert_true(found >= exact * (1 - 1.0 / 256) - 1 && found <= exact * (1 + 1.0 / 256) + 1);
    }
    struct latency_summary summary;
    histogram_summarize(&both, &summary);
    assert_int_equal(summary.min_ns, values[0]);
    assert_int_equal(summary.max_ns, values[MANY - 1]);
    assert_int_equal(histogram_percentile(&both, 1), values[MANY - 1]);
}

static void nothing_recorded_is_all_zero(void **state)
{
    (void)state;
    static struct histogram h;
    struct latency_summary summary;
    histogram_init(&h);
    histogram_summarize(&h, &summary);
    assert_int_equal(summary.min_ns, 0);
    assert_int_equal(summary.max_ns, 0);
    assert_int_equal(histogram_percentile(&h, 0.5), 0);
    histogram_record(&h, -5);
    histogram_summarize(&h, &summary);
    assert_int_equal(summary.max_ns, 0);
    assert_int_equal(h.count, 1);
}

static void a_peek_sees_what_is_there(void **state)
{
    (void)state;
    static struct histogram h;
    static uint64_t slots[HISTOGRAM_SLOTS];
    histogram_init(&h);
    for (int64_t ns = 0; ns < 1000; ns++)
        histogram_record(&h, ns);
    assert_int_equal(histogram_peek(&h, slots), 1000);
    assert_memory_equal(slots, h.slots, sizeof slots);
    assert_int_equal(histogram_peek(&h, slots), 1000);
    assert_int_equal(slots[5], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peek_sees_what_is_there),
        cmocka_unit_test(a_slot_is_never_off_by_more_than_it_says),
        cmocka_unit_test(slots_rise_with_the_value),
        cmocka_unit_test(percentiles_of_many),
        cmocka_unit_test(nothing_recorded_is_all_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
