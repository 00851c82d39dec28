/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons of whole results: the article's figures, pairs and means, what takes a cell out, exact reciprocals, few rounds,
 * results without pairs, the noise floor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/clock.h"
#include "iobench/compare.h"
#include "iobench/csv_import.h"
#include "tests/unit/synthetic_result.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { INSTRUMENTED = 1 };
#else
enum { INSTRUMENTED = 0 };
#endif

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.12g is not near %.12g", a, b);
}

static double percent(const struct statistics_estimate *e)
{
    return 100 * exp(e->estimate);
}

static void make(struct result *r, struct synthetic_plan plan)
{
    result_init(r);
    synthetic_result(r, &plan);
}

static void compare_one(struct comparison *c, const struct result *const *r, const char *baseline)
{
    char why[256];
    if (compare_init(c, r, 1, baseline, why, sizeof why) != 0)
        fail_msg("%s", why);
}

static void the_articles_figures(void **unused)
{
    (void)unused;
    static struct result r;
    static const double by_test[TEST_ARTICLE_KINDS] = {94.52, 95.50, 88.47, 90.28};
    const struct result *list = &r;
    struct comparison c;
    char why[256];
    result_init(&r);
    if (csv_import_read("docs/examples/moosefs-docker-article.csv", &r, why, sizeof why) != 0)
        fail_msg("%s", why);
    compare_one(&c, &list, NULL);
    assert_string_equal(c.arms[c.baseline].name, "bare");
    assert_int_equal(c.cell_count, 200);
    size_t docker = 1 - c.baseline;
    const struct compare_ratio *overall = &c.means[0].ratios[docker];
    assert_near(percent(&overall->rate), 92.15, 0.005);
    assert_false(overall->rate.interval);
    assert_int_equal(overall->verdict, VERDICT_NONE);
    assert_int_equal(overall->cells, 200);
    for (size_t t = 0; t < TEST_ARTICLE_KINDS; t++) {
        assert_int_equal(c.means[1 + t].axis, COMPARE_BY_TEST);
        assert_int_equal(c.means[1 + t].test, t);
        assert_near(percent(&c.means[1 + t].ratios[docker].rate), by_test[t], 0.005);
    }
    const struct compare_cell *worst = &c.cells[c.arms[docker].worst], *best = &c.cells[c.arms[docker].best];
    assert_near(percent(&worst->ratios[docker].rate), 57.0, 0.05);
    assert_int_equal(worst->test, TEST_RANDOM_WRITE);
    assert_int_equal(worst->block_bytes, 16384);
    assert_int_equal(worst->threads, 4);
    assert_near(percent(&best->ratios[docker].rate), 105.4, 0.05);
    assert_int_equal(c.arms[docker].survivors, 0);
    compare_fini(&c);
    result_fini(&r);
}

/* One side scatters far more than the other: said in the cell. */
static void a_noisier_side_is_marked(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    const struct synthetic_plan plan = {.scenarios = 2, .blocks = 1, .threads = 1, .rounds = 8, .noise = 0.01, .seed = 3};
    struct comparison c;
    result_init(&r);
    synthetic_result(&r, &plan);
    compare_one(&c, &list, NULL);
    assert_false(c.cells[0].ratios[1].noisier);
    compare_fini(&c);
    for (size_t i = 0; i < r.sample_count; i++)
        if (r.samples[i].scenario == 1 && r.samples[i].test == TEST_WRITE && r.samples[i].round % 2 == 0)
            r.samples[i].elapsed_ns = r.samples[i].elapsed_ns * 3 / 2;
    compare_one(&c, &list, NULL);
    assert_true(c.cells[0].ratios[1].noisier);
    assert_false(c.cells[1].ratios[1].noisier);
    compare_fini(&c);
    result_fini(&r);
}

