/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/check.h"
#include "iobench/plan.h"
#include "iobench/sweep_adaptive.h"
#include "tests/unit/synthetic_result.h"

static struct result *make(uint32_t rounds, double loss, double noise)
{
    struct synthetic_plan plan = {.scenarios = 3, .blocks = 2, .threads = 2, .rounds = rounds, .loss = loss, .noise = noise, .seed = 5};
    struct result *r = check_alloc(calloc(1, sizeof *r));
    result_init(r);
    synthetic_result(r, &plan);
    return r;
}

static void drop(struct result *r)
{
    result_fini(r);
    free(r);
}

static struct sweep_adaptive look_at(uint32_t rounds, double loss, double noise, uint32_t width_hundredths)
{
    struct result *r = make(rounds, loss, noise);
    r->until_width_hundredths = width_hundredths;
    struct sweep_adaptive look = sweep_adaptive_look(r);
    drop(r);
    return look;
}

static void more_rounds_make_it_narrow(void **state)
{
    (void)state;
    struct sweep_adaptive few = look_at(6, 0, 0.02, 400), many = look_at(40, 0, 0.02, 400);
    assert_int_equal(few.cells, 16 * 2);
    assert_false(sweep_adaptive_enough(&few));
    assert_true(sweep_adaptive_enough(&many));
    assert_true(many.widest_percent < few.widest_percent && many.widest_percent <= 4);
}

static void without_an_interval_it_is_never_narrow(void **state)
{
    (void)state;
    struct sweep_adaptive look = look_at(5, 0, 0.0001, 10000);
    assert_int_equal(look.narrow, 0);
    assert_true(isinf(look.widest_percent));
}

/* What the intervals say plays no part: the same noise around another truth is as wide, but for the scale of a percentage. */
static void only_the_width_counts(void **state)
{
    (void)state;
    for (uint32_t rounds = 6; rounds <= 14; rounds += 4) {
        struct sweep_adaptive same = look_at(rounds, 0, 0.02, 400), slower = look_at(rounds, 0.001, 0.02, 400);
        assert_true(fabs(same.widest_percent - slower.widest_percent) < 0.003 * same.widest_percent);
    }
}

static void failed_and_marked_cells_hold_nothing_up(void **state)
{
    (void)state;
    struct result *r = make(12, 0, 0.0001);
    r->until_width_hundredths = 100;
    for (size_t i = 0; i < r->sample_count; i++)
        if (r->samples[i].scenario == 1 && r->samples[i].test == TEST_READ)
            strcpy(r->samples[i].mark, "served-bytes");
    struct sweep_adaptive look = sweep_adaptive_look(r);
    assert_int_equal(look.cells, 16 * 2 - 4);
    assert_true(sweep_adaptive_enough(&look));
    drop(r);
}

static void the_plan_has_room_for_the_most_rounds(void **state)
{
    (void)state;
    struct result *r = make(2, 0, 0.01);
    char why[256];
    struct plan plan;
    r->file_bytes_by_block[0] = r->file_bytes_by_block[1] = 1 << 20;
    assert_int_equal(sweep_adaptive_configure("2.5%", 0, r, why, sizeof why), 0);
    assert_int_equal(r->until_width_hundredths, 250);
    assert_int_equal(r->max_rounds, 30);
    plan_init(&plan, r);
    assert_int_equal(plan.rounds, 30);
    assert_int_equal(plan.runs, 30 * 16 * 3);
    plan_fini(&plan);
    drop(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_rounds_make_it_narrow),
        cmocka_unit_test(without_an_interval_it_is_never_narrow),
        cmocka_unit_test(only_the_width_counts),
        cmocka_unit_test(failed_and_marked_cells_hold_nothing_up),
        cmocka_unit_test(the_plan_has_room_for_the_most_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
