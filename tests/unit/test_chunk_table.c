/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/chunk_table.h"

static void ids_rise_and_are_known_to_be_removed(void **state)
{
    struct chunk_table chunks;
    (void)state;
    chunk_table_init(&chunks);
    struct chunk *one = chunk_table_add(&chunks, chunks.next_id);
    struct chunk *two = chunk_table_add(&chunks, chunks.next_id);
    assert_int_equal(two->node.id, one->node.id + 1);
    assert_false(chunk_table_was_removed(&chunks, 1));
    chunk_table_remove(&chunks, one);
    assert_true(chunk_table_was_removed(&chunks, 1));
    assert_false(chunk_table_was_removed(&chunks, 0));
    assert_false(chunk_table_was_removed(&chunks, chunks.next_id));
    chunk_table_fini(&chunks);
}

/* Ids that a lost journal may have given are neither given again nor taken for removed. */
static void skipped_ids_are_never_called_removed(void **state)
{
    struct chunk_table chunks;
    (void)state;
    chunk_table_init(&chunks);
    chunk_table_remove(&chunks, chunk_table_add(&chunks, chunks.next_id));
    chunk_id first = chunks.next_id;
    chunk_table_skip_ids(&chunks);
    chunk_table_skip_ids(&chunks);
    assert_int_equal(chunks.gap_count, 1);
    assert_false(chunk_table_was_removed(&chunks, first));
    assert_false(chunk_table_was_removed(&chunks, chunks.next_id - 1));
    chunk_id next = chunks.next_id;
    chunk_table_remove(&chunks, chunk_table_add(&chunks, next));
    assert_true(chunk_table_was_removed(&chunks, next));
    for (int i = 0; i < 10000; i++) {
        chunk_table_skip_ids(&chunks);
        (void)chunk_table_add(&chunks, chunks.next_id);
    }
    assert_false(chunk_table_was_removed(&chunks, first));
    chunk_table_fini(&chunks);
}

static void copies_keep_what_is_known_of_them(void **state)
{
    struct chunk_table chunks;
    const uint16_t five[] = {1, 2, 3, 4, 5}, two[] = {4, 9};
    (void)state;
    chunk_table_init(&chunks);
    struct chunk *chunk = chunk_table_add(&chunks, 1);
    chunk_set_copies(chunk, five, 5);
    chunk_find_copy(chunk, 4)->bits = COPY_REPORTED;
    chunk_set_copies(chunk, two, 2);
    assert_int_equal(chunk->copy_count, 2);
    assert_int_equal(chunk_find_copy(chunk, 4)->bits, COPY_REPORTED);
    assert_int_equal(chunk_find_copy(chunk, 9)->bits, 0);
    assert_null(chunk_find_copy(chunk, 1));
    chunk_set_copies(chunk, five, 0);
    assert_null(chunk_find_copy(chunk, 4));
    chunk_table_fini(&chunks);
}

static void unsettled_chunks_are_listed_and_keep_the_least(void **state)
{
    struct chunk_table chunks;
    (void)state;
    chunk_table_init(&chunks);
    struct chunk *list[3];
    for (unsigned i = 0; i < 3; i++) {
        list[i] = chunk_table_add(&chunks, chunks.next_id);
        list[i]->version = 7;
        chunk_table_unsettle(&chunks, list[i], WIRE_KEEP_ALL);
    }
    chunk_table_unsettle(&chunks, list[1], 100);
    chunk_table_unsettle(&chunks, list[1], 200);
    assert_int_equal(list[1]->activity->keep_bytes, 100);
    assert_int_equal(list[1]->activity->oldest_version, 7);
    assert_int_equal(chunks.unsettled_count, 3);
    chunk_table_settle(&chunks, list[1]);
    assert_null(list[1]->activity);
    chunk_table_remove(&chunks, list[0]);
    assert_int_equal(chunks.unsettled_count, 1);
    assert_ptr_equal(chunks.unsettled->chunk, list[2]);
    chunk_table_fini(&chunks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_rise_and_are_known_to_be_removed),
        cmocka_unit_test(skipped_ids_are_never_called_removed),
        cmocka_unit_test(copies_keep_what_is_known_of_them),
        cmocka_unit_test(unsettled_chunks_are_listed_and_keep_the_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
