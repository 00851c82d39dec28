/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "iobench/access_pattern.h"

static void each_block_once(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 31, 64, 1000, 4096, 65537, 100003};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct access_pattern p;
            access_pattern_init(&p, counts[i], ACCESS_RANDOM_ONCE, 0, seed);
            unsigned char *seen = calloc(counts[i], 1);
            for (uint64_t step = 0; step < counts[i]; step++) {
                uint64_t block = access_pattern_block(&p, step);
                assert_true(block < counts[i]);
                assert_false(seen[block]);
                seen[block] = 1;
            }
            free(seen);
        }
    }
}

static void a_seed_gives_one_order_and_another_another(void **state)
{
    (void)state;
    struct access_pattern a, b, c;
    access_pattern_init(&a, 4096, ACCESS_RANDOM_ONCE, 0, 1);
    access_pattern_init(&b, 4096, ACCESS_RANDOM_ONCE, 0, 1);
    access_pattern_init(&c, 4096, ACCESS_RANDOM_ONCE, 0, 2);
    unsigned same = 0;
    for (uint64_t step = 0; step < 4096; step++) {
        assert_int_equal(access_pattern_block(&a, step), access_pattern_block(&b, step));
        same += access_pattern_block(&a, step) == access_pattern_block(&c, step);
    }
    assert_true(same < 20);
}

/* In a random order, hardly any block follows its neighbour, and the mean distance is a third of the file. */
static void random_looks_random(void **state)
{
    (void)state;
    enum { BLOCKS = 16384 };
    struct access_pattern p;
    access_pattern_init(&p, BLOCKS, ACCESS_RANDOM_ONCE, 0, 99);
    uint64_t neighbours = 0, distance = 0;
    for (uint64_t step = 1; step < BLOCKS; step++) {
        uint64_t a = access_pattern_block(&p, step - 1), b = access_pattern_block(&p, step);
        uint64_t d = a > b ? a - b : b - a;
        neighbours += d == 1;
        distance += d;
    }
    assert_true(neighbours < 20);
    double mean = (double)distance / BLOCKS / BLOCKS;
    assert_true(mean > 0.31 && mean < 0.355);
}

static void sequential_is_in_order(void **state)
{
    (void)state;
    struct access_pattern p;
    access_pattern_init(&p, UINT64_C(1) << 40, ACCESS_SEQUENTIAL, 0, 5);
    assert_int_equal(access_pattern_block(&p, 0), 0);
    assert_int_equal(access_pattern_block(&p, 123456789012), 123456789012);
}

/* Every order but two visits each block once, and begins again. */
static void each_order_goes_its_way(void **state)
{
    (void)state;
    enum { N = 103 };
    static const enum access_order once[] = {ACCESS_SEQUENTIAL, ACCESS_BACKWARD, ACCESS_STRIDE, ACCESS_RANDOM_ONCE};
    struct access_pattern p;
    for (size_t k = 0; k < sizeof once / sizeof once[0]; k++)
        for (uint64_t stride = 1; stride <= 2 * N; stride += 3) {
            unsigned char seen[N] = {0};
            access_pattern_init(&p, N, once[k], stride, 9);
            for (uint64_t step = 0; step < N; step++) {
                assert_int_equal(seen[access_pattern_block(&p, step)]++, 0);
                assert_int_equal(access_pattern_block(&p, step), access_pattern_block(&p, step + N));
            }
        }
    access_pattern_init(&p, N, ACCESS_BACKWARD, 0, 0);
    assert_int_equal(access_pattern_block(&p, 0), N - 1);
    access_pattern_init(&p, N, ACCESS_STRIDE, 10, 0);
    assert_int_equal(access_pattern_block(&p, 3), 30);
    assert_int_equal(access_pattern_block(&p, 11), 1);
    access_pattern_init(&p, N, ACCESS_SAME, 0, 0);
    assert_int_equal(access_pattern_block(&p, 55), 0);
}

static void drawn_with_replacement_some_come_again(void **state)
{
    (void)state;
    enum { N = 1000 };
    unsigned char seen[N] = {0};
    unsigned distinct = 0;
    struct access_pattern p;
    access_pattern_init(&p, N, ACCESS_RANDOM_REPLACEMENT, 0, 5);
    for (uint64_t step = 0; step < N; step++)
        distinct += seen[access_pattern_block(&p, step)]++ == 0;
    /* 1 - 1/e of them, within five deviations. */
    assert_in_range(distinct, 632 - 50, 632 + 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_once),
        cmocka_unit_test(a_seed_gives_one_order_and_another_another),
        cmocka_unit_test(random_looks_random),
        cmocka_unit_test(sequential_is_in_order),
        cmocka_unit_test(each_order_goes_its_way),
        cmocka_unit_test(drawn_with_replacement_some_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
