/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps a repeating trouble from filling the log: a gate opens at most once in ten seconds. Any thread.
 */
#ifndef CALF_LOG_GATE_H
#define CALF_LOG_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

struct log_gate {
    _Atomic int64_t next_ns; /* monotonic; 0 at the start: open */
};

/* True for one caller in ten seconds: that one writes the line. Does not block. */
static inline bool log_gate_open(struct log_gate *gate)
{
    int64_t now = clock_mono_ns(), next = atomic_load(&gate->next_ns);
    return now >= next && atomic_compare_exchange_strong(&gate->next_ns, &next, now + 10 * NS_PER_S);
}

#endif
