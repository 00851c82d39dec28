/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which a worker visits the blocks of its file: one after the other, or each block exactly once in
 * a random order that depends on the seed alone. The random order is a permutation computed block by block (a
 * Feistel network over the next power of two, walked until it lands inside: Black and Rogaway, "Ciphers with
 * Arbitrary Finite Domains", 2002), so it takes no memory however large the file is. Immutable after init, so
 * threads may share it.
 */
#ifndef CALF_IOBENCH_ACCESS_PATTERN_H
#define CALF_IOBENCH_ACCESS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum { ACCESS_PATTERN_ROUNDS = 6 };

struct access_pattern {
    uint64_t blocks;
    bool random;
    unsigned left_bits, right_bits; /* of a block number inside the network */
    uint64_t keys[ACCESS_PATTERN_ROUNDS];
};

/* blocks: how many there are, at least 1. */
void access_pattern_init(struct access_pattern *p, uint64_t blocks, bool random, uint64_t seed);

/* The block to visit as number `step`, which is below blocks. About ten nanoseconds. */
uint64_t access_pattern_block(const struct access_pattern *p, uint64_t step);

/* A well mixed number from two: the next seed of a chain of seeds (splitmix64's finalizer). */
uint64_t access_pattern_mix(uint64_t seed, uint64_t with);

#endif
