/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "common/units.h"
#include "iobench/load.h"

static struct result config_of(enum test_kind test)
{
    struct result r;
    result_init(&r);
    strcpy(r.engine, "sync");
    r.cache = CACHE_COLD;
    r.test_count = 1;
    r.tests[0] = test;
    r.block_count = 1;
    r.block_bytes[0] = 4 * KIB;
    r.file_bytes_by_block[0] = MIB;
    return r;
}

static void lists_of_cpus(void **state)
{
    (void)state;
    uint16_t cpus[LOAD_CPUS];
    uint32_t count;
    assert_int_equal(load_parse_cpus("0-3,8", cpus, &count), 0);
    assert_int_equal(count, 5);
    assert_int_equal(cpus[3], 3);
    assert_int_equal(cpus[4], 8);
    static const char *const wrong[] = {"", ",", "1,", "3-1", "x", "1-", "-2", "0-4096", "1;2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(load_parse_cpus(wrong[i], cpus, &count), -EINVAL);
}

static void expect(struct result *r, const char *reason)
{
    static struct load load;
    char why[LOAD_WHY] = "";
    int rc = load_init(&load, r, why);
    if (!reason) {
        if (rc != 0)
            fail_msg("%s", why);
        return;
    }
    assert_int_equal(rc, -EINVAL);
    if (!strstr(why, reason))
        fail_msg("'%s' is not in '%s'", reason, why);
}

static void what_an_engine_cannot_do_is_refused(void **state)
{
    (void)state;
    struct result r = config_of(TEST_WRITE);
    expect(&r, NULL);
    r.queue_depth = 4;
    expect(&r, "one request in flight");
    strcpy(r.engine, "libaio");
    expect(&r, NULL);
    strcpy(r.engine, "mmap");
    r.queue_depth = 0;
    r.sync = SYNC_DSYNC;
    expect(&r, "--msync sync");
    r.sync = SYNC_FSYNC;
    r.cache = CACHE_DIRECT;
    expect(&r, "no O_DIRECT");
    strcpy(r.engine, "sync");
    r.tests[0] = TEST_FREAD; /* brings an engine of its own */
    expect(&r, "the engine stdio (test fread) has no O_DIRECT");
    r = config_of(TEST_WRITE);
    strcpy(r.msync, "sync");
    expect(&r, "--msync is for");
    r = config_of(TEST_READ);
    strcpy(r.engine, "calf");
    r.processes = true;
    expect(&r, "--processes");
}

static void what_makes_no_sense_together_is_refused(void **state)
{
    (void)state;
    struct result r = config_of(TEST_APPEND);
    r.shared_file = true;
    expect(&r, "--shared");
    r = config_of(TEST_CREATE);
    r.duration_ns = 1;
    expect(&r, "--files");
    r = config_of(TEST_READ);
    r.warm_up_ns = 1;
    expect(&r, "--warm-up needs --duration");
    r = config_of(TEST_WRITE);
    r.duration_ns = 1;
    r.verify = true;
    expect(&r, "not whole");
    r = config_of(TEST_READ);
    r.working_set_bytes = 2 * MIB;
    expect(&r, "larger than a worker's file");
    r.working_set_bytes = 512;
    expect(&r, "smaller than a block");
    r = config_of(TEST_READ);
    strcpy(r.numa_node, "1023");
    expect(&r, "no such node");
    strcpy(r.numa_node, "one");
    expect(&r, "not a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_cpus),
        cmocka_unit_test(what_an_engine_cannot_do_is_refused),
        cmocka_unit_test(what_makes_no_sense_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
