/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/open_files.h"
#include "common/clock.h"

static struct wire_attr attr_of(uint64_t ino, uint64_t change, uint64_t size, uint32_t epoch)
{
    return (struct wire_attr){.ino = ino, .change = change, .size = size, .size_epoch = epoch, .mtime = 100, .ctime = 100};
}

static void test_one_file_for_each_inode(void **state)
{
    (void)state;
    struct open_files *table = open_files_create();
    assert_null(open_files_find(table, 7));
    struct open_file *a = open_files_get(table, 7), *b = open_files_get(table, 7);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, open_files_get(table, 8));
    open_files_put(open_files_find(table, 8));
    open_files_put(b);
    assert_ptr_equal(open_files_find(table, 7), a);
    open_files_put(a);
    open_files_put(a);
    assert_null(open_files_find(table, 7));
    struct open_file **all;
    assert_int_equal(open_files_take_all(table, &all), 1);
    open_files_put(all[0]);
    open_files_put(all[0]);
    free(all);
    open_files_destroy(table);
}

static void test_the_local_length_covers_the_published_one(void **state)
{
    (void)state;
    struct open_files *table = open_files_create();
    struct open_file *file = open_files_get(table, 7);
    struct wire_attr attr = attr_of(7, 5, 1000, 1);
    open_file_learn(file, &attr);
    open_file_wrote(file, 500, 1, 200);
    assert_int_equal(open_file_length(file), 1000);
    open_file_wrote(file, 4000, 1, 300);
    assert_int_equal(open_file_length(file), 4000);
    /* An older view of the inode, as a request that was overtaken brings it. */
    struct wire_attr seen = attr_of(7, 4, 0, 1);
    open_file_learn(file, &seen);
    open_files_overlay(table, &seen);
    assert_int_equal(seen.size, 4000);
    assert_int_equal(seen.mtime, 300);
    assert_int_equal(seen.ctime, 300);
    assert_int_equal(seen.change, 5);
    /* A newer one with what others did. */
    seen = attr_of(7, 6, 9000, 1);
    open_files_overlay(table, &seen);
    assert_int_equal(seen.size, 9000);
    assert_int_equal(seen.mtime, 300);
    struct wire_attr other = attr_of(9, 1, 3, 1);
    open_files_overlay(table, &other);
    assert_int_equal(other.size, 3);
    open_files_stop(table);
    open_files_put(file);
    open_files_destroy(table);
}

static void test_a_cut_voids_the_local_length_and_locations(void **state)
{
    (void)state;
    struct open_files *table = open_files_create();
    struct open_file *file = open_files_get(table, 7);
    struct wire_attr attr = attr_of(7, 5, 1000, 1);
    struct chunk_location location = {.chunk_id = 1, .version = 1, .count = 1};
    open_file_learn(file, &attr);
    open_file_wrote(file, 4000, 1, 300);
    (void)chunk_locations_put(&file->locations, 0, &location, false);
    attr = attr_of(7, 6, 10, 2);
    open_file_learn(file, &attr);
    assert_int_equal(open_file_length(file), 10);
    assert_false(chunk_locations_find(&file->locations, 0)->usable);
    open_file_wrote(file, 5000, 1, 400); /* of a write that began before the cut */
    assert_int_equal(open_file_length(file), 10);
    open_file_wrote(file, 50, 2, 400);
    assert_int_equal(open_file_length(file), 50);
    open_files_stop(table);
    open_files_put(file);
    open_files_destroy(table);
}

static void test_each_handle_hears_of_an_error_once(void **state)
{
    (void)state;
    struct open_files *table = open_files_create();
    struct open_file *file = open_files_get(table, 7);
    uint32_t a = 0, b = 0;
    assert_int_equal(open_file_take_error(file, &a), 0);
    open_file_fail(file, -ENOSPC);
    assert_int_equal(open_file_take_error(file, &a), -ENOSPC);
    assert_int_equal(open_file_take_error(file, &a), 0);
    assert_int_equal(open_file_take_error(file, &b), -ENOSPC);
    open_files_put(file);
    open_files_destroy(table);
}

static void test_a_new_session_ends_what_the_old_one_held(void **state)
{
    (void)state;
    struct open_files *table = open_files_create();
    struct open_file *file = open_files_get(table, 7);
    struct chunk_location location = {.chunk_id = 1, .version = 1, .count = 1};
    struct wire_attr attr = attr_of(7, 5, 1000, 1);
    uint32_t seen = 0;
    open_file_enter_generation(file, 1);
    open_file_learn(file, &attr);
    (void)chunk_locations_put(&file->locations, 0, &location, true);
    open_file_wrote(file, 4000, 1, 300);
    file->opens = 2;
    open_file_enter_generation(file, 1);
    assert_int_equal(open_file_length(file), 4000);
    open_file_enter_generation(file, 2);
    assert_int_equal(open_file_length(file), 1000);
    assert_null(chunk_locations_find(&file->locations, 0));
    assert_int_equal(file->opens, 0);
    assert_int_equal(open_file_take_error(file, &seen), -EIO);
    open_file_enter_generation(file, 1); /* from a call that was overtaken */
    assert_int_equal(file->generation, 2);
    open_files_stop(table);
    open_files_put(file);
    open_files_destroy(table);
}

static void *stop_soon(void *argument)
{
    clock_sleep_ns(20 * NS_PER_MS);
    open_files_stop(argument);
    return NULL;
}

static void test_dirty_files_come_in_order_and_in_time(void **state)
{
    (void)state;
    struct open_files *table = open_files_create();
    struct open_file *a = open_files_get(table, 1), *b = open_files_get(table, 2);
    int64_t start = clock_mono_ns();
    open_file_wrote(a, 10, 0, 1);
    open_file_wrote(b, 10, 0, 1);
    open_file_wrote(a, 20, 0, 2);
    assert_ptr_equal(open_files_wait_dirty(table, 30 * NS_PER_MS), a);
    assert_true(clock_mono_ns() - start >= 30 * NS_PER_MS);
    assert_ptr_equal(open_files_wait_dirty(table, 30 * NS_PER_MS), b);
    open_files_put(a);
    open_files_put(b);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, table), 0);
    assert_null(open_files_wait_dirty(table, NS_PER_S));
    (void)pthread_join(thread, NULL);
    open_files_put(a);
    open_files_put(b);
    open_files_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_file_for_each_inode),
        cmocka_unit_test(test_the_local_length_covers_the_published_one),
        cmocka_unit_test(test_a_cut_voids_the_local_length_and_locations),
        cmocka_unit_test(test_each_handle_hears_of_an_error_once),
        cmocka_unit_test(test_a_new_session_ends_what_the_old_one_held),
        cmocka_unit_test(test_dirty_files_come_in_order_and_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
