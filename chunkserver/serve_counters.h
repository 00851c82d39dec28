/* SPDX-License-Identifier: Apache-2.0
 *
 * What was served since the process started; the counters of the wire schema, counted by any thread. Reads that clients do without
 * asking are counted by them in memory that they share, and belong to the sum.
 *
 * Zeroed memory is a good start; any thread may call any function.
 */
#ifndef CALF_SERVE_COUNTERS_H
#define CALF_SERVE_COUNTERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "common/shared_memory.h"
#include "common/wire.h"

/* One client's reads; the memory of whoever adds it. */
struct serve_reads {
    struct serve_reads *next;
    const struct shared_reads *shared;
};

struct serve_counters {
#define SERVE_COUNTER(kind, name, limit, meaning) _Atomic uint64_t name;
    WIRE_FIELDS_counters(SERVE_COUNTER)
#undef SERVE_COUNTER
    pthread_mutex_t reads_lock;
    struct serve_reads *reads;
};

#define serve_count(counters, name, n)                                                                               \
    ((void)atomic_fetch_add_explicit(&(counters)->name, (uint64_t)(n), memory_order_relaxed))

struct wire_counters serve_counters_read(const struct serve_counters *counters);

/* reads->shared counts from now on, until it is removed; then what it has come to is kept in the sum. */
void serve_counters_add_reads(struct serve_counters *counters, struct serve_reads *reads);
void serve_counters_remove_reads(struct serve_counters *counters, struct serve_reads *reads);

#endif
