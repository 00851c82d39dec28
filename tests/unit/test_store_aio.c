/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunkserver/store_aio.h"

enum { BLOCK = 4096, BYTES = (1 << 20) + 3 * BLOCK, PAGES = BYTES / BLOCK };

/* On a disk, where O_DIRECT means something. */
static int make_file(void)
{
    char name[] = "/var/tmp/calf-test.XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(unlink(name), 0);
    return fd;
}

static void fill(uint8_t *data, uint32_t seed)
{
    for (uint32_t i = 0; i < BYTES; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (uint8_t)(seed >> 24);
    }
}

static unsigned pages_in_cache(int fd)
{
    unsigned char resident[PAGES];
    unsigned count = 0;
    void *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, BYTES, resident), 0);
    for (unsigned i = 0; i < PAGES; i++)
        count += resident[i] & 1;
    assert_int_equal(munmap(map, BYTES), 0);
    return count;
}

static void blocks_of_any_memory_come_back_and_stay_out_of_the_page_cache(void **state)
{
    (void)state;
    int fd = make_file(), direct = store_aio_open(fd), rc;
    uint8_t *data = malloc(BYTES + BLOCK), *back = malloc(BYTES + BLOCK), *aligned = aligned_alloc(BLOCK, BYTES);
    assert_true(direct >= 0);
    for (unsigned shift = 0; shift < 3; shift++) {
        fill(data + shift, shift);
        memcpy(aligned, data + shift, BYTES);
        struct iovec whole = {aligned, BYTES};
        struct iovec parts[] = {{data + shift, BLOCK}, {aligned + BLOCK, BYTES - 2 * BLOCK}, {data + shift + BYTES - BLOCK, BLOCK}};
        uint64_t n = shift ? store_aio_write(direct, parts, 3, 2 * BLOCK, &rc) : store_aio_write(direct, &whole, 1, 2 * BLOCK, &rc);
        assert_int_equal(rc, 0);
        assert_int_equal(n, BYTES);
        assert_int_equal(store_aio_read(direct, back + shift, BYTES, 2 * BLOCK), 0);
        assert_memory_equal(back + shift, data + shift, BYTES);
        assert_int_equal(store_aio_read(direct, aligned, BLOCK, 2 * BLOCK + BYTES - BLOCK), 0);
        assert_memory_equal(aligned, data + shift + BYTES - BLOCK, BLOCK);
    }
    assert_int_equal(fdatasync(fd), 0);
    assert_int_equal(pages_in_cache(fd), 0);
    assert_int_equal(store_aio_read(direct, back, 2 * BLOCK, 2 * BLOCK + BYTES - BLOCK), -EIO);
    free(data);
    free(back);
    free(aligned);
    assert_int_equal(close(direct), 0);
    assert_int_equal(close(fd), 0);
}

static void an_error_tells_that_nothing_was_written(void **state)
{
    (void)state;
    int fd = make_file(), direct = store_aio_open(fd), rc;
    uint8_t *data = aligned_alloc(BLOCK, BYTES);
    struct iovec whole = {data, BYTES};
    fill(data, 7);
    /* No file system takes so large a file. */
    uint64_t limit = UINT64_C(1) << 62;
    assert_int_equal(store_aio_write(direct, &whole, 1, limit, &rc), 0);
    assert_true(rc < 0);
    assert_int_equal(store_aio_write(direct, &whole, 1, 0, &rc), BYTES);
    assert_int_equal(rc, 0);
    free(data);
    assert_int_equal(close(direct), 0);
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_any_memory_come_back_and_stay_out_of_the_page_cache),
        cmocka_unit_test(an_error_tells_that_nothing_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
