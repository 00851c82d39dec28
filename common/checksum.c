/* SPDX-License-Identifier: Apache-2.0 */
#include "common/checksum.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

#include "common/checksum_avx2.h"
#include "common/wire_schema.h"

/* Programs are built for any machine of the architecture, so what this one can do better is asked here. */
static uint64_t hash(const void *data, size_t bytes)
{
#ifdef CHECKSUM_HAS_AVX2
    if (__builtin_cpu_supports("avx2"))
        return checksum_avx2_hash(data, bytes);
#endif
    return XXH3_64bits(data, bytes);
}

uint64_t checksum_of(const void *data, size_t bytes)
{
    uint64_t sum = hash(data, bytes);
    return sum < CHECKSUM_FIRST ? sum + CHECKSUM_FIRST : sum;
}

static uint64_t zero_block_sum;

static void compute_zero_block(void)
{
    static const uint8_t zeros[WIRE_BLOCK_BYTES];
    zero_block_sum = checksum_of(zeros, sizeof zeros);
}

uint64_t checksum_of_zero_block(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, compute_zero_block);
    return zero_block_sum;
}

static uint32_t piece_length(uint32_t offset, uint32_t left, uint32_t block_bytes)
{
    uint32_t in_block = block_bytes - offset % block_bytes;
    return in_block < left ? in_block : left;
}

void checksum_range(const void *data, uint32_t offset, uint32_t length, uint32_t block_bytes, uint64_t *sums)
{
    const uint8_t *at = (const uint8_t *)data;
    while (length) {
        uint32_t n = piece_length(offset, length, block_bytes);
        *sums++ = checksum_of(at, n);
        at += n;
        offset += n;
        length -= n;
    }
}

int checksum_verify_range(const void *data, uint32_t offset, uint32_t length, uint32_t block_bytes, const uint8_t *sums)
{
    const uint8_t *at = (const uint8_t *)data;
    for (int piece = 0; length; piece++) {
        uint32_t n = piece_length(offset, length, block_bytes);
        uint64_t expected;
        memcpy(&expected, sums + 8 * (size_t)piece, sizeof expected);
        if (checksum_of(at, n) != expected)
            return piece;
        at += n;
        offset += n;
        length -= n;
    }
    return -1;
}

uint64_t checksum_chain(uint64_t before, const void *data, size_t bytes)
{
    return XXH3_64bits_withSeed(data, bytes, before);
}
