/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "master/directory.h"

static struct inode *const some_inode = (struct inode *)16;

static struct wire_bytes name_of(unsigned number, char text[32])
{
    (void)snprintf(text, 32, "entry-%u", number);
    return wire_text(text);
}

static void finds_what_was_added_and_nothing_else(void **state)
{
    struct directory directory;
    char text[32];
    (void)state;
    directory_init(&directory);
    for (unsigned i = 0; i < 5000; i++)
        assert_non_null(directory_add(&directory, name_of(i, text), some_inode, 0));
    for (unsigned i = 0; i < 5000; i += 2)
        directory_remove(&directory, directory_find(&directory, name_of(i, text)));
    for (unsigned i = 0; i < 6000; i++) {
        const struct entry *entry = directory_find(&directory, name_of(i, text));
        assert_int_equal(entry != NULL, i < 5000 && i % 2);
    }
    assert_int_equal(directory.count, 2500);
    directory_fini(&directory);
}

/* A reader that goes on by cookie sees each entry that was there all the time exactly once, whatever goes between
 * its steps. */
static void cookies_stay_valid_while_entries_go(void **state)
{
    enum { ENTRIES = 3000 };
    struct directory directory;
    char text[32];
    unsigned seen = 0;
    uint64_t cookie = 0;
    (void)state;
    directory_init(&directory);
    for (unsigned i = 0; i < ENTRIES; i++)
        (void)directory_add(&directory, name_of(i, text), some_inode, 0);
    for (;;) {
        uint32_t position = directory_position_after(&directory, cookie);
        struct entry *entry = directory_next(&directory, &position);
        if (!entry)
            break;
        assert_true(entry->cookie > cookie && entry->cookie >= DIRECTORY_FIRST_COOKIE);
        cookie = entry->cookie;
        seen++;
        directory_remove(&directory, entry);
        (void)directory_add(&directory, name_of(ENTRIES + seen, text), some_inode, 0);
        if (seen == ENTRIES)
            break;
    }
    assert_int_equal(seen, ENTRIES);
    assert_int_equal(directory.count, ENTRIES);
    directory_fini(&directory);
}

static void a_cookie_is_never_given_twice(void **state)
{
    struct directory directory;
    uint64_t last = 0;
    (void)state;
    directory_init(&directory);
    for (unsigned i = 0; i < 100; i++) {
        struct entry *entry = directory_add(&directory, wire_text("same"), some_inode, 0);
        assert_true(entry->cookie > last);
        last = entry->cookie;
        directory_remove(&directory, entry);
    }
    assert_int_equal(directory.used, 0);
    directory_fini(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added_and_nothing_else),
        cmocka_unit_test(cookies_stay_valid_while_entries_go),
        cmocka_unit_test(a_cookie_is_never_given_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
