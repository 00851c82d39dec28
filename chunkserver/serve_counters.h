/* SPDX-License-Identifier: Apache-2.0
 *
 * What was served since the process started; the counters of the wire schema, counted by any thread.
 */
#ifndef CALF_SERVE_COUNTERS_H
#define CALF_SERVE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/wire.h"

struct serve_counters {
#define SERVE_COUNTER(kind, name, limit, meaning) _Atomic uint64_t name;
    WIRE_FIELDS_counters(SERVE_COUNTER)
#undef SERVE_COUNTER
};

#define serve_count(counters, name, n)                                                                               \
    ((void)atomic_fetch_add_explicit(&(counters)->name, (uint64_t)(n), memory_order_relaxed))

static inline struct wire_counters serve_counters_read(const struct serve_counters *counters)
{
    struct wire_counters now;
#define SERVE_COUNTER(kind, name, limit, meaning)                                                                    \
    now.name = atomic_load_explicit(&((struct serve_counters *)(uintptr_t)counters)->name, memory_order_relaxed);
    WIRE_FIELDS_counters(SERVE_COUNTER)
#undef SERVE_COUNTER
    return now;
}

#endif
