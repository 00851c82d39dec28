/* SPDX-License-Identifier: Apache-2.0
 *
 * The second half of building a comparison: ratios of cells, geometric means, verdicts and marks.
 */
#include <math.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/scope.h"
#include "iobench/compare.h"

/* Room for one value, one sum and one count for each round, used again for every ratio. */
struct scratch {
    double *ours, *theirs;
    double *sums;
    size_t *hits;
};

static const double false_discovery_rate = 0.05;
static const double noise_factor = 3;

/* Log ratios of the rounds that both sides have. */
static size_t pairs(const struct compare_series *ours, const struct compare_series *theirs, enum compare_metric metric,
                    double *ratios)
{
    size_t count = 0;
    for (size_t i = 0, j = 0; i < ours->run_count && j < theirs->run_count;) {
        const struct compare_run *a = &ours->runs[i], *b = &theirs->runs[j];
        if (a->round == b->round)
            ratios[count++] = a->log[metric] - b->log[metric];
        i += a->round <= b->round;
        j += b->round <= a->round;
    }
    return count;
}

static size_t logs(const struct compare_series *series, enum compare_metric metric, double *values)
{
    for (size_t i = 0; i < series->run_count; i++)
        values[i] = series->runs[i].log[metric];
    return series->run_count;
}

static struct statistics_estimate cell_estimate(const struct compare_series *ours, const struct compare_series *theirs,
                                                bool paired, enum compare_metric metric, struct scratch *s)
{
    if (paired)
        return statistics_paired(s->ours, pairs(ours, theirs, metric, s->ours));
    size_t our_count = logs(ours, metric, s->ours);
    return statistics_unpaired(s->ours, our_count, s->theirs, logs(theirs, metric, s->theirs));
}

/* Says whether one side scatters far more than the other: the reader should then trust neither side's usual noise. */
static bool unequal_noise(const struct compare_series *ours, const struct compare_series *theirs, struct scratch *s)
{
    if (ours->run_count < STATISTICS_MIN_ROUNDS || theirs->run_count < STATISTICS_MIN_ROUNDS)
        return false;
    double our_spread = statistics_spread(s->ours, logs(ours, COMPARE_RATE, s->ours));
    double their_spread = statistics_spread(s->theirs, logs(theirs, COMPARE_RATE, s->theirs));
    return our_spread > noise_factor * their_spread || their_spread > noise_factor * our_spread;
}

static void fill_cell_ratio(const struct comparison *c, struct compare_cell *cell, size_t arm, struct scratch *s)
{
    struct compare_ratio *ratio = &cell->ratios[arm];
    const struct compare_series *ours = &cell->series[arm], *theirs = &cell->series[c->arms[arm].reference];
    bool paired = c->arms[arm].paired;
    ratio->state = ours->state > theirs->state ? ours->state : theirs->state;
    ratio->rate.p = ratio->cpu.p = 1;
    if (ratio->state != COMPARE_MEASURED)
        return;
    ratio->cells = 1;
    ratio->rate = cell_estimate(ours, theirs, paired, COMPARE_RATE, s);
    ratio->present = ratio->rate.count > 0;
    ratio->rounds = ratio->rate.count;
    if (!ratio->present)
        ratio->state = COMPARE_MISSING;
    ratio->verdict = statistics_verdict(&ratio->rate);
    ratio->noisier = ratio->present && unequal_noise(ours, theirs, s);
    if (ours->cpu_known && theirs->cpu_known)
        ratio->cpu = cell_estimate(ours, theirs, paired, COMPARE_CPU, s);
    ratio->cpu_present = ratio->cpu.count > 0;
}

bool compare_in_mean(const struct compare_mean *mean, const struct compare_cell *cell)
{
    switch (mean->axis) {
    case COMPARE_OVERALL:
        return true;
    case COMPARE_BY_TEST:
        return cell->test == mean->test;
    case COMPARE_BY_BLOCK:
        return cell->block_bytes == mean->block_bytes;
    case COMPARE_BY_THREADS:
        return cell->threads == mean->threads;
    }
    return false;
}

/* True if the cell takes part in the arm's mean of that metric. */
static bool takes_part(const struct compare_mean *mean, const struct compare_cell *cell, size_t arm, enum compare_metric metric)
{
    const struct compare_ratio *ratio = &cell->ratios[arm];
    return compare_in_mean(mean, cell) && (metric == COMPARE_RATE ? ratio->present : ratio->cpu_present);
}

