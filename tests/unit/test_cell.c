/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/units.h"
#include "iobench/cell.h"

static struct sample sample_of(enum test_kind test, uint64_t moved, uint64_t read, uint64_t written)
{
    return (struct sample){.test = test, .threads = 1, .bytes = moved, .served_known = true, .served_read_bytes = read,
                           .served_write_bytes = written};
}

static const char *mark(struct sample s, enum cache_mode cache)
{
    return cell_served_mark(&s, cache, 1);
}

static void readers_need_what_they_read_to_be_served(void **state)
{
    (void)state;
    uint64_t m = 64 * MIB;
    assert_string_equal(mark(sample_of(TEST_READ, m, m, 0), CACHE_COLD), "");
    assert_string_equal(mark(sample_of(TEST_READ, m, m * 96 / 100, 0), CACHE_COLD), "");
    assert_string_equal(mark(sample_of(TEST_READ, m, m * 94 / 100, 0), CACHE_COLD), "served-bytes");
    assert_string_equal(mark(sample_of(TEST_RANDOM_READ, m, 0, 0), CACHE_DIRECT), "served-bytes");
    assert_string_equal(mark(sample_of(TEST_READ, m, 2 * m, 0), CACHE_COLD), "");
    assert_string_equal(mark(sample_of(TEST_READ, m, 3 * m, 0), CACHE_COLD), "served-bytes");
    assert_string_equal(mark(sample_of(TEST_READ, m, 0, 0), CACHE_WARM), "");
}

static void writers_need_every_copy(void **state)
{
    (void)state;
    uint64_t m = 64 * MIB;
    struct sample s = sample_of(TEST_WRITE, m, 0, m);
    assert_string_equal(mark(s, CACHE_COLD), "");
    assert_string_equal(cell_served_mark(&s, CACHE_COLD, 2), "served-bytes");
    assert_string_equal(mark(sample_of(TEST_RANDOM_WRITE, m, 0, m * 98 / 100), CACHE_COLD), "served-bytes");
}

static void unknown_is_not_marked(void **state)
{
    (void)state;
    struct sample s = sample_of(TEST_READ, MIB, 0, 0);
    s.served_known = false;
    assert_string_equal(mark(s, CACHE_COLD), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_need_what_they_read_to_be_served),
        cmocka_unit_test(writers_need_every_copy),
        cmocka_unit_test(unknown_is_not_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
