/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/checksum.h"

enum { BLOCK = 64, DATA = 1024 };

static uint8_t data[DATA];

static int fill_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 131 + i / 7);
    return 0;
}

/* The values of the XXH3 specification: stored chunks must stay readable. */
static void known_values(void **state)
{
    (void)state;
    assert_true(checksum_of("", 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(checksum_of("a", 1) == UINT64_C(0xe6c632b61e964e1f));
    static const uint8_t zeros[4096];
    assert_true(checksum_of_zero_block() == checksum_of(zeros, sizeof zeros));
    assert_true(checksum_of_zero_block() >= CHECKSUM_FIRST);
}

/* checksum_chain is the library's; checksum_of may be what this processor does better. */
static void every_length_has_the_librarys_value(void **state)
{
    (void)state;
    static uint8_t bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 251 * 7);
    for (size_t n = 0; n + 3 < sizeof bytes; n += n < 1100 ? 1 : 37)
        assert_true(checksum_of(bytes + n % 3, n) == checksum_chain(0, bytes + n % 3, n));
}

static void pieces_of_a_range(void **state)
{
    (void)state;
    static const struct {
        uint32_t offset, length, pieces;
    } rows[] = {
        {0, 0, 0},   {63, 0, 0},  {0, 1, 1},   {0, 64, 1},  {0, 65, 2},    {63, 1, 1},
        {63, 2, 2},  {64, 64, 1}, {65, 64, 2}, {1, 127, 2}, {1, 128, 3},   {10, 1000, 16},
        {UINT32_MAX, 1, 1}, {UINT32_MAX - 63, 64, 1}, {0, UINT32_MAX, 1 << 26},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(checksum_pieces(rows[i].offset, rows[i].length, BLOCK), rows[i].pieces);
}

/* Each piece is summed by itself, and nothing is written beyond the last one. */
static void ranges_around_block_boundaries(void **state)
{
    (void)state;
    for (uint32_t offset = 0; offset < 2 * BLOCK; offset += offset % BLOCK < 2 || offset % BLOCK > 61 ? 1 : 20) {
        for (uint32_t length = 0; length < 3 * BLOCK; length++) {
            uint64_t sums[8];
            memset(sums, 0, sizeof sums);
            uint32_t pieces = checksum_pieces(offset, length, BLOCK);
            checksum_range(data + offset, offset, length, BLOCK, sums);
            assert_true(sums[pieces] == CHECKSUM_NONE);
            uint32_t at = offset;
            for (uint32_t piece = 0; piece < pieces; piece++) {
                uint32_t end = at / BLOCK * BLOCK + BLOCK;
                if (end > offset + length)
                    end = offset + length;
                assert_true(sums[piece] == checksum_of(data + at, end - at));
                at = end;
            }
            assert_int_equal(at, length ? offset + length : offset);
            assert_int_equal(checksum_verify_range(data + offset, offset, length, BLOCK, (const uint8_t *)sums), -1);
        }
    }
}

static void every_flipped_bit_is_seen_in_its_piece(void **state)
{
    (void)state;
    const uint32_t offset = 50, length = 200; /* pieces of 14, 64, 64 and 58 bytes */
    uint64_t sums[4];
    uint8_t copy[200], unaligned[1 + sizeof sums];
    checksum_range(data + offset, offset, length, BLOCK, sums);
    memcpy(unaligned + 1, sums, sizeof sums);
    memcpy(copy, data + offset, length);
    for (uint32_t bit = 0; bit < length * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int piece = checksum_verify_range(copy, offset, length, BLOCK, unaligned + 1);
        assert_int_equal(piece, (offset + bit / 8) / BLOCK);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(checksum_verify_range(copy, offset, length, BLOCK, unaligned + 1), -1);
    for (int piece = 3; piece >= 0; piece--) { /* the first that is wrong is named */
        unaligned[1 + 8 * piece + 3] ^= 0x10;
        assert_int_equal(checksum_verify_range(copy, offset, length, BLOCK, unaligned + 1), piece);
    }
}

static void a_chain_depends_on_all_before(void **state)
{
    (void)state;
    uint64_t one = checksum_chain(0, "abc", 3), other = checksum_chain(0, "abd", 3);
    assert_true(one != other);
    assert_true(checksum_chain(one, "x", 1) != checksum_chain(other, "x", 1));
    assert_true(checksum_chain(one, "x", 1) == checksum_chain(one, "x", 1));
    assert_true(checksum_chain(0, "abc", 3) != checksum_chain(1, "abc", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_length_has_the_librarys_value),
        cmocka_unit_test(pieces_of_a_range),
        cmocka_unit_test(ranges_around_block_boundaries),
        cmocka_unit_test(every_flipped_bit_is_seen_in_its_piece),
        cmocka_unit_test(a_chain_depends_on_all_before),
    };
    return cmocka_run_group_tests_name("checksum", tests, fill_data, NULL);
}
