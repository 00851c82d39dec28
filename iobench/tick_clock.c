/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/tick_clock.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "iobench/environment.h"

struct tick_clock tick_clock_state;

#if defined(__x86_64__)

enum { FLAGS_LIMIT = 8192, PAIRS = 16 };
#define FIRST_LOOK_NS (20 * NS_PER_MS)

struct reading {
    uint64_t ticks;
    int64_t ns;
};

static struct reading first;

static bool counter_is_steady(void)
{
    static char flags[FLAGS_LIMIT];
    return environment_find_value("/proc/cpuinfo", "flags", ':', flags, sizeof flags) && strstr(flags, " constant_tsc") &&
           strstr(flags, " nonstop_tsc");
}

/* Both clocks at one moment: of several tries the one in which the counter moved least. */
static struct reading read_both(void)
{
    struct reading best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < PAIRS; i++) {
        uint64_t before = __rdtsc();
        int64_t ns = clock_mono_ns();
        uint64_t after = __rdtsc();
        if (after - before < least) {
            least = after - before;
            best = (struct reading){before + (after - before) / 2, ns};
        }
    }
    return best;
}

void tick_clock_refresh(void)
{
    static bool known, steady;
    struct tick_clock *c = &tick_clock_state;
    if (!known) {
        known = true;
        steady = counter_is_steady();
        if (steady) {
            first = read_both();
            clock_sleep_ns(FIRST_LOOK_NS);
        }
    }
    if (!steady)
        return;
    struct reading now = read_both();
    if (now.ticks <= first.ticks)
        return;
    c->scale = (uint64_t)(((unsigned __int128)(uint64_t)(now.ns - first.ns) << 32) / (now.ticks - first.ticks));
    c->base_ticks = now.ticks;
    c->base_ns = now.ns;
    c->by_counter = true;
}

#else

void tick_clock_refresh(void)
{
}

#endif
