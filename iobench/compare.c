/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/compare.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/scope.h"
#include "common/units.h"
#include "iobench/text_print.h"

/* A sample with what it is sorted by: cell, arm, round, place in the file. */
struct entry {
    const struct sample *sample;
    size_t arm, order;
};

static int order_of(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int cell_order(const struct sample *a, const struct sample *b)
{
    int order = order_of(a->test, b->test);
    if (order == 0)
        order = order_of(a->block_bytes, b->block_bytes);
    return order ? order : order_of(a->threads, b->threads);
}

static int entry_order(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = cell_order(x->sample, y->sample);
    if (order == 0)
        order = order_of(x->arm, y->arm);
    if (order == 0)
        order = order_of(x->sample->round, y->sample->round);
    return order ? order : order_of(x->order, y->order);
}

static bool name_taken(const struct comparison *c, size_t before, const char *name)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(c->arms[i].name, name) == 0)
            return true;
    return false;
}

/* "bare", or "today:bare" if an earlier result has a "bare", or "bare#2" if the labels do not help. */
static void name_arm(const struct comparison *c, size_t index)
{
    struct compare_arm *arm = &c->arms[index];
    const char *name = arm->result->scenarios[arm->scenario].name;
    (void)snprintf(arm->name, sizeof arm->name, "%s", name);
    if (arm->result->label[0] && name_taken(c, index, arm->name))
        (void)snprintf(arm->name, sizeof arm->name, "%s:%s", arm->result->label, name);
    for (size_t n = 2; name_taken(c, index, arm->name); n++)
        (void)snprintf(arm->name, sizeof arm->name, "%s#%zu", name, n);
}

static void make_arms(struct comparison *c)
{
    for (size_t i = 0; i < c->result_count; i++)
        c->arm_count += c->results[i]->scenario_count;
    c->arms = check_alloc(calloc(c->arm_count + 1, sizeof *c->arms));
    size_t index = 0;
    for (size_t i = 0; i < c->result_count; i++) {
        size_t first = index;
        for (uint32_t s = 0; s < c->results[i]->scenario_count; s++, index++) {
            c->arms[index] = (struct compare_arm){.result = c->results[i], .scenario = s, .reference = first};
            c->arms[index].noise = c->results[i]->scenarios[s].a_a_arm;
            name_arm(c, index);
        }
    }
}

/* The arm to compare with; arm_count if there is none. */
static size_t find_baseline(const struct comparison *c, const char *name)
{
    bool csv = c->results[0]->earlier_figures;
    const char *wanted = name ? name : csv ? "bare" : NULL;
    for (size_t i = 0; wanted && i < c->arm_count; i++)
        if (!c->arms[i].noise && strcmp(c->arms[i].name, wanted) == 0)
            return i;
    return name ? c->arm_count : 0;
}

static int choose_baseline(struct comparison *c, const char *name, char *why, size_t why_bytes)
{
    c->baseline = find_baseline(c, name);
    if (c->baseline >= c->arm_count) {
        char names[256] = "";
        for (size_t i = 0, used = 0; i < c->arm_count && used < sizeof names; used = strlen(names), i++)
            if (!c->arms[i].noise)
                text_print(names + used, sizeof names - used, "%s%s", used ? ", " : "", c->arms[i].name);
        text_print(why, why_bytes, "no deployment is named '%.100s'; there are: %s", name ? name : "", names);
        return -EINVAL;
    }
    for (size_t i = 0; i < c->arm_count; i++) {
        struct compare_arm *arm = &c->arms[i];
        if (!arm->noise)
            arm->reference = c->baseline;
        arm->paired = arm->result == c->arms[arm->reference].result && !arm->result->earlier_figures;
    }
    return 0;
}

/* All samples, sorted. *count of them; the caller frees. */
static struct entry *sorted_entries(const struct comparison *c, size_t *count)
{
    size_t total = 0, used = 0, arm = 0;
    for (size_t i = 0; i < c->result_count; i++)
        total += c->results[i]->sample_count;
    struct entry *entries = check_alloc(malloc((total + 1) * sizeof *entries));
    for (size_t i = 0; i < c->result_count; i++) {
        const struct result *r = c->results[i];
        for (size_t s = 0; s < r->sample_count; s++, used++)
            entries[used] = (struct entry){.sample = &r->samples[s], .arm = arm + r->samples[s].scenario, .order = used};
        arm += r->scenario_count;
    }
    qsort(entries, total, sizeof *entries, entry_order);
    *count = total;
    return entries;
}

static void make_cells(struct comparison *c, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        c->cell_count += i == 0 || cell_order(entries[i - 1].sample, entries[i].sample) != 0;
    c->cells = check_alloc(calloc(c->cell_count + 1, sizeof *c->cells));
    for (size_t i = 0, cell = 0; i < count; i++) {
        const struct sample *sample = entries[i].sample;
        if (i > 0 && cell_order(entries[i - 1].sample, sample) == 0)
            continue;
        struct compare_cell *new = &c->cells[cell++];
        *new = (struct compare_cell){.test = sample->test, .block_bytes = sample->block_bytes, .threads = sample->threads};
        new->series = check_alloc(calloc(c->arm_count, sizeof *new->series));
        new->ratios = check_alloc(calloc(c->arm_count, sizeof *new->ratios));
        for (size_t a = 0; a < c->arm_count; a++)
            new->series[a].state = COMPARE_MISSING;
    }
}

