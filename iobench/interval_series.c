/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/interval_series.h"

void interval_series_init(struct interval_series *series, int64_t interval_ns)
{
    series->interval_ns = series->next_ns = interval_ns;
    series->seen_operations = 0;
    series->count = 0;
}

static void join_pairs(struct interval_series *series)
{
    for (uint32_t i = 0; i < series->count / 2; i++) {
        const struct sample_interval *a = &series->pieces[2 * i], *b = a + 1;
        series->pieces[i] = (struct sample_interval){b->end_ns, a->operations + b->operations};
    }
    series->count /= 2;
    series->interval_ns *= 2;
}

static void add(struct interval_series *series, int64_t end_ns, uint64_t operations)
{
    if (series->count == RESULT_INTERVALS)
        join_pairs(series);
    series->pieces[series->count++] = (struct sample_interval){end_ns, operations - series->seen_operations};
    series->seen_operations = operations;
}

void interval_series_look(struct interval_series *series, int64_t now_ns, uint64_t operations)
{
    if (series->interval_ns == 0 || now_ns < series->next_ns)
        return;
    add(series, now_ns, operations);
    /* In step with the beginning, not with when we happened to look. */
    series->next_ns = (now_ns / series->interval_ns + 1) * series->interval_ns;
}

void interval_series_end(struct interval_series *series, int64_t end_ns, uint64_t operations)
{
    if (series->interval_ns == 0 || series->count == 0)
        return;
    struct sample_interval *last = &series->pieces[series->count - 1];
    if (end_ns > last->end_ns) {
        add(series, end_ns, operations);
        return;
    }
    /* A look after the end, before we knew of it. */
    last->end_ns = end_ns;
    last->operations += operations - series->seen_operations;
    series->seen_operations = operations;
}
