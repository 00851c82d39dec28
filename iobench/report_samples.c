/* SPDX-License-Identifier: Apache-2.0
 *
 * What the report shows of single samples: the time series, and latencies as medians over a cell's runs. The same samples count
 * as in compare.c: none that failed or is marked.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/check.h"
#include "iobench/report_parts.h"

struct place {
    const struct sample *sample;
    size_t arm, cell;
};

static struct place *places; /* by cell, arm, start */
static size_t place_count;

static int cell_order(const struct sample *s, const struct compare_cell *cell)
{
    if (s->test != cell->test)
        return s->test < cell->test ? -1 : 1;
    if (s->block_bytes != cell->block_bytes)
        return s->block_bytes < cell->block_bytes ? -1 : 1;
    return (s->threads > cell->threads) - (s->threads < cell->threads);
}

static size_t find_cell(const struct comparison *c, const struct sample *s)
{
    size_t low = 0, high = c->cell_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = cell_order(s, &c->cells[middle]);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return c->cell_count;
}

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int64_t p = x->sample->start_wall_ns, q = y->sample->start_wall_ns;
    if (p != q)
        return p < q ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int by_cell(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    if (x->arm != y->arm)
        return x->arm < y->arm ? -1 : 1;
    return by_start(a, b);
}

/* Millions of bytes a second, or operations where nothing is moved. */
static double rate_of(const struct sample *s)
{
    bool operations = test_kind_counts_operations(s->test);
    return (double)(operations ? s->operations : s->bytes) / (double)s->elapsed_ns * (operations ? 1e9 : 1e3);
}

static bool counts(const struct sample *s)
{
    return !s->failed && !s->mark[0] && s->elapsed_ns > 0 && rate_of(s) > 0;
}

void report_samples_begin(const struct comparison *c)
{
    size_t total = 0, arm = 0;
    for (size_t i = 0; i < c->result_count; i++)
        total += c->results[i]->sample_count;
    places = check_alloc(malloc((total + 1) * sizeof *places));
    place_count = 0;
    for (size_t i = 0; i < c->result_count; i++) {
        const struct result *r = c->results[i];
        for (size_t s = 0; s < r->sample_count; s++)
            if (counts(&r->samples[s]))
                places[place_count++] =
                    (struct place){&r->samples[s], arm + r->samples[s].scenario, find_cell(c, &r->samples[s])};
        arm += r->scenario_count;
    }
    qsort(places, place_count, sizeof *places, by_cell);
}

void report_samples_end(void)
{
    free(places);
    places = NULL;
    place_count = 0;
}

void report_samples_print(FILE *out, const struct comparison *c)
{
    (void)c;
    struct place *ordered = check_alloc(malloc((place_count + 1) * sizeof *ordered));
    size_t count = 0;
    for (size_t i = 0; i < place_count; i++)
        if (places[i].sample->start_wall_ns > 0)
            ordered[count++] = places[i];
    qsort(ordered, count, sizeof *ordered, by_start);
    fputc('[', out);
    for (size_t i = 0; i < count; i++) {
        const struct sample *s = ordered[i].sample;
        fprintf(out, "%s[%zu,%zu,%" PRId64 ",%.9g]", i ? "," : "", ordered[i].arm, ordered[i].cell,
                (s->start_wall_ns - ordered[0].sample->start_wall_ns) / 1000000,
                rate_of(s));
    }
    fputc(']', out);
    free(ordered);
}

static void print_median(FILE *out, const char *name, const struct place *first, size_t count, size_t offset, double *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)*(const uint64_t *)(const void *)((const char *)first[i].sample + offset);
    fprintf(out, "%s%.9g", name, statistics_median(values, count) / 1e3);
}

void report_latency_print(FILE *out, const struct comparison *c, const struct compare_cell *cell, size_t arm)
{
    struct place key = {.arm = arm, .cell = (size_t)(cell - c->cells)};
    size_t low = 0, high = place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct place *p = &places[middle];
        if (p->cell < key.cell || (p->cell == key.cell && p->arm < key.arm))
            low = middle + 1;
        else
            high = middle;
    }
    size_t count = 0;
    while (low + count < place_count && places[low + count].cell == key.cell && places[low + count].arm == arm)
        count++;
    if (count == 0 || places[low].sample->latency.max_ns == 0) {
        fputs("null", out);
        return;
    }
    double *values = check_alloc(malloc(count * sizeof *values));
    print_median(out, "[", places + low, count, offsetof(struct sample, latency.p50_ns), values);
    print_median(out, ",", places + low, count, offsetof(struct sample, latency.p90_ns), values);
    print_median(out, ",", places + low, count, offsetof(struct sample, latency.p99_ns), values);
    print_median(out, ",", places + low, count, offsetof(struct sample, latency.p999_ns), values);
    print_median(out, ",", places + low, count, offsetof(struct sample, latency.p9999_ns), values);
    print_median(out, ",", places + low, count, offsetof(struct sample, latency.max_ns), values);
    fputc(']', out);
    free(values);
}
