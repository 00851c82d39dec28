/* SPDX-License-Identifier: Apache-2.0
 *
 * The axes of `iobench sweep` that all cells share (durability, depth, time, placement, ...): their options, and what
 * they become in a result's configuration. load.h says which go together. Main thread.
 */
#ifndef CALF_IOBENCH_SWEEP_AXES_H
#define CALF_IOBENCH_SWEEP_AXES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options.h"
#include "iobench/result.h"

/* What was written; 0, false or NULL where an option was not used. */
struct sweep_axes {
    const char *cpus, *numa_node;
    unsigned sync, msync; /* enum sync_mode, enum msync_mode */
    bool sync_given, msync_given;
    bool shared, processes, replacement;
    uint64_t depth, rate_limit, duration_s, warm_up_s, interval_ms, working_set_bytes, read_percent, stride_blocks,
        files_per_worker;
};

enum { SWEEP_AXES_OPTIONS = 16 };

/* Fills the first rows; how many. They point into axes. */
unsigned sweep_axes_rows(struct sweep_axes *axes, struct option_row *rows);

/* keep: the configuration holds the settings of a stored result, and only what was given changes them. The tests stand in
 * it already. */
void sweep_axes_take(const struct sweep_axes *axes, bool keep, struct result *config);

#endif