/* CPU time is a whole number of nanoseconds in a file; here too, so that a result gives the same table before and after
 * it was written. */
static struct compare_run reduce(const struct sample *sample)
{
    double seconds = (double)sample->elapsed_ns / 1e9;
    double cpu = (double)llround(sample->cpu.machine_busy_s * 1e9) / 1e9;
    bool operations = test_kind_counts_operations(sample->test);
    struct compare_run run = {.round = sample->round, .cpu_known = cpu > 0 && !operations};
    run.log[COMPARE_RATE] = log((double)(operations ? sample->operations : sample->bytes) / seconds);
    if (run.cpu_known)
        run.log[COMPARE_CPU] = log(cpu / ((double)sample->bytes / (double)GIB));
    return run;
}

/* Why no rate may be taken from the sample, and how bad that is; NULL if one may. */
static const char *trouble(const struct sample *sample, enum compare_state *state)
{
    *state = COMPARE_MARKED;
    if (sample->failed) {
        *state = COMPARE_FAILED;
        return sample->error ? sample->error : "a worker failed";
    }
    if (sample->mark[0])
        return sample->mark;
    uint64_t done = test_kind_counts_operations(sample->test) ? sample->operations : sample->bytes;
    return done == 0 || sample->elapsed_ns <= 0 ? "nothing-moved" : NULL;
}

static void finish_series(struct compare_series *series)
{
    if (series->state != COMPARE_MEASURED) {
        series->runs = NULL;
        series->run_count = 0;
        return;
    }
    SCOPE_FREE double *values = check_alloc(malloc(series->run_count * sizeof *values));
    for (size_t i = 0; i < series->run_count; i++)
        values[i] = exp(series->runs[i].log[COMPARE_RATE]);
    series->rate_median = statistics_median(values, series->run_count);
    series->cpu_known = true;
    for (size_t i = 0; i < series->run_count; i++) {
        series->cpu_known = series->cpu_known && series->runs[i].cpu_known;
        values[i] = exp(series->runs[i].log[COMPARE_CPU]);
    }
    series->cpu_median = series->cpu_known ? statistics_median(values, series->run_count) : 0;
}

/* One series from its entries. Of two samples of one round the later one counts. Runs go to `runs`; returns how many. */
static size_t fill_series(struct compare_series *series, const struct entry *entries, size_t count, struct compare_run *runs)
{
    *series = (struct compare_series){.state = COMPARE_MEASURED, .runs = runs};
    for (size_t i = 0; i < count; i++) {
        const struct sample *sample = entries[i].sample;
        if (i + 1 < count && entries[i + 1].sample->round == sample->round)
            continue;
        enum compare_state state;
        const char *why = trouble(sample, &state);
        series->sample_count++;
        if (!why) {
            runs[series->run_count++] = reduce(sample);
            continue;
        }
        series->bad_count++;
        if (series->state < state) {
            series->state = state;
            series->why = why;
        }
    }
    size_t used = series->run_count;
    finish_series(series);
    return used;
}

static void fill_cells(struct comparison *c, const struct entry *entries, size_t count)
{
    c->runs = check_alloc(malloc((count + 1) * sizeof *c->runs));
    size_t used = 0, cell = 0;
    for (size_t start = 0, end; start < count; start = end) {
        if (start > 0 && cell_order(entries[start - 1].sample, entries[start].sample) != 0)
            cell++;
        size_t arm = entries[start].arm;
        for (end = start + 1; end < count && entries[end].arm == arm; end++)
            if (cell_order(entries[end].sample, entries[start].sample) != 0)
                break;
        struct compare_series *series = &c->cells[cell].series[arm];
        used += fill_series(series, entries + start, end - start, c->runs + used);
        c->cpu_known = c->cpu_known || series->cpu_known;
        if (series->run_count > c->most_rounds)
            c->most_rounds = series->run_count;
        if (entries[end - 1].sample->round >= c->round_bound)
            c->round_bound = entries[end - 1].sample->round + 1;
    }
}

int compare_init(struct comparison *c, const struct result *const *results, size_t count, const char *baseline, char *why,
                 size_t why_bytes)
{
    *c = (struct comparison){.results = results, .result_count = count};
    make_arms(c);
    int error = choose_baseline(c, baseline, why, why_bytes);
    if (error != 0) {
        compare_fini(c);
        return error;
    }
    size_t entry_count;
    SCOPE_FREE struct entry *entries = sorted_entries(c, &entry_count);
    make_cells(c, entries, entry_count);
    fill_cells(c, entries, entry_count);
    compare_ratios_fill(c);
    return 0;
}

void compare_fini(struct comparison *c)
{
    for (size_t i = 0; i < c->cell_count; i++) {
        free(c->cells[i].series);
        free(c->cells[i].ratios);
    }
    for (size_t i = 0; i < c->mean_count; i++) {
        free(c->means[i].ratios);
        free(c->means[i].cpu);
    }
    free(c->arms);
    free(c->cells);
    free(c->means);
    free(c->runs);
}

bool compare_is_candidate(const struct comparison *c, size_t arm)
{
    return arm != c->baseline && !c->arms[arm].noise;
}
