/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/histogram.h"

#include <string.h>

#include "common/check.h"

#define SUB_SLOTS (UINT64_C(1) << HISTOGRAM_SUB_BITS)
#define VALUE_LIMIT (UINT64_C(1) << HISTOGRAM_VALUE_BITS)

void histogram_init(struct histogram *h)
{
    memset(h, 0, sizeof *h);
    h->min_ns = UINT64_MAX;
}

uint32_t histogram_slot(uint64_t value_ns)
{
    if (value_ns < SUB_SLOTS)
        return (uint32_t)value_ns;
    if (value_ns >= VALUE_LIMIT)
        value_ns = VALUE_LIMIT - 1;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value_ns) - HISTOGRAM_SUB_BITS;
    return (uint32_t)((shift << HISTOGRAM_SUB_BITS) + (value_ns >> shift));
}

uint64_t histogram_slot_value(uint32_t slot)
{
    CHECK(slot < HISTOGRAM_SLOTS);
    if (slot < 2 * SUB_SLOTS)
        return slot;
    unsigned shift = (slot >> HISTOGRAM_SUB_BITS) - 1;
    uint64_t low = (SUB_SLOTS + (slot & (SUB_SLOTS - 1))) << shift;
    return low + (UINT64_C(1) << shift) / 2;
}

void histogram_record(struct histogram *h, int64_t value_ns)
{
    uint64_t value = value_ns < 0 ? 0 : (uint64_t)value_ns;
    /* Whole for a reader in another thread (histogram_peek); not more than that, which would cost. */
    uint64_t *slot = &h->slots[histogram_slot(value)];
    __atomic_store_n(slot, *slot + 1, __ATOMIC_RELAXED);
    h->count++;
    h->sum_ns += value;
    if (value < h->min_ns)
        h->min_ns = value;
    if (value > h->max_ns)
        h->max_ns = value;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++)
        to->slots[i] += from->slots[i];
    to->count += from->count;
    to->sum_ns += from->sum_ns;
    if (from->min_ns < to->min_ns)
        to->min_ns = from->min_ns;
    if (from->max_ns > to->max_ns)
        to->max_ns = from->max_ns;
}

uint64_t histogram_percentile(const struct histogram *h, double share)
{
    if (h->count == 0)
        return 0;
    double exact = share * (double)h->count;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact || rank == 0)
        rank++;
    if (rank >= h->count)
        return h->max_ns;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        seen += h->slots[i];
        if (seen >= rank) {
            uint64_t value = histogram_slot_value(i);
            /* The middle of a slot may lie outside of what was seen. */
            return value < h->min_ns ? h->min_ns : value > h->max_ns ? h->max_ns : value;
        }
    }
    return h->max_ns;
}

void histogram_summarize(const struct histogram *h, struct latency_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    if (h->count == 0)
        return;
    summary->min_ns = h->min_ns;
    summary->mean_ns = h->sum_ns / h->count;
    summary->p50_ns = histogram_percentile(h, 0.5);
    summary->p90_ns = histogram_percentile(h, 0.9);
    summary->p99_ns = histogram_percentile(h, 0.99);
    summary->p999_ns = histogram_percentile(h, 0.999);
    summary->p9999_ns = histogram_percentile(h, 0.9999);
    summary->max_ns = h->max_ns;
}

uint64_t histogram_peek(const struct histogram *h, uint64_t *slots)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        uint64_t in_slot = __atomic_load_n(&h->slots[i], __ATOMIC_RELAXED);
        slots[i] += in_slot;
        count += in_slot;
    }
    return count;
}
