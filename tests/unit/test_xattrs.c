/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "master/xattrs.h"

enum { CREATE = 1, REPLACE = 2 }; /* setxattr(2) */

static void flags_are_obeyed(void **state)
{
    struct xattr *list = NULL;
    (void)state;
    assert_int_equal(xattrs_set(&list, wire_text("a"), wire_text("1"), REPLACE), WIRE_NO_ATTRIBUTE);
    assert_int_equal(xattrs_set(&list, wire_text("a"), wire_text("1"), CREATE), WIRE_OK);
    assert_int_equal(xattrs_set(&list, wire_text("a"), wire_text("2"), CREATE), WIRE_EXISTS);
    assert_int_equal(xattrs_set(&list, wire_text("b"), wire_text(""), 0), WIRE_OK);
    assert_int_equal(xattrs_set(&list, wire_text("a"), wire_text("three"), REPLACE), WIRE_OK);
    assert_int_equal(xattrs_set(&list, wire_text(""), wire_text("x"), 0), WIRE_INVALID);
    assert_int_equal(xattrs_set(&list, wire_text("a"), wire_text("x"), 4), WIRE_INVALID);
    struct wire_bytes value = xattr_value(xattrs_find(list, wire_text("a")));
    assert_int_equal(value.length, 5);
    assert_memory_equal(value.data, "three", 5);
    uint8_t names[WIRE_XATTR_LIMIT];
    assert_int_equal(xattrs_list(list, names), 4);
    assert_memory_equal(names, "a\0b", 4);
    assert_int_equal(xattrs_remove(&list, wire_text("a")), WIRE_OK);
    assert_int_equal(xattrs_remove(&list, wire_text("a")), WIRE_NO_ATTRIBUTE);
    assert_null(xattrs_find(list, wire_text("a")));
    xattrs_free(&list);
    assert_null(list);
}

static void there_is_a_limit_to_names_and_values(void **state)
{
    static uint8_t large[WIRE_XATTR_LIMIT];
    struct xattr *list = NULL;
    char name[256];
    unsigned set = 0;
    (void)state;
    while (snprintf(name, sizeof name, "%0250u", set) > 0 &&
           xattrs_set(&list, wire_text(name), wire_text("v"), 0) == WIRE_OK)
        set++;
    assert_int_equal(set, WIRE_XATTR_LIMIT / 251);
    uint8_t names[WIRE_XATTR_LIMIT];
    assert_int_equal(xattrs_list(list, names), set * 251);
    xattrs_free(&list);
    for (set = 0; snprintf(name, sizeof name, "%u", set) > 0; set++)
        if (xattrs_set(&list, wire_text(name), wire_bytes_of(large, sizeof large), 0) != WIRE_OK)
            break;
    assert_int_equal(set, 16);
    assert_int_equal(xattrs_set(&list, wire_text("0"), wire_bytes_of(large, sizeof large), 0), WIRE_OK);
    xattrs_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_are_obeyed),
        cmocka_unit_test(there_is_a_limit_to_names_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