static void known_losses_are_found(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    make(&r, (struct synthetic_plan){.scenarios = 5, .blocks = 3, .threads = 2, .rounds = 10, .loss = 0.1, .noise = 0.02, .seed = 1});
    compare_one(&c, &list, NULL);
    assert_int_equal(c.cell_count, 24);
    assert_int_equal(c.mean_count, 1 + 4 + 3 + 2);
    assert_int_equal(c.most_rounds, 10);
    for (size_t arm = 1; arm <= 3; arm++) {
        const struct compare_ratio *overall = &c.means[0].ratios[arm];
        assert_near(percent(&overall->rate), 100 * pow(0.9, (double)arm), 1);
        assert_true(overall->rate.interval && overall->rounds == 10 && overall->cells == 24);
        assert_int_equal(overall->verdict, VERDICT_SLOWER);
        assert_int_equal(c.arms[arm].verdicts[VERDICT_SLOWER], 24);
        assert_int_equal(c.arms[arm].survivors, 24);
        assert_true(overall->cpu_present && percent(&overall->cpu) > 100);
        assert_true(c.arms[arm].paired);
    }
    /* The arm that repeats the baseline is compared with it, and is in nothing else. */
    assert_true(c.arms[4].noise);
    assert_int_equal(c.arms[4].reference, 0);
    assert_near(percent(&c.means[0].ratios[4].rate), 100, 1);
    assert_int_equal(c.arms[4].survivors, 0);
    assert_int_equal(c.tested, 72);
    compare_fini(&c);
    result_fini(&r);
}

static void changing_sides_gives_the_exact_reciprocal(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison a, b;
    make(&r, (struct synthetic_plan){.scenarios = 2, .blocks = 3, .threads = 3, .rounds = 7, .loss = 0.03, .noise = 0.05, .seed = 2});
    compare_one(&a, &list, "bare");
    compare_one(&b, &list, "bare-net");
    for (size_t i = 0; i < a.cell_count + a.mean_count; i++) {
        const struct compare_ratio *x = i < a.cell_count ? &a.cells[i].ratios[1] : &a.means[i - a.cell_count].ratios[1];
        const struct compare_ratio *y = i < a.cell_count ? &b.cells[i].ratios[0] : &b.means[i - a.cell_count].ratios[0];
        assert_true(x->rate.estimate == -y->rate.estimate && x->rate.low == -y->rate.high && x->rate.high == -y->rate.low);
        assert_true(x->cpu.estimate == -y->cpu.estimate && x->cpu.low == -y->cpu.high);
        assert_true(x->rate.p == y->rate.p && x->survives == y->survives);
    }
    compare_fini(&a);
    compare_fini(&b);
    result_fini(&r);
}

/* A mean's interval comes from its per-round means, made here by hand. */
static void means_are_made_round_by_round(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    double rounds[8] = {0};
    make(&r, (struct synthetic_plan){.scenarios = 2, .blocks = 2, .threads = 1, .rounds = 8, .loss = 0.05, .noise = 0.05, .seed = 3});
    for (size_t i = 0; i + 1 < r.sample_count; i += 2) {
        const struct sample *bare = &r.samples[i], *other = &r.samples[i + 1];
        rounds[bare->round] += (log((double)bare->elapsed_ns) - log((double)other->elapsed_ns)) / 8;
    }
    struct statistics_estimate expected = statistics_paired(rounds, 8);
    compare_one(&c, &list, NULL);
    const struct statistics_estimate *e = &c.means[0].ratios[1].rate;
    assert_near(e->estimate, expected.estimate, 1e-12);
    assert_near(e->low, expected.low, 1e-12);
    assert_near(e->high, expected.high, 1e-12);
    assert_int_equal(e->count, 8);
    compare_fini(&c);
    result_fini(&r);
}

static const struct compare_cell *cell_of(const struct comparison *c, const struct sample *s)
{
    for (size_t i = 0; i < c->cell_count; i++)
        if (c->cells[i].test == s->test && c->cells[i].block_bytes == s->block_bytes && c->cells[i].threads == s->threads)
            return &c->cells[i];
    fail_msg("a cell is missing");
    return NULL;
}