/* The per-round means of what was added to s->sums, over the rounds that all `cells` cells have. Clears the sums. */
static size_t complete_rounds(const struct comparison *c, size_t cells, struct scratch *s, double *means)
{
    size_t count = 0;
    for (uint32_t round = 0; round < c->round_bound; round++) {
        if (cells > 0 && s->hits[round] == cells)
            means[count++] = s->sums[round] / (double)cells;
        s->hits[round] = 0;
        s->sums[round] = 0;
    }
    return count;
}

static struct statistics_estimate paired_mean(const struct comparison *c, const struct compare_mean *mean, size_t arm,
                                              enum compare_metric metric, struct scratch *s)
{
    size_t cells = 0;
    for (size_t i = 0; i < c->cell_count; i++) {
        const struct compare_cell *cell = &c->cells[i];
        if (!takes_part(mean, cell, arm, metric))
            continue;
        const struct compare_series *ours = &cell->series[arm], *theirs = &cell->series[c->arms[arm].reference];
        cells++;
        for (size_t a = 0, b = 0; a < ours->run_count && b < theirs->run_count;) {
            const struct compare_run *x = &ours->runs[a], *y = &theirs->runs[b];
            if (x->round == y->round) {
                s->sums[x->round] += x->log[metric] - y->log[metric];
                s->hits[x->round]++;
            }
            a += x->round <= y->round;
            b += y->round <= x->round;
        }
    }
    return statistics_paired(s->ours, complete_rounds(c, cells, s, s->ours));
}

/* One side's per-round means for a comparison without pairs. */
static size_t side_means(const struct comparison *c, const struct compare_mean *mean, size_t arm, size_t side,
                         enum compare_metric metric, struct scratch *s, double *means)
{
    size_t cells = 0;
    for (size_t i = 0; i < c->cell_count; i++) {
        if (!takes_part(mean, &c->cells[i], arm, metric))
            continue;
        const struct compare_series *series = &c->cells[i].series[side];
        cells++;
        for (size_t r = 0; r < series->run_count; r++) {
            s->sums[series->runs[r].round] += series->runs[r].log[metric];
            s->hits[series->runs[r].round]++;
        }
    }
    return complete_rounds(c, cells, s, means);
}

static struct statistics_estimate unpaired_mean(const struct comparison *c, const struct compare_mean *mean, size_t arm,
                                                enum compare_metric metric, struct scratch *s)
{
    size_t our_count = side_means(c, mean, arm, arm, metric, s, s->ours);
    size_t their_count = side_means(c, mean, arm, c->arms[arm].reference, metric, s, s->theirs);
    return statistics_unpaired(s->ours, our_count, s->theirs, their_count);
}

static void fill_mean_ratio(const struct comparison *c, struct compare_mean *mean, size_t arm, struct scratch *s)
{
    struct compare_ratio *ratio = &mean->ratios[arm];
    bool paired = c->arms[arm].paired;
    for (size_t i = 0; i < c->cell_count; i++)
        ratio->cells += takes_part(mean, &c->cells[i], arm, COMPARE_RATE);
    ratio->rate = paired ? paired_mean(c, mean, arm, COMPARE_RATE, s) : unpaired_mean(c, mean, arm, COMPARE_RATE, s);
    ratio->cpu = paired ? paired_mean(c, mean, arm, COMPARE_CPU, s) : unpaired_mean(c, mean, arm, COMPARE_CPU, s);
    ratio->present = ratio->rate.count > 0;
    ratio->cpu_present = ratio->cpu.count > 0;
    ratio->state = ratio->present ? COMPARE_MEASURED : COMPARE_MISSING;
    ratio->rounds = ratio->rate.count;
    ratio->verdict = statistics_verdict(&ratio->rate);
}

/* Geometric mean of the medians of CPU seconds per GiB, over the cells where it is known. */
static double mean_cpu(const struct comparison *c, const struct compare_mean *mean, size_t arm)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < c->cell_count; i++) {
        if (!compare_in_mean(mean, &c->cells[i]) || !c->cells[i].series[arm].cpu_known)
            continue;
        sum += log(c->cells[i].series[arm].cpu_median);
        count++;
    }
    return count ? exp(sum / (double)count) : 0;
}

static void add_mean(struct comparison *c, struct compare_mean mean)
{
    for (size_t i = 0; i < c->mean_count; i++) {
        const struct compare_mean *other = &c->means[i];
        if (other->axis == mean.axis && other->test == mean.test && other->block_bytes == mean.block_bytes &&
            other->threads == mean.threads)
            return;
    }
    c->means = check_alloc(realloc(c->means, (c->mean_count + 1) * sizeof *c->means));
    mean.ratios = check_alloc(calloc(c->arm_count, sizeof *mean.ratios));
    mean.cpu = check_alloc(calloc(c->arm_count, sizeof *mean.cpu));
    c->means[c->mean_count++] = mean;
}

