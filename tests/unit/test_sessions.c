/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "master/sessions.h"

struct fixture {
    struct sessions sessions;
    struct namespace names;
    struct chunk_table chunks;
    struct session *one, *two;
};

static int set_up(void **state)
{
    static struct fixture f;
    memset(&f, 0, sizeof f);
    namespace_init(&f.names, 1);
    chunk_table_init(&f.chunks);
    f.one = sessions_add(&f.sessions, 11, false, wire_text("one"));
    f.two = sessions_add(&f.sessions, 22, true, wire_text("two"));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    sessions_fini(&f->sessions);
    chunk_table_fini(&f->chunks);
    namespace_fini(&f->names);
    return 0;
}

static void slots_keep_the_last_reply(void **state)
{
    struct fixture *f = *state;
    char long_reply[1000];
    memset(long_reply, 'x', sizeof long_reply);
    slot_save(session_slot(f->one, 5), WIRE_TYPE_create, 41, "reply", 5);
    (void)session_slot(f->one, 900);
    struct slot *slot = session_slot(f->one, 5);
    assert_int_equal(slot->sequence, 41);
    assert_int_equal(slot->reply_bytes, 5);
    assert_memory_equal(slot->reply, "reply", 5);
    slot_save(slot, WIRE_TYPE_mknod, 42, long_reply, sizeof long_reply);
    assert_memory_equal(slot->reply, long_reply, sizeof long_reply);
    slot_save(slot, WIRE_TYPE_unlink, 43, NULL, 0);
    assert_int_equal(slot->reply_bytes, 0);
    assert_int_equal(session_slot(f->one, 4)->type, 0);
    assert_int_equal(f->sessions.exclusive_count, 1);
}

static void opens_are_counted_per_session(void **state)
{
    struct fixture *f = *state;
    struct inode *inode = namespace_make(&f->names, 0, S_IFREG, 1);
    session_open(f->one, inode);
    session_open(f->one, inode);
    session_open(f->two, inode);
    assert_int_equal(inode->opens, 3);
    session_release(f->two, inode, 100);
    assert_int_equal(inode->opens, 2);
    session_release(f->two, inode, 1);
    assert_int_equal(inode->opens, 2);
    session_release(f->one, inode, 1);
    session_release(f->one, inode, 1);
    assert_int_equal(inode->opens, 0);
    assert_int_equal(f->one->opens.count, 0);
}

static void leases_are_found_and_dropped_from_both_sides(void **state)
{
    struct fixture *f = *state;
    struct chunk *chunks[4];
    for (unsigned i = 0; i < 4; i++) {
        chunks[i] = chunk_table_add(&f->chunks, f->chunks.next_id);
        session_add_lease(f->one, chunks[i]);
        session_add_lease(f->two, chunks[i]);
    }
    assert_int_equal(f->one->lease_count, 4);
    lease_drop(session_find_lease(f->one, chunks[1]));
    assert_null(session_find_lease(f->one, chunks[1]));
    assert_non_null(session_find_lease(f->two, chunks[1]));
    while (f->two->leases)
        lease_drop(f->two->leases);
    assert_false(chunk_is_leased(chunks[1]));
    assert_true(chunk_is_leased(chunks[0]));
    while (f->one->leases)
        lease_drop(f->one->leases);
    for (unsigned i = 0; i < 4; i++) {
        assert_false(chunk_is_leased(chunks[i]));
        chunk_rest(chunks[i]);
        assert_null(chunks[i]->activity);
    }
}

static void an_append_lock_has_one_holder(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(sessions_append_holder(&f->sessions, 9), 0);
    sessions_append_take(&f->sessions, 9, 11);
    sessions_append_take(&f->sessions, 9, 11);
    assert_int_equal(sessions_append_holder(&f->sessions, 9), 11);
    assert_false(sessions_append_give(&f->sessions, 9, 22));
    for (inode_id ino = 100; ino < 300; ino++)
        sessions_append_take(&f->sessions, ino, ino % 2 ? 11 : 22);
    sessions_append_give_all(&f->sessions, 11);
    assert_int_equal(f->sessions.append_locks.count, 100);
    assert_int_equal(sessions_append_holder(&f->sessions, 9), 0);
    assert_int_equal(sessions_append_holder(&f->sessions, 200), 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slots_keep_the_last_reply, set_up, tear_down),
        cmocka_unit_test_setup_teardown(opens_are_counted_per_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leases_are_found_and_dropped_from_both_sides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_append_lock_has_one_holder, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