static void failed_and_marked_samples_take_their_cell_out(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    make(&r, (struct synthetic_plan){.scenarios = 3, .blocks = 2, .threads = 1, .rounds = 7, .noise = 0.01, .seed = 4});
    struct sample *failed = &r.samples[1], *marked = &r.samples[3 + 2], *base = &r.samples[6 + 0], *empty = &r.samples[9 + 1];
    failed->failed = true;
    sample_set_error(failed, "/mnt/x: Input/output error");
    strcpy(marked->mark, "served-bytes");
    strcpy(base->mark, "cache-not-cold");
    empty->bytes = 0;
    compare_one(&c, &list, NULL);
    const struct compare_cell *cell = cell_of(&c, failed);
    assert_int_equal(cell->series[1].state, COMPARE_FAILED);
    assert_string_equal(cell->series[1].why, "/mnt/x: Input/output error");
    assert_int_equal(cell->series[1].bad_count, 1);
    assert_int_equal(cell->series[1].sample_count, 7);
    assert_int_equal(cell->series[1].run_count, 0);
    assert_false(cell->ratios[1].present);
    assert_true(cell->ratios[2].present);
    cell = cell_of(&c, marked);
    assert_int_equal(cell->series[2].state, COMPARE_MARKED);
    assert_false(cell->ratios[2].present);
    cell = cell_of(&c, base); /* the baseline's: nobody has a ratio */
    assert_false(cell->ratios[1].present || cell->ratios[2].present);
    assert_int_equal(cell->series[1].state, COMPARE_MEASURED);
    cell = cell_of(&c, empty);
    assert_int_equal(cell->series[1].state, COMPARE_MARKED);
    assert_int_equal(c.means[0].ratios[1].cells, 8 - 3);
    assert_int_equal(c.means[0].ratios[2].cells, 8 - 2);
    assert_int_equal(c.means[0].ratios[1].rounds, 7);
    assert_int_equal(c.arms[1].cells[COMPARE_FAILED], 1);
    assert_int_equal(c.arms[1].cells[COMPARE_MARKED], 1);
    compare_fini(&c);
    result_fini(&r);
}

static void an_interrupted_round_counts_where_it_is_complete(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    make(&r, (struct synthetic_plan){.scenarios = 2, .blocks = 2, .threads = 1, .rounds = 7, .noise = 0.01, .seed = 5});
    r.sample_count -= 5; /* the last three cells of the last round; one has the baseline's run only */
    compare_one(&c, &list, NULL);
    assert_int_equal(c.means[0].ratios[1].rounds, 6);
    assert_int_equal(c.cells[0].ratios[1].rounds, 7);
    assert_int_equal(cell_of(&c, &r.samples[r.sample_count - 1])->ratios[1].rounds, 6);
    compare_fini(&c);
    result_fini(&r);
}

static void few_rounds_have_a_range_only(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    for (uint32_t rounds = 1; rounds <= 6; rounds++) {
        struct comparison c;
        make(&r, (struct synthetic_plan){.scenarios = 2, .blocks = 1, .threads = 1, .rounds = rounds, .loss = 0.5, .noise = 0.01, .seed = 6});
        compare_one(&c, &list, NULL);
        assert_int_equal(c.means[0].ratios[1].rate.interval, rounds == 6);
        assert_int_equal(c.means[0].ratios[1].verdict, rounds == 6 ? VERDICT_SLOWER : VERDICT_NONE);
        assert_int_equal(c.arms[1].verdicts[VERDICT_NONE], rounds == 6 ? 0 : 4);
        assert_near(percent(&c.means[0].ratios[1].rate), 50, 2);
        compare_fini(&c);
        result_fini(&r);
    }
}

