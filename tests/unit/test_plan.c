/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/units.h"
#include "iobench/plan.h"

static struct result config_of(uint32_t scenarios, uint32_t rounds)
{
    struct result r;
    result_init(&r);
    r.scenario_count = scenarios;
    r.rounds_planned = rounds;
    r.block_count = 2;
    r.block_bytes[0] = 4 * KIB;
    r.block_bytes[1] = MIB;
    r.file_bytes_by_block[0] = 8 * MIB;
    r.file_bytes_by_block[1] = 64 * MIB;
    r.thread_count = 2;
    r.threads[0] = 1;
    r.threads[1] = 4;
    r.test_count = 3;
    r.tests[0] = TEST_WRITE;
    r.tests[1] = TEST_READ;
    r.tests[2] = TEST_RANDOM_READ;
    return r;
}

static void every_cell_once_with_its_size(void **state)
{
    (void)state;
    struct result r = config_of(3, 5);
    struct plan plan;
    plan_init(&plan, &r);
    assert_int_equal(plan.cell_count, 12);
    assert_int_equal(plan.runs, 12 * 5 * 3);
    assert_int_equal(plan.moved_bytes, UINT64_C(15) * 3 * (8 + 32 + 64 + 256) * MIB);
    assert_int_equal(plan.space_bytes, 2 * 256 * MIB);
    assert_true(plan.estimate_s > 0);
    for (uint32_t i = 0; i < plan.cell_count; i++)
        assert_int_equal(plan.cells[i].file_bytes, plan.cells[i].block_bytes == MIB ? 64 * MIB : 8 * MIB);
    plan_fini(&plan);
}

/* Over as many rounds as there are scenarios, each stands at each place once, in every cell. */
static void places_are_balanced_over_the_rounds(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 7; count++) {
        struct result r = config_of(count, 2 * count);
        struct plan plan;
        plan_init(&plan, &r);
        for (uint32_t cell = 0; cell < plan.cell_count; cell++) {
            uint32_t at[RESULT_SCENARIOS][RESULT_SCENARIOS] = {{0}}, order[RESULT_SCENARIOS];
            for (uint32_t round = 0; round < 2 * count; round++) {
                plan_order(&plan, 1, cell, round, order);
                for (uint32_t place = 0; place < count; place++)
                    at[order[place]][place]++;
            }
            for (uint32_t i = 0; i < count; i++)
                for (uint32_t place = 0; place < count; place++)
                    assert_int_equal(at[i][place], 2);
        }
        plan_fini(&plan);
    }
}

static void one_round_is_balanced_over_the_cells(void **state)
{
    (void)state;
    struct result r = config_of(2, 3);
    struct plan plan;
    plan_init(&plan, &r);
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t first = 0, order[RESULT_SCENARIOS];
        for (uint32_t cell = 0; cell < plan.cell_count; cell++) {
            plan_order(&plan, 9, cell, round, order);
            first += order[0] == 0;
        }
        assert_int_equal(first, plan.cell_count / 2);
    }
    plan_fini(&plan);
}

/* An even number of scenarios: each follows each other one equally often. */
static void nobody_always_follows_the_same(void **state)
{
    (void)state;
    struct result r = config_of(4, 4);
    struct plan plan;
    plan_init(&plan, &r);
    uint32_t follows[4][4] = {{0}}, order[RESULT_SCENARIOS];
    for (uint32_t round = 0; round < 4; round++) {
        plan_order(&plan, 5, 2, round, order);
        for (uint32_t place = 1; place < 4; place++)
            follows[order[place - 1]][order[place]]++;
    }
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t b = 0; b < 4; b++)
            assert_int_equal(follows[a][b], a == b ? 0 : 1);
    plan_fini(&plan);
}

static void the_seed_decides_the_order(void **state)
{
    (void)state;
    struct result r = config_of(4, 8);
    struct plan plan;
    plan_init(&plan, &r);
    uint32_t a[RESULT_SCENARIOS] = {0}, b[RESULT_SCENARIOS] = {0}, differ = 0;
    for (uint32_t cell = 0; cell < plan.cell_count; cell++) {
        plan_order(&plan, 1, cell, 0, a);
        plan_order(&plan, 1, cell, 0, b);
        assert_memory_equal(a, b, 4 * sizeof a[0]);
        plan_order(&plan, 2, cell, 0, b);
        differ += memcmp(a, b, 4 * sizeof a[0]) != 0;
    }
    assert_true(differ > 0);
    plan_fini(&plan);
}

static void sizes_come_in_whole_blocks(void **state)
{
    (void)state;
    const struct plan_preset *quick = plan_preset(PLAN_QUICK);
    assert_int_equal(plan_file_bytes(quick, 0, 4 * KIB), 8 * MIB);
    assert_int_equal(plan_file_bytes(quick, 0, 8 * KIB), 32 * MIB);
    assert_int_equal(plan_file_bytes(quick, 0, MIB), 64 * MIB);
    assert_int_equal(plan_file_bytes(quick, 0, 12 * KIB), 32 * MIB / (12 * KIB) * (12 * KIB));
    assert_int_equal(plan_file_bytes(quick, MIB, 4 * KIB), MIB);
    assert_int_equal(plan_file_bytes(quick, KIB, 4 * KIB), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_once_with_its_size),
        cmocka_unit_test(places_are_balanced_over_the_rounds),
        cmocka_unit_test(one_round_is_balanced_over_the_cells),
        cmocka_unit_test(nobody_always_follows_the_same),
        cmocka_unit_test(the_seed_decides_the_order),
        cmocka_unit_test(sizes_come_in_whole_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
