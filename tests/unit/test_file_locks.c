/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks against a model that keeps a type for each byte and owner: whatever is asked, both say the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "master/file_locks.h"

enum { INO = 7, OWNERS = 3, BYTES = 24, ROUNDS = 20000 };

static struct file_lock lock_of(unsigned owner, uint64_t start, uint64_t end, uint8_t type)
{
    return (struct file_lock){.session = owner / 2 + 1, .owner = owner, .start = start, .end = end, .type = type};
}

static bool model_refuses(uint8_t model[OWNERS][BYTES], const struct file_lock *lock, unsigned owner)
{
    for (unsigned o = 0; o < OWNERS; o++)
        for (uint64_t b = lock->start; o != owner && b <= lock->end; b++)
            if (lock->type && model[o][b] && (lock->type == WIRE_LOCK_WRITE || model[o][b] == WIRE_LOCK_WRITE))
                return true;
    return false;
}

/* The list must be what the model says, in order, joined wherever it can be. */
static void check(const struct file_locks *locks, uint8_t model[OWNERS][BYTES])
{
    const struct locked_file *file = (struct locked_file *)id_table_find(&locks->files, INO);
    const struct file_lock *lock = file ? file->locks : NULL;
    for (unsigned o = 0; o < OWNERS; o++)
        for (unsigned b = 0; b < BYTES;) {
            unsigned end = b;
            while (end + 1 < BYTES && model[o][end + 1] == model[o][b])
                end++;
            if (model[o][b]) {
                assert_non_null(lock);
                assert_int_equal(lock->owner, o);
                assert_int_equal(lock->start, b);
                assert_int_equal(lock->end, end);
                assert_int_equal(lock->type, model[o][b]);
                lock = lock->next;
            }
            b = end + 1;
        }
    assert_null(lock);
}

static void ranges_are_as_a_model_of_bytes_has_them(void **state)
{
    struct file_locks locks = {0};
    uint8_t model[OWNERS][BYTES] = {{0}};
    (void)state;
    srand(4711);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned owner = (unsigned)rand() % OWNERS;
        uint64_t start = (uint64_t)rand() % BYTES, end = start + (uint64_t)rand() % (BYTES - start);
        struct file_lock wanted = lock_of(owner, start, end, (uint8_t)(rand() % 3));
        bool refused = model_refuses(model, &wanted, owner), weaker = false, freed;
        assert_int_equal(file_locks_conflict(&locks, INO, &wanted) != NULL, refused);
        assert_int_equal(file_locks_set(&locks, INO, &wanted, &freed), refused ? WIRE_LOCKED : WIRE_OK);
        for (uint64_t b = start; !refused && b <= end; b++) {
            weaker = weaker || model[owner][b] > wanted.type;
            model[owner][b] = wanted.type;
        }
        assert_int_equal(freed, weaker);
        check(&locks, model);
    }
    file_locks_fini(&locks);
}

static void the_last_byte_there_is_can_be_locked(void **state)
{
    struct file_locks locks = {0};
    struct file_lock one = lock_of(0, 5, UINT64_MAX, WIRE_LOCK_WRITE), other = lock_of(1, UINT64_MAX, UINT64_MAX, WIRE_LOCK_READ);
    bool freed;
    (void)state;
    assert_int_equal(file_locks_set(&locks, INO, &one, &freed), WIRE_OK);
    assert_int_equal(file_locks_set(&locks, INO, &other, &freed), WIRE_LOCKED);
    one.start = 0;
    one.type = WIRE_LOCK_NONE;
    assert_int_equal(file_locks_set(&locks, INO, &one, &freed), WIRE_OK);
    assert_true(freed);
    assert_int_equal(file_locks_set(&locks, INO, &other, &freed), WIRE_OK);
    file_locks_fini(&locks);
}

static void the_two_kinds_do_not_see_each_other(void **state)
{
    struct file_locks locks = {0};
    struct file_lock one = lock_of(0, 0, UINT64_MAX, WIRE_LOCK_WRITE), other = lock_of(1, 0, UINT64_MAX, WIRE_LOCK_WRITE);
    bool freed;
    (void)state;
    other.flock = true;
    assert_int_equal(file_locks_set(&locks, INO, &one, &freed), WIRE_OK);
    assert_int_equal(file_locks_set(&locks, INO, &other, &freed), WIRE_OK);
    one.flock = true;
    assert_int_equal(file_locks_set(&locks, INO, &one, &freed), WIRE_LOCKED);
    file_locks_fini(&locks);
}

static void a_session_that_ends_frees_its_own_only(void **state)
{
    struct file_locks locks = {0};
    struct file_lock one = lock_of(0, 0, 9, WIRE_LOCK_READ), other = lock_of(2, 0, 9, WIRE_LOCK_READ);
    struct file_lock wanted = lock_of(3, 0, 0, WIRE_LOCK_WRITE);
    bool freed;
    (void)state;
    wanted.session = 9;
    assert_int_equal(file_locks_set(&locks, INO, &one, &freed), WIRE_OK);
    assert_int_equal(file_locks_set(&locks, INO, &other, &freed), WIRE_OK);
    file_locks_add_waiter(&locks, INO, 9);
    file_locks_add_waiter(&locks, INO, 9);
    assert_true(file_locks_drop(&locks, INO, one.session));
    assert_false(file_locks_drop(&locks, INO, one.session));
    assert_int_equal(file_locks_set(&locks, INO, &wanted, &freed), WIRE_LOCKED);
    assert_true(file_locks_drop(&locks, INO, other.session));
    assert_int_equal(file_locks_set(&locks, INO, &wanted, &freed), WIRE_OK);
    struct lock_waiter *waiter = file_locks_take_waiters(&locks, INO);
    assert_non_null(waiter);
    assert_int_equal(waiter->session, 9);
    assert_null(waiter->next);
    free(waiter);
    assert_null(file_locks_take_waiters(&locks, INO));
    file_locks_fini(&locks);
}

static void a_file_has_a_limit_of_locks(void **state)
{
    struct file_locks locks = {0};
    bool freed;
    (void)state;
    for (uint64_t i = 0; i < FILE_LOCKS_OF_FILE_LIMIT; i++) {
        struct file_lock lock = lock_of(0, 2 * i, 2 * i, WIRE_LOCK_WRITE);
        lock.start = lock.end = 2 * (FILE_LOCKS_OF_FILE_LIMIT - i); /* each goes to the front of the list */
        assert_int_equal(file_locks_set(&locks, INO, &lock, &freed), WIRE_OK);
    }
    struct file_lock more = lock_of(0, 100000, 100000, WIRE_LOCK_WRITE), all = lock_of(0, 0, UINT64_MAX, WIRE_LOCK_NONE);
    assert_int_equal(file_locks_set(&locks, INO, &more, &freed), WIRE_NO_LOCKS);
    assert_int_equal(file_locks_set(&locks, INO, &all, &freed), WIRE_OK);
    assert_int_equal(file_locks_set(&locks, INO, &more, &freed), WIRE_OK);
    file_locks_fini(&locks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_as_a_model_of_bytes_has_them),
        cmocka_unit_test(the_last_byte_there_is_can_be_locked),
        cmocka_unit_test(the_two_kinds_do_not_see_each_other),
        cmocka_unit_test(a_session_that_ends_frees_its_own_only),
        cmocka_unit_test(a_file_has_a_limit_of_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
