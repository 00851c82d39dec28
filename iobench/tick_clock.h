/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of the measured loop: the processor's time stamp counter, turned into nanoseconds of CLOCK_MONOTONIC, where it
 * runs at one rate in all power states (constant_tsc and nonstop_tsc in /proc/cpuinfo), else that clock itself. Reading it
 * takes about ten nanoseconds, a third of clock_gettime in a virtual machine, and is done once for each operation. Readings of two cores agree
 * as far as their counters do (the kernel sees to that); a difference can in principle be negative by some nanoseconds.
 *
 * tick_clock_refresh is for the measuring thread while no worker runs; tick_clock_ns for any thread.
 */
#ifndef CALF_IOBENCH_TICK_CLOCK_H
#define CALF_IOBENCH_TICK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct tick_clock {
    bool by_counter;
    uint64_t base_ticks;
    int64_t base_ns;
    uint64_t scale; /* nanoseconds per tick, times 2^32 */
};

extern struct tick_clock tick_clock_state;

/* Sets the clock to CLOCK_MONOTONIC; measures its rate at first (20 ms) and better with each later call. */
void tick_clock_refresh(void);

static inline int64_t tick_clock_ns(void)
{
#if defined(__x86_64__)
    const struct tick_clock *c = &tick_clock_state;
    if (__builtin_expect(c->by_counter, 1)) {
        uint64_t ticks = __rdtsc() - c->base_ticks;
        return c->base_ns + (int64_t)((unsigned __int128)ticks * c->scale >> 32);
    }
#endif
    return clock_mono_ns();
}

#endif