static int mean_order(const void *a, const void *b)
{
    const struct compare_mean *x = a, *y = b;
    if (x->axis != y->axis)
        return x->axis > y->axis ? 1 : -1;
    if (x->test != y->test)
        return x->test > y->test ? 1 : -1;
    if (x->block_bytes != y->block_bytes)
        return x->block_bytes > y->block_bytes ? 1 : -1;
    return (x->threads > y->threads) - (x->threads < y->threads);
}

static void fill_means(struct comparison *c, struct scratch *s)
{
    add_mean(c, (struct compare_mean){.axis = COMPARE_OVERALL});
    for (size_t i = 0; i < c->cell_count; i++) {
        const struct compare_cell *cell = &c->cells[i];
        add_mean(c, (struct compare_mean){.axis = COMPARE_BY_TEST, .test = cell->test});
        add_mean(c, (struct compare_mean){.axis = COMPARE_BY_BLOCK, .block_bytes = cell->block_bytes});
        add_mean(c, (struct compare_mean){.axis = COMPARE_BY_THREADS, .threads = cell->threads});
    }
    qsort(c->means, c->mean_count, sizeof *c->means, mean_order);
    for (size_t m = 0; m < c->mean_count; m++) {
        for (size_t arm = 0; arm < c->arm_count; arm++) {
            c->means[m].cpu[arm] = mean_cpu(c, &c->means[m], arm);
            if (arm != c->baseline)
                fill_mean_ratio(c, &c->means[m], arm, s);
        }
    }
}

/* Over the cells of all candidates at once: they are what a reader looks through for something striking. */
static void mark_survivors(struct comparison *c)
{
    size_t room = c->cell_count * c->arm_count + 1, count = 0;
    SCOPE_FREE double *p = check_alloc(malloc(room * sizeof *p));
    SCOPE_FREE bool *survives = check_alloc(calloc(room, sizeof *survives));
    SCOPE_FREE struct compare_ratio **ratios = check_alloc(malloc(room * sizeof *ratios));
    for (size_t i = 0; i < c->cell_count; i++) {
        for (size_t arm = 0; arm < c->arm_count; arm++) {
            if (!compare_is_candidate(c, arm) || !c->cells[i].ratios[arm].present)
                continue;
            ratios[count] = &c->cells[i].ratios[arm];
            p[count] = ratios[count]->rate.p;
            count++;
        }
    }
    statistics_benjamini_hochberg(p, count, false_discovery_rate, survives);
    for (size_t i = 0; i < count; i++)
        ratios[i]->survives = survives[i];
    c->tested = count;
}

static void count_up(struct comparison *c, size_t arm)
{
    struct compare_arm *a = &c->arms[arm];
    bool any = false;
    for (size_t i = 0; i < c->cell_count; i++) {
        const struct compare_ratio *ratio = &c->cells[i].ratios[arm];
        a->cells[c->cells[i].series[arm].state]++;
        if (!ratio->present)
            continue;
        a->verdicts[ratio->verdict]++;
        a->survivors += ratio->survives;
        if (!any || ratio->rate.estimate < c->cells[a->worst].ratios[arm].rate.estimate)
            a->worst = i;
        if (!any || ratio->rate.estimate > c->cells[a->best].ratios[arm].rate.estimate)
            a->best = i;
        any = true;
    }
}

void compare_ratios_fill(struct comparison *c)
{
    size_t rounds = (size_t)c->round_bound + 1;
    SCOPE_FREE double *ours = check_alloc(malloc(rounds * sizeof *ours));
    SCOPE_FREE double *theirs = check_alloc(malloc(rounds * sizeof *theirs));
    SCOPE_FREE double *sums = check_alloc(calloc(rounds, sizeof *sums));
    SCOPE_FREE size_t *hits = check_alloc(calloc(rounds, sizeof *hits));
    struct scratch scratch = {.ours = ours, .theirs = theirs, .sums = sums, .hits = hits};
    for (size_t i = 0; i < c->cell_count; i++)
        for (size_t arm = 0; arm < c->arm_count; arm++)
            if (arm != c->baseline)
                fill_cell_ratio(c, &c->cells[i], arm, &scratch);
    fill_means(c, &scratch);
    mark_survivors(c);
    for (size_t arm = 0; arm < c->arm_count; arm++)
        count_up(c, arm);
}
