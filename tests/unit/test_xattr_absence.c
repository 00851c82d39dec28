/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/believable.h"
#include "client/xattr_absence.h"
#include "common/clock.h"
#include "common/wire.h"

static void hear(struct xattr_absence *absence, uint64_t ino, uint8_t xattrs, bool alone)
{
    struct wire_attr attr = {.ino = ino, .xattrs = xattrs};
    uint64_t before = xattr_absence_before(absence);
    believable_begin();
    believable_note(alone, clock_mono_ns());
    xattr_absence_note(absence, before, &attr);
}

static void it_is_known_while_it_may_be_believed(void **state)
{
    (void)state;
    struct xattr_absence *absence = xattr_absence_create();
    assert_false(xattr_absence_is_known(absence, 5));
    hear(absence, 5, 0, false); /* others may set one at any time */
    assert_false(xattr_absence_is_known(absence, 5));
    hear(absence, 5, 1, true);
    assert_false(xattr_absence_is_known(absence, 5));
    hear(absence, 5, 0, true);
    assert_true(xattr_absence_is_known(absence, 5));
    assert_false(xattr_absence_is_known(absence, 5 + (1 << 15)));
    int64_t until_ns = clock_mono_ns() + (WIRE_ALONE_MS + 1) * NS_PER_MS;
    while (clock_mono_ns() < until_ns)
        clock_sleep_ns(until_ns - clock_mono_ns()); /* time going by is what is tested */
    assert_false(xattr_absence_is_known(absence, 5));
    xattr_absence_destroy(absence);
}

static void setting_one_ends_it(void **state)
{
    (void)state;
    struct xattr_absence *absence = xattr_absence_create();
    struct wire_attr attr = {.ino = 5};
    hear(absence, 5, 0, true);
    xattr_absence_end(absence, 5);
    assert_false(xattr_absence_is_known(absence, 5));
    /* What was asked before one was set, and is heard after. */
    uint64_t before = xattr_absence_before(absence);
    xattr_absence_end(absence, 5);
    xattr_absence_note(absence, before, &attr);
    assert_false(xattr_absence_is_known(absence, 5));
    hear(absence, 5, 0, true);
    assert_true(xattr_absence_is_known(absence, 5));
    xattr_absence_destroy(absence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_known_while_it_may_be_believed),
        cmocka_unit_test(setting_one_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
