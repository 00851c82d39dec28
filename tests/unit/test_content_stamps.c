/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/content_stamps.h"

static void test_own_changes_keep_the_cache(void **state)
{
    (void)state;
    struct content_stamps *stamps = content_stamps_create();
    assert_false(content_stamps_open(stamps, 5, 10));
    assert_true(content_stamps_open(stamps, 5, 10));
    content_stamps_own_change(stamps, 5, 11);
    content_stamps_own_change(stamps, 5, 12);
    assert_true(content_stamps_open(stamps, 5, 12));
    content_stamps_destroy(stamps);
}

static void test_a_foreign_change_drops_it_once(void **state)
{
    (void)state;
    struct content_stamps *stamps = content_stamps_create();
    (void)content_stamps_open(stamps, 5, 10);
    content_stamps_own_change(stamps, 5, 12); /* 11 was somebody else's */
    assert_false(content_stamps_open(stamps, 5, 12));
    assert_true(content_stamps_open(stamps, 5, 12));
    content_stamps_forget(stamps, 5);
    assert_false(content_stamps_open(stamps, 5, 12));
    content_stamps_destroy(stamps);
}

static void test_inodes_of_one_slot_do_not_mix(void **state)
{
    (void)state;
    struct content_stamps *stamps = content_stamps_create();
    (void)content_stamps_open(stamps, 5, 10);
    assert_false(content_stamps_open(stamps, 5 + 65536, 10));
    content_stamps_own_change(stamps, 5, 11);
    assert_false(content_stamps_open(stamps, 5, 10));
    content_stamps_destroy(stamps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_changes_keep_the_cache),
        cmocka_unit_test(test_a_foreign_change_drops_it_once),
        cmocka_unit_test(test_inodes_of_one_slot_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
