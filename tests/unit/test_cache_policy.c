/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/units.h"
#include "iobench/cache_policy.h"
#include "scratch_dir.h"

/* A file on a disk, as memory has no cache to drop; the tests skip where there is none. */
static char path[] = "/var/tmp/calf-test-cache.XXXXXX";

static void make_file(void)
{
    static char block[1 << 20];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    memset(block, 7, sizeof block);
    for (int i = 0; i < 4; i++)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    (void)close(fd);
}

static uint64_t cached(void)
{
    uint64_t pages = 0;
    int fd = open(path, O_RDONLY);
    assert_int_equal(cache_policy_cached_pages(fd, 4 * MIB, &pages), 0);
    (void)close(fd);
    return pages;
}

static void dropped_is_proven(void **state)
{
    (void)state;
    make_file();
    uint64_t all = cached();
    assert_int_equal(all, 4 * MIB / (uint64_t)sysconf(_SC_PAGESIZE));
    struct worker_file file = {.path = path};
    bool cold = false;
    uint32_t which;
    int rc = cache_policy_drop(&file, 1, &cold, &which);
    uint64_t left = cached();
    (void)unlink(path);
    assert_int_equal(rc, 0);
    if (!cold) {
        printf("SKIP: /var/tmp has a file system that keeps its pages\n");
        skip();
    }
    assert_true(left * 100 <= all);
}

static void memory_is_never_cold(void **state)
{
    (void)state;
    if (access("/dev/shm", W_OK) < 0) {
        printf("SKIP: no /dev/shm\n");
        skip();
    }
    char name[] = "/dev/shm/calf-test-cache.XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, name, sizeof name), sizeof name);
    (void)close(fd);
    struct worker_file file = {.path = name};
    bool cold = true;
    uint32_t which;
    int rc = cache_policy_drop(&file, 1, &cold, &which);
    (void)unlink(name);
    assert_int_equal(rc, 0);
    assert_false(cold);
}

static void the_file_that_cannot_be_dropped_is_named(void **state)
{
    (void)state;
    struct worker_file files[] = {{.path = "/etc/passwd"}, {.path = "/nonexistent"}};
    bool cold;
    uint32_t which = 99;
    assert_true(cache_policy_drop(files, 2, &cold, &which) < 0);
    assert_int_equal(which, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_is_proven),
        cmocka_unit_test(memory_is_never_cold),
        cmocka_unit_test(the_file_that_cannot_be_dropped_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
