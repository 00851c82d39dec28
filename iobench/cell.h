/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of one cell by one scenario, from the preparation of its files to the verdict whether its figures may
 * be used. The phases, of which only "running" and "flushing" are inside of the measured window:
 *
 *   preparing        the files that the test needs are written, with fsync (kept for later cells of the same size)
 *   dropping caches  cold and direct: the files leave the page cache, and cold is proven; warm: they
 *                    are read once instead
 *   running          workers.h
 *   flushing         likewise, when all workers are in fsync or close
 *   verifying        with --verify: what was written is read back
 *   removing         the files of a write test
 *
 * Measuring thread only.
 */
#ifndef CALF_IOBENCH_CELL_H
#define CALF_IOBENCH_CELL_H

#include "iobench/engine.h"
#include "iobench/fill_data.h"
#include "iobench/plan.h"
#include "iobench/progress.h"
#include "iobench/scenario.h"

struct cell_context {
    const struct engine *engine;
    const struct fill_pattern *pattern;
    struct progress *progress;
    enum cache_mode cache;
    bool verify;
    uint32_t generation; /* counts up: every write of a file has its own */
};

/* Runs it and fills the sample's outcome: figures, or .failed with the error; .mark where no ratio may be
 * taken. order_seed is the same for every scenario of the round. 0 (also for a failed sample); -ECANCELED
 * when an interrupt came: the sample is then void. A scenario whose worker never came back is given up, its
 * later runs fail at once. */
int cell_run(struct cell_context *context, struct scenario *scenario, const struct plan_cell *cell,
             uint64_t order_seed, struct sample *sample) __attribute__((warn_unused_result));

/* Why the figures of a sample must not be used although no worker failed: "served-bytes" when the cluster did
 * not serve what the workers moved, else "". copies: how often the cluster counts a written byte. */
const char *cell_served_mark(const struct sample *sample, enum cache_mode cache, uint64_t copies);

#endif
