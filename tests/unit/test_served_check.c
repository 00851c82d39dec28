/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/units.h"
#include "iobench/served_check.h"

static struct sample sample_of(enum test_kind test, uint64_t moved, uint64_t read, uint64_t written)
{
    return (struct sample){.test = test, .threads = 1, .block_bytes = 65536, .bytes = moved, .operations = moved / 65536,
                           .served_read_requests = moved / 65536, .served_write_requests = moved / 65536, .served_known = true, .served_read_bytes = read,
                           .served_write_bytes = written};
}

static struct result config;

static const char *mark(struct sample s, enum cache_mode cache)
{
    strcpy(config.engine, "sync");
    config.cache = cache;
    return served_check_mark(&s, &config, 1);
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
    assert_string_equal(served_check_mark(&s, &config, 2), "served-bytes");
    assert_string_equal(mark(sample_of(TEST_RANDOM_WRITE, m, 0, m * 98 / 100), CACHE_COLD), "served-bytes");
}

/* A client that reads ahead or keeps data answers many operations with few requests. */
static void direct_operations_need_requests_of_their_own(void **state)
{
    (void)state;
    uint64_t m = 64 * MIB;
    struct sample s = sample_of(TEST_RANDOM_READ, m, m, 0);
    assert_string_equal(mark(s, CACHE_DIRECT), "");
    s.served_read_requests = s.operations / 16;
    assert_string_equal(mark(s, CACHE_DIRECT), "served-requests");
    assert_string_equal(mark(s, CACHE_COLD), "");
    strcpy(config.engine, "calf");
    config.cache = CACHE_COLD;
    assert_string_equal(served_check_mark(&s, &config, 1), "served-requests");
    s = sample_of(TEST_WRITE, m, 0, m);
    s.served_write_requests = 3;
    assert_string_equal(mark(s, CACHE_DIRECT), "served-requests");
}

/* What a page cache may rightly answer or put together is not demanded of the servers. */
static void what_is_visited_again_may_come_from_the_cache(void **state)
{
    (void)state;
    uint64_t m = 64 * MIB;
    assert_string_equal(mark(sample_of(TEST_REREAD, m, 0, 0), CACHE_COLD), "");
    assert_string_equal(mark(sample_of(TEST_REREAD, m, 0, 0), CACHE_DIRECT), "served-bytes");
    assert_string_equal(mark(sample_of(TEST_RECORD_REWRITE, m, 0, 65536), CACHE_COLD), "");
    config.working_set_bytes = MIB;
    assert_string_equal(mark(sample_of(TEST_READ, m, MIB, 0), CACHE_COLD), "");
    assert_string_equal(mark(sample_of(TEST_READ, m, MIB, 0), CACHE_DIRECT), "served-bytes");
    config.working_set_bytes = 0;
    config.sync = SYNC_NONE;
    assert_string_equal(mark(sample_of(TEST_WRITE, m, 0, 0), CACHE_COLD), "");
    config.sync = SYNC_FSYNC;
    assert_string_equal(mark(sample_of(TEST_WRITE, m, 0, 0), CACHE_COLD), "served-bytes");
    struct sample mixed = sample_of(TEST_MIXED, m, m / 2, m / 2);
    mixed.read_operations = mixed.operations / 2;
    assert_string_equal(mark(mixed, CACHE_DIRECT), "");
    mixed.served_read_bytes = m / 3;
    assert_string_equal(mark(mixed, CACHE_DIRECT), "served-bytes");
}

static void unknown_is_not_marked(void **state)
{
    (void)state;
    struct sample s = sample_of(TEST_READ, MIB, 0, 0);
    s.served_known = false;
    assert_string_equal(mark(s, CACHE_COLD), "");
}

/* Of a cluster that does not count, only how often its servers called the kernel is known. */
static void fewer_calls_than_direct_operations_are_noticed(void **state)
{
    (void)state;
    struct sample s = sample_of(TEST_READ, 64 * MIB, 0, 0);
    s.served_known = false;
    strcpy(config.engine, "sync");
    config.cache = CACHE_DIRECT;
    s.server_calls = s.operations * 2;
    assert_string_equal(served_check_calls(&s, &config), "");
    s.server_calls = s.operations / 2;
    assert_string_equal(served_check_calls(&s, &config), "served-requests");
    config.cache = CACHE_COLD;
    assert_string_equal(served_check_calls(&s, &config), "");
    s.test = TEST_CREATE;
    config.cache = CACHE_DIRECT;
    assert_string_equal(served_check_calls(&s, &config), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_need_what_they_read_to_be_served),
        cmocka_unit_test(writers_need_every_copy),
        cmocka_unit_test(direct_operations_need_requests_of_their_own),
        cmocka_unit_test(what_is_visited_again_may_come_from_the_cache),
        cmocka_unit_test(unknown_is_not_marked),
        cmocka_unit_test(fewer_calls_than_direct_operations_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
