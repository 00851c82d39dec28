/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/access_pattern.h"

#include <stdbool.h>

#include "common/check.h"

uint64_t access_pattern_mix(uint64_t seed, uint64_t with)
{
    uint64_t x = seed + UINT64_C(0x9e3779b97f4a7c15) * (with + 1);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void access_pattern_init(struct access_pattern *p, uint64_t blocks, enum access_order order, uint64_t stride, uint64_t seed)
{
    CHECK(blocks >= 1 && blocks <= UINT64_C(1) << 62 && (order != ACCESS_STRIDE || stride >= 1));
    bool single = blocks == 1 && (order == ACCESS_RANDOM_ONCE || order == ACCESS_RANDOM_REPLACEMENT);
    *p = (struct access_pattern){.blocks = blocks, .order = single ? ACCESS_SEQUENTIAL : order, .seed = seed};
    p->stride = stride < blocks ? stride : blocks;
    if (order == ACCESS_STRIDE) {
        p->long_lanes = blocks % p->stride;
        p->lane_blocks = blocks / p->stride;
    }
    unsigned bits = blocks > 1 ? 64 - (unsigned)__builtin_clzll(blocks - 1) : 0;
    p->left_bits = bits / 2;
    p->right_bits = bits - p->left_bits;
    for (unsigned i = 0; i < ACCESS_PATTERN_ROUNDS; i++)
        p->keys[i] = access_pattern_mix(seed, i);
}

static uint64_t scramble(uint64_t value, uint64_t key)
{
    uint64_t x = (value + key) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static uint64_t permute(const struct access_pattern *p, uint64_t value)
{
    uint64_t left_mask = (UINT64_C(1) << p->left_bits) - 1, right_mask = (UINT64_C(1) << p->right_bits) - 1;
    uint64_t left = value >> p->right_bits, right = value & right_mask;
    for (unsigned i = 0; i < ACCESS_PATTERN_ROUNDS; i += 2) {
        left ^= scramble(right, p->keys[i]) & left_mask;
        right ^= scramble(left, p->keys[i + 1]) & right_mask;
    }
    return left << p->right_bits | right;
}

static uint64_t random_once(const struct access_pattern *p, uint64_t step)
{
    /* The network covers less than twice the blocks, so that less than two turns are expected; a
     * permutation's cycle leads back inside in any case. */
    uint64_t value = permute(p, step);
    while (value >= p->blocks)
        value = permute(p, value);
    return value;
}

static uint64_t in_strides(const struct access_pattern *p, uint64_t step)
{
    uint64_t in_long = p->long_lanes * (p->lane_blocks + 1);
    if (step < in_long)
        return step % (p->lane_blocks + 1) * p->stride + step / (p->lane_blocks + 1);
    step -= in_long;
    return step % p->lane_blocks * p->stride + p->long_lanes + step / p->lane_blocks;
}

uint64_t access_pattern_block(const struct access_pattern *p, uint64_t step)
{
    if (p->order == ACCESS_RANDOM_REPLACEMENT) /* the high half of a product: as good as even, without a division */
        return (uint64_t)((unsigned __int128)access_pattern_mix(p->seed, step) * p->blocks >> 64);
    if (step >= p->blocks)
        step %= p->blocks;
    switch (p->order) {
    case ACCESS_RANDOM_ONCE:
        return random_once(p, step);
    case ACCESS_BACKWARD:
        return p->blocks - 1 - step;
    case ACCESS_STRIDE:
        return in_strides(p, step);
    case ACCESS_SAME:
        return 0;
    case ACCESS_SEQUENTIAL:
    case ACCESS_RANDOM_REPLACEMENT:
        break;
    }
    return step;
}
