/* SPDX-License-Identifier: Apache-2.0
 *
 * The rank statistics against tables and hand-made cases, and their promises by simulation with fixed seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "iobench/statistics.h"
#include "tests/unit/synthetic_result.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.12g is not near %.12g", a, b);
}

static void known_values_of_the_signed_rank_test(void **unused)
{
    (void)unused;
    /* Hollander, Wolfe, Chicken, example 3.1 (Hamilton depression scale factor IV): y - x; T+ = 5, two-sided p = 0.0391;
     * estimate -0.46, 96.1% interval from -0.786 to -0.010. */
    const double d[] = {0.878 - 1.83, 0.647 - 0.50, 0.598 - 1.62, 2.05 - 2.48, 1.06 - 1.68, 1.29 - 1.88, 1.06 - 1.55,
                        3.14 - 3.06, 1.29 - 1.30};
    struct statistics_estimate e = statistics_paired(d, 9);
    assert_near(e.p, 0.0390625, 1e-12);
    assert_near(e.estimate, -0.46, 1e-9);
    assert_true(e.interval);
    assert_near(e.low, -0.786, 1e-9);
    assert_near(e.high, -0.010, 1e-9);
    assert_near(e.confidence, 0.9609375, 1e-12);
}

/* Critical values of the tables: for n distinct values 1..n with shifts, the interval cuts k Walsh averages at each end. */
static void interval_cuts_match_the_tables(void **unused)
{
    (void)unused;
    static const struct {
        size_t n;
        double tail; /* P(T <= k - 1), from the exact distribution */
    } rows[] = {{6, 1 / 64.0}, {7, 3 / 128.0}, {8, 5 / 256.0}, {10, 25 / 1024.0}, {12, 87 / 4096.0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double values[12];
        for (size_t j = 0; j < rows[i].n; j++)
            values[j] = (double)(j * j + 1);
        struct statistics_estimate e = statistics_paired(values, rows[i].n);
        assert_true(e.interval);
        assert_near(1 - e.confidence, 2 * rows[i].tail, 1e-12);
        assert_near(e.p, statistics_smallest_p(rows[i].n), 1e-12);
    }
}

static void known_values_of_the_rank_sum_test(void **unused)
{
    (void)unused;
    /* Hollander, Wolfe, Chicken, example 4.1 (permeability of the chorioamnion): W = 30, one-sided p = 0.127; estimate of the
     * shift -0.305. */
    const double at_term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    const double early[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    struct statistics_estimate e = statistics_unpaired(early, 5, at_term, 10);
    assert_near(e.p, 2 * 0.127206, 1e-4);
    assert_near(e.estimate, -0.305, 1e-9);
    assert_true(e.interval);
    /* Complete separation of 4 and 4: 2 / C(8,4). */
    const double low[] = {1, 2, 3, 4}, high[] = {5, 6, 7, 8.5};
    e = statistics_unpaired(low, 4, high, 4);
    assert_near(e.p, 2 / 70.0, 1e-12);
    assert_true(e.interval);
    e = statistics_unpaired(low, 3, high, 3);
    assert_false(e.interval);
    assert_near(e.p, 0.1, 1e-12);
}

static void few_rounds_give_a_range_and_no_verdict(void **unused)
{
    (void)unused;
    const double losses[] = {-0.5, -0.4, -0.6, -0.45, -0.55, -0.52};
    for (size_t n = 1; n <= 5; n++) {
        struct statistics_estimate e = statistics_paired(losses, n);
        assert_false(e.interval);
        assert_true(e.low <= e.estimate && e.estimate <= e.high);
        assert_int_equal(statistics_verdict(&e), VERDICT_NONE);
        assert_int_equal(statistics_rounds_needed(&e), 6 - n);
        assert_true(e.confidence == 0);
    }
    struct statistics_estimate e = statistics_paired(losses, 6);
    assert_true(e.interval);
    assert_near(e.low, -0.6, 1e-12);
    assert_near(e.high, -0.4, 1e-12);
    assert_near(e.p, 0.03125, 1e-12);
    assert_int_equal(statistics_verdict(&e), VERDICT_SLOWER);
    e = statistics_paired(losses, 0);
    assert_int_equal(e.count, 0);
    assert_true(e.p == 1);
    e = statistics_unpaired(losses, 3, losses, 0);
    assert_int_equal(e.count, 0);
}

static struct statistics_estimate made(double percent, double low, double high)
{
    return (struct statistics_estimate){
        .count = 10, .interval = true, .estimate = log(percent / 100), .low = log(low / 100), .high = log(high / 100)};
}

static void verdicts_come_in_their_order(void **unused)
{
    (void)unused;
    static const struct {
        double percent, low, high;
        enum statistics_verdict verdict;
    } rows[] = {
        {99, 98.1, 99.9, VERDICT_SAME},      /* below 100 all over, and still the same */
        {97, 95, 99.9, VERDICT_SLOWER},
        {98.5, 97, 99.9, VERDICT_UNCLEAR},   /* below 100, too small to call */
        {97, 94, 100.1, VERDICT_UNCLEAR},
        {103, 100.1, 106, VERDICT_FASTER},
        {101, 100.1, 103, VERDICT_UNCLEAR},
        {100, 80, 125, VERDICT_UNCLEAR},
        {50, 40, 60, VERDICT_SLOWER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct statistics_estimate e = made(rows[i].percent, rows[i].low, rows[i].high);
        assert_int_equal(statistics_verdict(&e), rows[i].verdict);
        if (rows[i].verdict == VERDICT_UNCLEAR)
            assert_true(statistics_rounds_needed(&e) > 0);
        else
            assert_int_equal(statistics_rounds_needed(&e), 0);
    }
    /* Twice as wide as it may be: four times the rounds. */
    struct statistics_estimate e = {.count = 10, .interval = true, .estimate = -0.1, .low = -0.3, .high = 0.1};
    assert_in_range(statistics_rounds_needed(&e), 30, 31);
    e = made(98, 90, 106);
    assert_true(statistics_rounds_needed(&e) < STATISTICS_HOPELESS);
    e = made(98.0001, 90, 106);
    assert_int_equal(statistics_rounds_needed(&e), STATISTICS_HOPELESS);
}

static void benjamini_hochberg_steps_up(void **unused)
{
    (void)unused;
    /* Their paper's example: 15 p-values, four survive at 0.05. */
    const double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
                        0.6528, 0.7590, 1.0};
    bool survives[15];
    statistics_benjamini_hochberg(p, 15, 0.05, survives);
    for (size_t i = 0; i < 15; i++)
        assert_int_equal(survives[i], i < 4);
    /* A later one under the line lifts the ones before it. */
    const double q[] = {0.04, 0.045, 0.03};
    statistics_benjamini_hochberg(q, 3, 0.05, survives);
    assert_true(survives[0] && survives[1] && survives[2]);
    statistics_benjamini_hochberg(p, 0, 0.05, survives);
}

/* True if b is a with the sides changed, to the last bit. */
static bool exact_negation(const struct statistics_estimate *a, const struct statistics_estimate *b)
{
    return a->estimate == -b->estimate && a->low == -b->high && a->high == -b->low && a->p == b->p &&
           a->confidence == b->confidence && a->interval == b->interval;
}

static void changing_sides_negates_exactly(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    for (int i = 0; i < 2000; i++) {
        size_t n = 1 + synthetic_random(&state) % 40;
        double ours[40], theirs[40], forth[40], back[40];
        for (size_t j = 0; j < n; j++) {
            ours[j] = log(1 + 1000 * synthetic_uniform(&state));
            theirs[j] = i % 3 ? log(1 + 1000 * synthetic_uniform(&state)) : ours[j] + (double)(j % 3) * 0.1;
            forth[j] = ours[j] - theirs[j];
            back[j] = theirs[j] - ours[j];
        }
        struct statistics_estimate a = statistics_paired(forth, n), b = statistics_paired(back, n);
        assert_true(exact_negation(&a, &b));
        a = statistics_unpaired(ours, n, theirs, n);
        b = statistics_unpaired(theirs, n, ours, n);
        assert_true(exact_negation(&a, &b));
    }
}

static void ties_and_zeros_are_safe(void **unused)
{
    (void)unused;
    const double zeros[10] = {0};
    struct statistics_estimate e = statistics_paired(zeros, 10);
    assert_true(e.p == 1 && e.estimate == 0 && e.low == 0 && e.high == 0);
    assert_int_equal(statistics_verdict(&e), VERDICT_SAME);
    e = statistics_unpaired(zeros, 10, zeros, 10);
    assert_true(e.p == 1 && e.low == 0 && e.high == 0);
}

/* Beyond the exact limits the approximation goes on where the exact distribution ends. */
static void large_counts_continue_smoothly(void **unused)
{
    (void)unused;
    uint64_t state = 11;
    double values[STATISTICS_VALUES], other[STATISTICS_VALUES];
    for (size_t i = 0; i < STATISTICS_VALUES; i++) {
        values[i] = synthetic_normal(&state);
        other[i] = synthetic_normal(&state);
    }
    for (size_t n = STATISTICS_EXACT_PAIRS - 1; n <= STATISTICS_EXACT_PAIRS + 2; n++) {
        struct statistics_estimate e = statistics_paired(values, n);
        assert_true(e.interval && e.confidence > 0.9485 && e.confidence < 0.953);
    }
    for (size_t n = STATISTICS_EXACT_SUM / 2 - 1; n <= STATISTICS_EXACT_SUM / 2 + 1; n++) {
        struct statistics_estimate e = statistics_unpaired(values, n, other, n);
        assert_true(e.interval && e.confidence > 0.9485 && e.confidence < 0.955);
    }
    struct statistics_estimate e = statistics_paired(values, STATISTICS_VALUES);
    assert_true(e.interval && e.low < e.estimate && e.estimate < e.high);
}

/* Log rates of one cell: slow drift over the sitting, common to both sides of a round, and the noise of each run. */
struct noise {
    double drift, scatter, heavy, slowed;
};

static double run(const struct noise *n, uint64_t *state)
{
    double value = n->scatter * synthetic_normal(state);
    if (n->heavy > 0) /* Student's t with 2 degrees of freedom: no variance at all */
        value += n->heavy * synthetic_normal(state) / sqrt(-log(synthetic_uniform(state)));
    if (n->slowed > 0 && synthetic_uniform(state) < 0.1)
        value += log(1 - n->slowed * synthetic_uniform(state));
    return value;
}

struct outcome {
    double called, slower, covered, width;
};

static struct outcome simulate(const struct noise *noise, double truth, size_t rounds, size_t cells, bool paired, uint64_t seed)
{
    struct outcome o = {0};
    uint64_t state = seed;
    for (size_t cell = 0; cell < cells; cell++) {
        double ours[64], theirs[64], ratios[64];
        double slope = noise->drift * synthetic_normal(&state);
        for (size_t r = 0; r < rounds; r++) {
            /* Interleaved: the two runs of a round follow each other, in random order. */
            bool first = synthetic_uniform(&state) < 0.5;
            double at = (double)(2 * r) / (double)rounds;
            double step = 1 / (double)rounds;
            ours[r] = truth + slope * (at + (first ? 0 : step)) + run(noise, &state);
            theirs[r] = slope * (at + (first ? step : 0)) + run(noise, &state);
            ratios[r] = ours[r] - theirs[r];
        }
        struct statistics_estimate e =
            paired ? statistics_paired(ratios, rounds) : statistics_unpaired(ours, rounds, theirs, rounds);
        enum statistics_verdict verdict = statistics_verdict(&e);
        o.called += verdict == VERDICT_SLOWER || verdict == VERDICT_FASTER;
        o.slower += verdict == VERDICT_SLOWER;
        o.covered += e.low <= truth && truth <= e.high;
        o.width += e.high - e.low;
    }
    o.called *= 100 / (double)cells;
    o.slower *= 100 / (double)cells;
    o.covered *= 100 / (double)cells;
    o.width *= 100 / (double)cells;
    return o;
}

static void false_alarms_are_rare(void **unused)
{
    (void)unused;
    static const struct noise noises[] = {
        {.drift = 0.1, .scatter = 0.02},
        {.drift = 0.1, .scatter = 0.02, .heavy = 0.02},
        {.drift = 0.3, .scatter = 0.01, .heavy = 0.05, .slowed = 0.5},
    };
    static const size_t rounds[] = {6, 7, 10, 15, 20};
    for (size_t n = 0; n < sizeof noises / sizeof noises[0]; n++)
        for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
            struct outcome o = simulate(&noises[n], 0, rounds[i], 4000, true, 100 * n + i);
            print_message("no difference, noise %zu, %2zu rounds: called %.2f%%, covered %.2f%%\n", n, rounds[i], o.called,
                          o.covered);
            assert_true(o.called <= 6);
            assert_true(o.covered >= 93 && o.covered <= 97.5);
        }
}

static void the_interval_covers_the_truth(void **unused)
{
    (void)unused;
    static const double truths[] = {0.5, 0.9, 1.1};
    static const struct noise noise = {.drift = 0.2, .scatter = 0.03, .heavy = 0.02, .slowed = 0.3};
    static const size_t rounds[] = {6, 7, 8, 10, 12, 20};
    for (size_t t = 0; t < sizeof truths / sizeof truths[0]; t++)
        for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
            struct outcome o = simulate(&noise, log(truths[t]), rounds[i], 4000, true, 1000 + 10 * t + i);
            print_message("truth %.0f%%, %2zu rounds: covered %.2f%%\n", 100 * truths[t], rounds[i], o.covered);
            assert_true(o.covered >= 93 && o.covered <= 97.5);
        }
}

