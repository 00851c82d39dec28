/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "client/write_memory.h"

static void it_is_one_piece_that_is_shared(void **state)
{
    (void)state;
    uint8_t outside;
    assert_null(write_memory_get());
    assert_int_equal(write_memory_fd(), -1);
    assert_int_equal(write_memory_place(&outside, 1), -1);
    write_memory_enable();
    const struct write_memory *mine = write_memory_get();
    assert_non_null(mine);
    assert_true(write_memory_fd() >= 0);
    assert_int_equal(write_memory_place(&outside, 1), -1);
    int64_t received = write_memory_place(mine->received, WIRE_IO_LIMIT), copied = write_memory_place(mine->copied, WIRE_IO_LIMIT);
    assert_true(received >= 0 && copied >= 0 && received != copied);
    uint8_t *segment = write_memory_take_segment();
    int64_t at = write_memory_place(segment, WRITE_MEMORY_SEGMENT_BYTES);
    assert_in_range(at, 0, WRITE_MEMORY_BYTES - WRITE_MEMORY_SEGMENT_BYTES);
    assert_int_equal(write_memory_place(segment, WRITE_MEMORY_BYTES), -1);
    segment[0] = 7;
    write_memory_give_segment(segment);
    assert_ptr_equal(write_memory_take_segment(), segment);
    assert_int_equal(segment[0], 0); /* its pages were given back */
    write_memory_give_segment(segment);
}

static void what_is_held_stays(void **state)
{
    (void)state;
    uint8_t *seen[WRITE_MEMORY_HELD];
    for (unsigned i = 0; i < WRITE_MEMORY_HELD; i++) {
        seen[i] = write_memory_receive()->received;
        seen[i][9] = (uint8_t)(i + 1);
        assert_true(write_memory_hold(seen[i] + 5));
        assert_true(write_memory_hold(seen[i] + WIRE_IO_LIMIT - 1)); /* once more */
    }
    for (unsigned i = 0; i < WRITE_MEMORY_HELD; i++)
        assert_int_equal(seen[i][9], i + 1);
    uint8_t *more = write_memory_receive()->received;
    assert_false(write_memory_hold(more)); /* that is all */
    assert_ptr_equal(write_memory_receive()->received, more);
    assert_false(write_memory_hold(seen[0])); /* another's, from this thread's point of view */
    write_memory_drop(seen[0]);
    assert_false(write_memory_hold(more));
    write_memory_drop(seen[0]);
    assert_true(write_memory_hold(more));
    assert_ptr_equal(write_memory_receive()->received, seen[0]);
    write_memory_drop(more);
    for (unsigned i = 1; i < WRITE_MEMORY_HELD; i++) {
        write_memory_drop(seen[i]);
        write_memory_drop(seen[i]);
    }
}

static void *hold_and_end(void *argument)
{
    uint8_t **received = argument;
    *received = write_memory_receive()->received;
    memset(*received, 'h', WIRE_IO_LIMIT);
    return write_memory_hold(*received) ? *received : NULL;
}

static void *receive_once(void *argument)
{
    uint8_t **received = argument;
    const struct write_memory *mine = write_memory_receive();
    *received = mine ? mine->received : NULL;
    return mine ? memset(mine->received, 'x', WIRE_IO_LIMIT) : NULL;
}

static void run(void *(*what)(void *), uint8_t **received)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, what, received), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(*received);
}

/* However many threads come and go, each has some, and what is held outlives its thread. */
static void threads_come_and_go(void **state)
{
    (void)state;
    uint8_t *held, *other;
    run(hold_and_end, &held);
    for (unsigned i = 0; i < 2 * WRITE_MEMORY_ROOMS; i++) {
        run(receive_once, &other);
        assert_ptr_not_equal(other, held);
    }
    assert_int_equal(held[0], 'h');
    assert_int_equal(held[WIRE_IO_LIMIT - 1], 'h');
    write_memory_drop(held);
    run(receive_once, &other);
    assert_ptr_equal(other, held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_one_piece_that_is_shared),
        cmocka_unit_test(what_is_held_stays),
        cmocka_unit_test(threads_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
