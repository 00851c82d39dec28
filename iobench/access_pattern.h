/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which a worker visits the blocks of its file, computed step by step, so that it takes no memory however large
 * the file is. "Once" is a permutation (a Feistel network over the next power of two, walked until it lands inside: Black and
 * Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). After all blocks were visited the order begins again; a new round
 * of "once" is the same permutation. Immutable after init, so threads may share it.
 */
#ifndef CALF_IOBENCH_ACCESS_PATTERN_H
#define CALF_IOBENCH_ACCESS_PATTERN_H

#include <stdint.h>

enum { ACCESS_PATTERN_ROUNDS = 6 };

enum access_order {
    ACCESS_SEQUENTIAL,
    ACCESS_RANDOM_ONCE,        /* each block exactly once, in an order that depends on the seed alone */
    ACCESS_RANDOM_REPLACEMENT, /* drawn anew at each step: some twice, some never */
    ACCESS_BACKWARD,           /* from the last block to the first */
    ACCESS_STRIDE,             /* every stride-th block, then again from the second on, and so on: each once */
    ACCESS_SAME,               /* the first block again and again */
};

struct access_pattern {
    uint64_t blocks;
    enum access_order order;
    uint64_t stride, seed;
    uint64_t long_lanes, lane_blocks; /* of a stride: so many lanes have lane_blocks + 1 blocks, the rest lane_blocks */
    unsigned left_bits, right_bits; /* of a block number inside the network */
    uint64_t keys[ACCESS_PATTERN_ROUNDS];
};

/* blocks: how many there are, at least 1. stride: in blocks, at least 1 for that order, else of no account. */
void access_pattern_init(struct access_pattern *p, uint64_t blocks, enum access_order order, uint64_t stride, uint64_t seed);

/* The block to visit as number `step`, from 0. About ten nanoseconds. */
uint64_t access_pattern_block(const struct access_pattern *p, uint64_t step);

/* A well mixed number from two: the next seed of a chain of seeds (splitmix64's finalizer). */
uint64_t access_pattern_mix(uint64_t seed, uint64_t with);

#endif
