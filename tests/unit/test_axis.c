/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "common/units.h"
#include "iobench/axis.h"

static const struct axis_limits blocks = {AXIS_SIZES, 512, 256 * MIB, 512, 12};
static const struct axis_limits threads = {AXIS_NUMBERS, 1, 256, 1, 12};

static void lists_and_ranges(void **state)
{
    (void)state;
    uint64_t v[12];
    uint32_t n;
    char why[128];
    assert_int_equal(axis_parse("4k,64k,1024k", &blocks, v, &n, why, sizeof why), 0);
    assert_int_equal(n, 3);
    assert_int_equal(v[2], MIB);
    assert_int_equal(axis_parse("4k-2048k", &blocks, v, &n, why, sizeof why), 0);
    assert_int_equal(n, 10);
    assert_int_equal(v[9], 2 * MIB);
    assert_int_equal(axis_parse("3-20,1", &threads, v, &n, why, sizeof why), 0);
    assert_int_equal(n, 4);
    assert_int_equal(v[2], 12);
    assert_int_equal(v[3], 1);
    assert_int_equal(axis_parse("8-8", &threads, v, &n, why, sizeof why), 0);
    assert_int_equal(n, 1);
}

static void texts_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const struct axis_limits *limits;
        const char *text, *why;
    } rows[] = {
        {&blocks, "", "empty"},       {&blocks, "4k,", "empty"},     {&blocks, "x", "not a size"},
        {&blocks, "4k-", "not a size"}, {&blocks, "-4k", "not a size"}, {&blocks, "8k-4k", "range"},
        {&blocks, "4k,4096", "twice"}, {&blocks, "1000", "multiple"}, {&blocks, "0", "from 512"},
        {&blocks, "0-4k", "range"},   {&blocks, "1t", "from 512"},   {&threads, "4k", "not a number"},
        {&threads, "0", "from 1"},    {&threads, "1,2,3,4,5,6,7,8,9,10,11,12,13", "more than 12"},
        {&blocks, "512-256m", "more than 12"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t v[12];
        uint32_t n = 99;
        char why[128] = "";
        assert_int_equal(axis_parse(rows[i].text, rows[i].limits, v, &n, why, sizeof why), -EINVAL);
        assert_non_null(strstr(why, rows[i].why));
        assert_int_equal(n, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(texts_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
