/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/believable.h"
#include "common/clock.h"
#include "common/wire_schema.h"

static void nothing_is_believed_unasked(void **state)
{
    (void)state;
    believable_begin();
    assert_int_equal(believable_left_ns(), 0);
}

static void a_lone_client_believes_from_when_it_asked(void **state)
{
    (void)state;
    int64_t now = clock_mono_ns(), whole = WIRE_ALONE_MS * NS_PER_MS;
    believable_begin();
    believable_note(true, now);
    assert_in_range(believable_left_ns(), whole / 2, whole);
    believable_note(true, now - whole * 9 / 10); /* the earliest counts */
    assert_in_range(believable_left_ns(), 0, whole / 10);
    believable_note(true, now);
    assert_in_range(believable_left_ns(), 0, whole / 10);
    believable_begin();
    believable_note(true, now - 2 * whole);
    assert_int_equal(believable_left_ns(), 0);
}

static void one_reply_among_others_ends_it(void **state)
{
    (void)state;
    believable_begin();
    believable_note(true, clock_mono_ns());
    believable_note(false, clock_mono_ns());
    believable_note(true, clock_mono_ns());
    assert_int_equal(believable_left_ns(), 0);
    believable_begin();
    believable_note(true, clock_mono_ns());
    assert_true(believable_left_ns() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_believed_unasked),
        cmocka_unit_test(a_lone_client_believes_from_when_it_asked),
        cmocka_unit_test(one_reply_among_others_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
