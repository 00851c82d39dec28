/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/serve_counters.h"

#include "common/check.h"
#include "common/scope.h"

static uint64_t load(const _Atomic uint64_t *value)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)value, memory_order_relaxed);
}

struct wire_counters serve_counters_read(const struct serve_counters *counters)
{
    struct wire_counters now;
    SCOPE_UNLOCK((pthread_mutex_t *)(uintptr_t)&counters->reads_lock);
#define SERVE_COUNTER(kind, name, limit, meaning) now.name = load(&counters->name);
    WIRE_FIELDS_counters(SERVE_COUNTER)
#undef SERVE_COUNTER
    for (const struct serve_reads *r = counters->reads; r; r = r->next) {
        now.read_bytes += load(&r->shared->bytes);
        now.read_requests += load(&r->shared->requests);
    }
    return now;
}

void serve_counters_add_reads(struct serve_counters *counters, struct serve_reads *reads)
{
    SCOPE_UNLOCK(&counters->reads_lock);
    reads->next = counters->reads;
    counters->reads = reads;
}

void serve_counters_remove_reads(struct serve_counters *counters, struct serve_reads *reads)
{
    SCOPE_UNLOCK(&counters->reads_lock);
    struct serve_reads **at = &counters->reads;
    while (*at != reads) {
        CHECK(*at);
        at = &(*at)->next;
    }
    *at = reads->next;
    serve_count(counters, read_bytes, load(&reads->shared->bytes));
    serve_count(counters, read_requests, load(&reads->shared->requests));
}