/* How often a loss is seen depends much on how far the one run in ten is slowed. The measurements that the design rests on
 * (47, 57, 77 and 89% at 7, 10, 15 and 20 rounds) do not say how far; "by up to a quarter" is the amount that gives all four.
 * Slowed by up to a half, 10 rounds no longer see the loss in half the cells: that is held against getting worse only. */
static void a_loss_of_five_percent_is_seen(void **unused)
{
    (void)unused;
    static const struct noise quarter = {.scatter = 0.03, .slowed = 0.25}, half = {.scatter = 0.03, .slowed = 0.5};
    static const size_t rounds[] = {7, 10, 15, 20};
    static const double expected[] = {47, 57, 77, 89}, expected_half[] = {43, 45, 65, 78};
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        struct outcome o = simulate(&quarter, log(0.95), rounds[i], 4000, true, 2000 + i);
        struct outcome harsh = simulate(&half, log(0.95), rounds[i], 4000, true, 2100 + i);
        print_message("5%% loss, %2zu rounds: slower %.1f%%, with slower outliers %.1f%%\n", rounds[i], o.slower, harsh.slower);
        assert_near(o.slower, expected[i], 3);
        assert_near(harsh.slower, expected_half[i], 4);
        assert_true(rounds[i] < 10 || o.slower >= 50);
    }
}

