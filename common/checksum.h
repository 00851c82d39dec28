/* SPDX-License-Identifier: Apache-2.0
 *
 * The checksum that goes end to end with every block: XXH3 (64 bits) of its WIRE_BLOCK_BYTES bytes, or of the piece of it
 * that a write covers. The writer computes it, every chunkserver verifies it, the reader verifies it again.
 *
 * 0 and 1 are never checksums: chunk tables use them for blocks without data. Pure functions; any thread.
 */
#ifndef CALF_CHECKSUM_H
#define CALF_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_NONE = 0, CHECKSUM_STALE = 1, CHECKSUM_FIRST = 2 };

uint64_t checksum_of(const void *data, size_t bytes);

/* The checksum of a whole block of zeros. */
uint64_t checksum_of_zero_block(void);

/* A range [offset, offset + length) of a chunk falls into one piece for each block it touches. */
static inline uint32_t checksum_pieces(uint32_t offset, uint32_t length, uint32_t block_bytes)
{
    return length == 0 ? 0 : (uint32_t)(((uint64_t)offset + length - 1) / block_bytes - offset / block_bytes + 1);
}

/* Writes one checksum for each piece; sums has room for checksum_pieces() values. */
void checksum_range(const void *data, uint32_t offset, uint32_t length, uint32_t block_bytes, uint64_t *sums);

/* The number of the first piece that does not match, or -1 if all do. sums need not be aligned. */
int checksum_verify_range(const void *data, uint32_t offset, uint32_t length, uint32_t block_bytes, const uint8_t *sums)
    __attribute__((warn_unused_result));

/* Of a whole file or text, to guard records on disk. */
uint64_t checksum_chain(uint64_t before, const void *data, size_t bytes);

#endif