static void a_round_that_was_repeated_counts_once(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    make(&r, (struct synthetic_plan){.scenarios = 2, .blocks = 1, .threads = 1, .rounds = 6, .seed = 7});
    struct sample again = r.samples[1];
    r.samples[1].failed = true; /* it failed, and was run again later */
    *result_add_sample(&r) = again;
    compare_one(&c, &list, NULL);
    assert_int_equal(cell_of(&c, &again)->ratios[1].rounds, 6);
    compare_fini(&c);
    result_fini(&r);
}

static void different_results_have_no_pairs(void **unused)
{
    (void)unused;
    static struct result a, b;
    const struct result *list[] = {&a, &b};
    struct comparison c;
    char why[256];
    make(&a, (struct synthetic_plan){.scenarios = 2, .blocks = 1, .threads = 2, .rounds = 10, .noise = 0.02, .seed = 8});
    make(&b, (struct synthetic_plan){.scenarios = 1, .blocks = 1, .threads = 2, .rounds = 8, .noise = 0.02, .seed = 9});
    for (size_t i = 0; i < b.sample_count; i++)
        b.samples[i].elapsed_ns = b.samples[i].elapsed_ns * 10 / 8;
    strcpy(b.label, "today");
    assert_int_equal(compare_init(&c, list, 2, NULL, why, sizeof why), 0);
    assert_int_equal(c.arm_count, 3);
    assert_string_equal(c.arms[2].name, "today:bare");
    assert_true(c.arms[1].paired);
    assert_false(c.arms[2].paired);
    assert_near(percent(&c.means[0].ratios[2].rate), 80, 2);
    assert_true(c.means[0].ratios[2].rate.interval);
    assert_int_equal(c.means[0].ratios[2].verdict, VERDICT_SLOWER);
    compare_fini(&c);
    b.label[0] = '\0';
    assert_int_equal(compare_init(&c, list, 2, "bare#2", why, sizeof why), 0);
    assert_int_equal(c.baseline, 2);
    assert_near(percent(&c.means[0].ratios[0].rate), 125, 3);
    compare_fini(&c);
    assert_true(compare_init(&c, list, 2, "bear", why, sizeof why) != 0);
    assert_non_null(strstr(why, "bare, bare-net, bare#2"));
    result_fini(&a);
    result_fini(&b);
}

static void a_result_without_samples_is_no_crash(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    make(&r, (struct synthetic_plan){.scenarios = 2, .blocks = 1, .threads = 1, .rounds = 0, .seed = 1});
    compare_one(&c, &list, NULL);
    assert_int_equal(c.cell_count, 0);
    assert_false(c.means[0].ratios[1].present);
    compare_fini(&c);
    result_fini(&r);
}

static void fifty_thousand_samples_take_less_than_a_second(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    make(&r, (struct synthetic_plan){.scenarios = 5, .blocks = 10, .threads = 5, .rounds = INSTRUMENTED ? 5 : 50, .noise = 0.02, .seed = 10});
    int64_t start = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    compare_one(&c, &list, NULL);
    int64_t spent = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
    print_message("%zu samples compared in %.3f s of CPU time\n", r.sample_count, (double)spent / 1e9);
    assert_true(INSTRUMENTED || spent < NS_PER_S);
    compare_fini(&c);
    result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_articles_figures),
        cmocka_unit_test(a_noisier_side_is_marked),
        cmocka_unit_test(known_losses_are_found),
        cmocka_unit_test(changing_sides_gives_the_exact_reciprocal),
        cmocka_unit_test(means_are_made_round_by_round),
        cmocka_unit_test(failed_and_marked_samples_take_their_cell_out),
        cmocka_unit_test(an_interrupted_round_counts_where_it_is_complete),
        cmocka_unit_test(few_rounds_have_a_range_only),
        cmocka_unit_test(a_round_that_was_repeated_counts_once),
        cmocka_unit_test(different_results_have_no_pairs),
        cmocka_unit_test(a_result_without_samples_is_no_crash),
        cmocka_unit_test(fifty_thousand_samples_take_less_than_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