/* Without drift the rank test without pairs keeps its promise too; with drift between the sides it cannot, which is why the
 * rounds are interleaved and such results are marked as weaker. */
static void unpaired_promises_hold_without_drift(void **unused)
{
    (void)unused;
    static const struct noise noise = {.scatter = 0.02, .heavy = 0.02};
    struct outcome o = simulate(&noise, 0, 10, 4000, false, 3000);
    print_message("unpaired, 10 rounds: called %.2f%%, covered %.2f%%\n", o.called, o.covered);
    assert_true(o.called <= 6);
    assert_true(o.covered >= 93 && o.covered <= 97.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_of_the_signed_rank_test),
        cmocka_unit_test(interval_cuts_match_the_tables),
        cmocka_unit_test(known_values_of_the_rank_sum_test),
        cmocka_unit_test(few_rounds_give_a_range_and_no_verdict),
        cmocka_unit_test(verdicts_come_in_their_order),
        cmocka_unit_test(benjamini_hochberg_steps_up),
        cmocka_unit_test(changing_sides_negates_exactly),
        cmocka_unit_test(ties_and_zeros_are_safe),
        cmocka_unit_test(large_counts_continue_smoothly),
        cmocka_unit_test(false_alarms_are_rare),
        cmocka_unit_test(the_interval_covers_the_truth),
        cmocka_unit_test(a_loss_of_five_percent_is_seen),
        cmocka_unit_test(unpaired_promises_hold_without_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
