/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of one cell by one scenario, from the preparation of its files to the verdict whether its figures may
 * be used. The phases, of which only "running" and "flushing" are inside of the measured window:
 *
 *   preparing        the files that the test needs are written, with fsync (kept for later cells of the same size)
 *   dropping caches  cold and direct: the files leave the page cache, and cold is proven
 *   warming          warm, and tests that read again: the files are read once
 *   warm-up          with --warm-up: the load runs and is not counted
 *   running          workers.h
 *   flushing         likewise, when all workers are in fsync or close
 *   verifying        with --verify: what was written is read back
 *   removing         the files of a write test, the names of a test of names
 *
 * Measuring thread only.
 */
#ifndef CALF_IOBENCH_CELL_H
#define CALF_IOBENCH_CELL_H

#include "iobench/fill_data.h"
#include "iobench/load.h"
#include "iobench/plan.h"
#include "iobench/progress.h"
#include "iobench/scenario.h"

struct histogram;

/* Where several machines run one cell together (worker_session.c): how this one is led. Called by the measuring thread. */
struct cell_together {
    /* The workers of the measured run stand at the gate; waits until they are to be released. 0, and *release_mono_ns says
     * when, by the monotonic clock; -ECANCELED. */
    int (*ready)(void *context, int64_t *release_mono_ns);
    /* About ten times a second: so far the run is. True: stop it. */
    bool (*tick)(void *context, const char *phase, bool measured, uint64_t bytes);
    struct histogram *latency; /* gets the latencies of the measured run */
    void *context;
};

struct cell_context {
    const struct result *config; /* the sweep's settings: cache, engine, verify, ... */
    const struct load *load;     /* made from it */
    const struct fill_pattern *pattern;
    struct progress *progress;
    uint32_t generation; /* counts up: every write of a file has its own */
    const struct cell_together *together; /* NULL: this machine alone. Otherwise what was served is the caller's to find out */
};

/* Runs it and fills the sample's outcome: figures, or .failed with the error; .mark where no ratio may be
 * taken. order_seed is the same for every scenario of the round. 0 (also for a failed sample); -ECANCELED
 * when an interrupt came: the sample is then void. A scenario whose worker never came back is given up, its
 * later runs fail at once. */
int cell_run(struct cell_context *context, struct scenario *scenario, const struct plan_cell *cell,
             uint64_t order_seed, struct sample *sample) __attribute__((warn_unused_result));

#endif
