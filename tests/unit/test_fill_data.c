/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "iobench/fill_data.h"

static struct fill_pattern pattern;
static const struct fill_identity mine = {3, 77};

static void what_is_made_is_what_is_expected(void **state)
{
    (void)state;
    static const size_t blocks[] = {128, 512, 640, 4096, 12288, 1 << 20};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct fill_buffer buffer;
        struct fill_mismatch mismatch;
        assert_int_equal(fill_buffer_init(&buffer, &pattern, blocks[i]), 0);
        for (uint64_t n = 0; n < 100; n++) {
            uint64_t offset = n * 37 * blocks[i];
            const void *block = fill_buffer_block(&buffer, offset, mine);
            assert_int_equal(fill_pattern_compare(&pattern, block, blocks[i], offset, mine, 1, &mismatch), 0);
            if (offset % 4096 == 0)
                assert_int_equal((uintptr_t)block % 4096, 0);
        }
        fill_buffer_fini(&buffer);
    }
}

/* Written in blocks of one size, read in blocks of another. */
static void content_does_not_depend_on_the_block_size(void **state)
{
    (void)state;
    static uint8_t file[12288 * 4];
    struct fill_buffer small;
    struct fill_mismatch mismatch;
    assert_int_equal(fill_buffer_init(&small, &pattern, 4096), 0);
    for (uint64_t at = 0; at < sizeof file; at += 4096)
        memcpy(file + at, fill_buffer_block(&small, (UINT64_C(255) << 10) + at, mine), 4096);
    for (uint64_t at = 0; at < sizeof file; at += 12288)
        assert_int_equal(
            fill_pattern_compare(&pattern, file + at, 12288, (UINT64_C(255) << 10) + at, mine, 1, &mismatch), 0);
    fill_buffer_fini(&small);
}

static void the_first_wrong_byte_is_named(void **state)
{
    (void)state;
    uint8_t data[4096];
    struct fill_buffer buffer;
    struct fill_mismatch m;
    assert_int_equal(fill_buffer_init(&buffer, &pattern, sizeof data), 0);
    memcpy(data, fill_buffer_block(&buffer, 8192, mine), sizeof data);
    data[1234] ^= 0x10;
    data[2000] ^= 0x10;
    assert_int_equal(fill_pattern_compare(&pattern, data, sizeof data, 8192, mine, 1, &m), -EILSEQ);
    assert_int_equal(m.offset, 8192 + 1234);
    assert_int_equal(m.found ^ m.expected, 0x10);
    assert_int_equal(m.stamp.file, 3);
    assert_int_equal(m.stamp_offset, 8192 + 1024);
    fill_buffer_fini(&buffer);
}

static void other_place_file_or_generation_is_wrong(void **state)
{
    (void)state;
    struct fill_buffer buffer;
    struct fill_mismatch m;
    assert_int_equal(fill_buffer_init(&buffer, &pattern, 4096), 0);
    const void *block = fill_buffer_block(&buffer, 0, mine);
    const struct fill_identity other_file = {4, 77}, other_generation = {3, 78};
    assert_int_equal(fill_pattern_compare(&pattern, block, 4096, 0, other_file, 1, &m), -EILSEQ);
    assert_int_equal(m.stamp.file, 3);
    assert_int_equal(fill_pattern_compare(&pattern, block, 4096, 0, other_generation, other_generation.generation, &m), -EILSEQ);
    assert_int_equal(m.stamp.generation, 77);
    assert_int_equal(fill_pattern_compare(&pattern, block, 4096, 0, other_generation, 77, &m), 0);
    const struct fill_identity earlier = {3, 76};
    assert_int_equal(fill_pattern_compare(&pattern, block, 4096, 0, earlier, 1, &m), -EILSEQ);
    /* One period further the random part is the same, and only the stamp tells. */
    assert_int_equal(fill_pattern_compare(&pattern, block, 4096, FILL_PERIOD, mine, 1, &m), -EILSEQ);
    assert_int_equal(m.stamp_offset, 0);
    static const uint8_t zeros[4096];
    assert_int_equal(fill_pattern_compare(&pattern, zeros, 4096, 0, mine, 1, &m), -EILSEQ);
    fill_buffer_fini(&buffer);
}

/* All 256 values about equally often: what a compressor cannot use. */
static void the_pattern_is_random(void **state)
{
    (void)state;
    unsigned count[256] = {0};
    for (size_t i = 0; i < FILL_PERIOD; i++)
        count[pattern.bytes[i]]++;
    for (unsigned i = 0; i < 256; i++)
        assert_in_range(count[i], 1024 - 200, 1024 + 200);
}

int main(void)
{
    fill_pattern_init(&pattern, 42);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_is_what_is_expected),
        cmocka_unit_test(content_does_not_depend_on_the_block_size),
        cmocka_unit_test(the_first_wrong_byte_is_named),
        cmocka_unit_test(other_place_file_or_generation_is_wrong),
        cmocka_unit_test(the_pattern_is_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
