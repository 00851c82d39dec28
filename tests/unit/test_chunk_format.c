/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/log.h"
#include "store_fixture.h"

static const struct store_geometry small = {SMALL_CHUNK, BLOCK}, large = {LARGE_CHUNK, BLOCK};

static void layout_of_both_geometries(void **state)
{
    (void)state;
    assert_int_equal(chunk_format_blocks(&small), 16);
    assert_int_equal(chunk_format_data_offset(&small), 2 * 4096);
    assert_int_equal(chunk_format_blocks(&large), 16384);
    assert_int_equal(chunk_format_data_offset(&large), 4096 + 128 * 1024);
    assert_int_equal(chunk_format_check_geometry(&small), 0);
    assert_int_equal(chunk_format_check_geometry(&large), 0);
    static const struct store_geometry wrong[] = {{0, 0},           {0, BLOCK},          {SMALL_CHUNK, 512},
                                                  {6000, BLOCK},    {SMALL_CHUNK, 0},    {2u * LARGE_CHUNK, BLOCK},
                                                  {UINT32_MAX, BLOCK}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(chunk_format_check_geometry(&wrong[i]), -EINVAL);
}

static void seals_are_bound_to_chunk_and_place(void **state)
{
    (void)state;
    uint32_t value;
    uint64_t word = chunk_format_seal(12, CHUNK_SEAL_VERSION, 7);
    assert_int_equal(chunk_format_unseal(12, CHUNK_SEAL_VERSION, word, &value), 0);
    assert_int_equal(value, 7);
    assert_int_equal(chunk_format_unseal(13, CHUNK_SEAL_VERSION, word, &value), -EUCLEAN);
    assert_int_equal(chunk_format_unseal(12, CHUNK_SEAL_TABLE, word, &value), -EUCLEAN);
    for (unsigned bit = 0; bit < 64; bit++)
        assert_int_equal(chunk_format_unseal(12, CHUNK_SEAL_VERSION, word ^ UINT64_C(1) << bit, &value), -EUCLEAN);
    assert_int_equal(chunk_format_unseal(12, CHUNK_SEAL_VERSION, 0, &value), -EUCLEAN);
    for (uint32_t v = 0; v < 1000; v++)
        assert_true(chunk_format_seal(v, CHUNK_SEAL_INTENT, v) != 0);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct chunk_page page;
    const char *reason;
    chunk_format_init(&page, 0x1234, &large, 3, 0x80000001);
    assert_int_equal(chunk_format_check(&page, 0x1234, &large, &reason), 0);
    assert_int_equal(chunk_format_check(&page, 0x1235, &large, &reason), -EUCLEAN);
    assert_int_equal(chunk_format_check(&page, 0x1234, &small, &reason), -EUCLEAN);
    for (size_t i = 0; i < sizeof page; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            ((uint8_t *)&page)[i] ^= (uint8_t)(1u << bit);
            assert_int_equal(chunk_format_check(&page, 0x1234, &large, &reason), -EUCLEAN);
            assert_non_null(reason);
            ((uint8_t *)&page)[i] ^= (uint8_t)(1u << bit);
        }
    }
    /* A table page that the small geometry has not. */
    chunk_format_init(&page, 0x1234, &small, 3, 2);
    assert_int_equal(chunk_format_check(&page, 0x1234, &small, &reason), -EUCLEAN);
}

static void flip(const char *path, off_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    assert_int_equal(close(fd), 0);
}

/* Each start finds one file damaged at another byte; it moves aside, whole, and the rest is served. */
static void a_header_damaged_anywhere_means_quarantine(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[BLOCK] = {1}, back[BLOCK];
    char path[2 * SCRATCH_PATH];
    fixture_make(&x, SMALL_CHUNK, 64 << 20);
    assert_int_equal(fixture_write(&x, 1, 1, 0, BLOCK, data, true), 0);
    unsigned quarantined = 0;
    for (off_t at = 0; at < CHUNK_FORMAT_PAGE; at += at < 80 ? 1 : 97) {
        chunk_id id = 100 + (chunk_id)at;
        assert_int_equal(fixture_write(&x, id, 1, 0, BLOCK, data, true), 0);
        fixture_close(&x);
        flip(fixture_chunk_path(&x, id, path), at);
        assert_int_equal(fixture_open(&x), 0);
        assert_int_equal(fixture_entries(&x, "quarantine"), ++quarantined);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(fixture_read(&x, id, 1, 0, BLOCK, back), -EUCLEAN);
        assert_int_equal(fixture_read(&x, 1, 1, 0, BLOCK, back), 0);
    }
    fixture_remove(&x);
}

int main(void)
{
    log_init("test_chunk_format", LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_of_both_geometries),
        cmocka_unit_test(seals_are_bound_to_chunk_and_place),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(a_header_damaged_anywhere_means_quarantine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
