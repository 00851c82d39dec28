/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/core_list.h"

static void lists_of_the_kernel(void **state)
{
    (void)state;
    assert_int_equal(core_list_count("0\n"), 1);
    assert_int_equal(core_list_count("0-1\n"), 2);
    assert_int_equal(core_list_count("0-3,8,10-11\n"), 7);
    assert_int_equal(core_list_count("0-255"), 256);
    assert_true(core_list_has("0-3,8", 0));
    assert_true(core_list_has("0-3,8", 3));
    assert_false(core_list_has("0-3,8", 4));
    assert_true(core_list_has("0-3,8", 8));
    assert_false(core_list_has("0-3,8", 9));
}

static void what_is_none_names_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "x", "3-", "-3", "3-1", "0-3 8", "0,1x", "99999999999999999999", "0-99999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(core_list_count(texts[i]), 0);
    assert_false(core_list_has("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_the_kernel),
        cmocka_unit_test(what_is_none_names_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
