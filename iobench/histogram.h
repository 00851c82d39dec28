/* SPDX-License-Identifier: Apache-2.0
 *
 * Latencies in a log-linear histogram, as HdrHistogram lays it out: values below 128 ns have a slot each, above
 * that every power of two is cut into 128 slots. A percentile is the middle of its slot, so it is at most 1/256
 * (0.4%) away from the true value; minimum, maximum and mean are exact. Values from 2^42 ns (73 minutes) on
 * share the last slot. The size is fixed, recording neither allocates nor locks, and histograms of several
 * workers add up. Each histogram has one thread at a time.
 */
#ifndef CALF_IOBENCH_HISTOGRAM_H
#define CALF_IOBENCH_HISTOGRAM_H

#include <stdint.h>

#include "iobench/result.h"

enum {
    HISTOGRAM_SUB_BITS = 7,
    HISTOGRAM_VALUE_BITS = 42,
    HISTOGRAM_SLOTS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS
};

struct histogram {
    uint64_t count, sum_ns, min_ns, max_ns;
    uint64_t slots[HISTOGRAM_SLOTS];
};

void histogram_init(struct histogram *h);

/* The slot of a value, and the value in the middle of a slot. */
uint32_t histogram_slot(uint64_t value_ns);
uint64_t histogram_slot_value(uint32_t slot);

/* One more value. Negative ones (a clock that stepped back) count as 0. */
void histogram_record(struct histogram *h, int64_t value_ns);

/* Adds to `slots` (HISTOGRAM_SLOTS of them) what another thread has recorded so far; returns how many values. */
uint64_t histogram_peek(const struct histogram *h, uint64_t *slots);

/* Adds all of `from` to `to`. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* The smallest recorded value that `share` (0 to 1) of all values do not exceed; 0 when nothing was recorded. */
uint64_t histogram_percentile(const struct histogram *h, double share);

/* All the figures that a sample holds; all 0 when nothing was recorded. */
void histogram_summarize(const struct histogram *h, struct latency_summary *summary);

#endif
