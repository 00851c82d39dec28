/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "iobench/test_kind.h"

static void names_are_read_back_and_fit_their_columns(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TEST_KINDS; i++) {
        enum test_kind test = (enum test_kind)i, back;
        assert_int_equal(test_kind_parse(test_kind_name(test), &back), 0);
        assert_int_equal(back, test);
        assert_true(strlen(test_kind_upper_label(test)) <= 7 && strlen(test_kind_lower_label(test)) <= 7);
        assert_true(strlen(test_kind_short_name(test)) <= 6);
    }
    enum test_kind none;
    assert_int_equal(test_kind_parse("Write", &none), -EINVAL);
    assert_null(test_kind_name(TEST_KINDS));
}

static void sets_stand_for_their_tests(void **state)
{
    (void)state;
    enum test_kind tests[TEST_KINDS];
    assert_int_equal(test_kind_expand("mixed", tests), 1);
    assert_int_equal(tests[0], TEST_MIXED);
    assert_int_equal(test_kind_expand("article", tests), 4);
    assert_int_equal(test_kind_expand("metadata", tests), 6);
    assert_int_equal(tests[5], TEST_UNLINK);
    size_t count = test_kind_expand("iozone", tests);
    assert_true(count >= 13);
    for (size_t i = 0; i < count; i++)
        assert_false(test_kind_counts_operations(tests[i]));
    assert_int_equal(test_kind_expand("iozone3", tests), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_back_and_fit_their_columns),
        cmocka_unit_test(sets_stand_for_their_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
