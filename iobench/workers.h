/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads, or processes, that make the load of one cell: each opens its file, waits at the gate, is released together
 * with the others, moves its blocks and is done. The measured window goes from the release (with a warm-up: from its end) to the last worker's
 * end, which for writers comes after fsync and close, for readers after the last block. The moment the first one
 * is done is kept beside it.
 *
 * In the measured loop nothing is allocated, locked or shared but one flag that is read and one counter per
 * worker that is written. The first error stops all workers: a cell with a failed worker has no figures.
 *
 * All functions are for one thread, the one that measures; the order is create, await(READY), release,
 * await(DONE), outcome, destroy.
 */
#ifndef CALF_IOBENCH_WORKERS_H
#define CALF_IOBENCH_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "iobench/engine.h"
#include "iobench/fill_data.h"
#include "iobench/histogram.h"
#include "iobench/interval_series.h"
#include "iobench/load.h"
#include "iobench/workload.h"

struct workers;

/* The part of one worker. The path stays the caller's and must outlive the workers. */
struct worker_file {
    const char *path;
    struct fill_identity identity; /* what is written, or what is expected */
    uint32_t oldest; /* blocks of earlier generations, down to this one, may still stand in it; 0: of none */
    uint64_t base;   /* where this worker's part begins: 0 unless the file is shared */
};

struct workers_job {
    const struct engine *engine;
    const struct workload *workload;
    const struct fill_pattern *pattern;
    const struct worker_file *files; /* one per thread; for a test of names the path is a directory's */
    uint32_t threads;
    uint64_t block_bytes;
    uint64_t file_bytes; /* of each worker, a multiple of block_bytes */
    uint64_t seed;       /* of the random orders; each worker derives its own */
    struct load load;    /* its depth at least 1 */
    uint32_t instances; /* mounts that the files are spread over, file i on mount i % instances; 0 or 1: one */
    bool direct;
    bool verify; /* readers compare each block; outside of its latency but inside of the window */
    uint64_t covered_bytes; /* for verify: at the beginning of each part only the newest generation is right */
};

/* Something that happens about ten times a second while the measuring thread waits. True: stop the workers. */
struct workers_watch {
    bool (*tick)(void *context, struct workers *workers);
    void *context;
};

struct workers_outcome {
    bool failed;
    bool stopped; /* by the watch, before all were done */
    char error[RESULT_TEXT];
    uint64_t bytes, operations;
    int64_t release_mono_ns, release_wall_ns;
    int64_t elapsed_ns, first_done_ns;
    uint64_t first_done_bytes;
    int64_t flush_ns; /* the longest fsync + close */
    int64_t fsync_ns, close_ns; /* the longest of each */
    uint64_t read_operations, warm_up_operations;
    uint32_t failed_workers;
    double cpu_s;     /* of all workers, from the window's begin to their end */
    struct worker_rates rates;
    struct instance_rates instances;
    struct latency_summary latency;
    uint32_t interval_count;
    struct sample_interval intervals[RESULT_INTERVALS];
};

enum workers_point { WORKERS_READY, WORKERS_DONE };

/* Starts the workers; they open their files. 0 or a negative errno (no memory, no threads). */
int workers_create(const struct workers_job *job, struct workers **workers) __attribute__((warn_unused_result));

/* Waits until all are ready (files open), or all have ended. 0; -EIO when a worker failed (see outcome);
 * -ECANCELED when the watch said stop; -ETIMEDOUT when a worker does not come back five seconds after it was
 * told to stop: then nothing of these workers may be freed, and workers_describe_stuck names it. */
int workers_await(struct workers *workers, enum workers_point point, const struct workers_watch *watch)
    __attribute__((warn_unused_result));

/* Opens the gate; the window begins, or the warm-up. */
void workers_release(struct workers *workers);

/* Waits until the warm-up is over (not at all without one), or a worker has failed. */
void workers_await_window(struct workers *workers, const struct workers_watch *watch);

/* After await(DONE), or after an await that failed with anything but -ETIMEDOUT. */
void workers_outcome(struct workers *workers, struct workers_outcome *outcome);

/* The latencies of all workers, for the same moments; *latency is initialized here. */
void workers_latency(struct workers *workers, struct histogram *latency);

/* Tells the workers to stop, joins them and frees everything. */
void workers_destroy(struct workers *workers);

/* Bytes moved so far within the window, nanoseconds since it began. */
void workers_progress(const struct workers *workers, uint64_t *bytes, int64_t *elapsed_ns);

/* The 99th percentile of the latencies so far, of all workers; 0: none yet. It reads what the workers are writing to, so call it
 * seldom. */
uint64_t workers_peek_p99_ns(const struct workers *workers);

/* True when every worker has moved all of its bytes and only fsync or close is left. */
bool workers_all_flushing(const struct workers *workers);

/* If a worker has not moved for longer than stuck_ns: "worker 3: fsync of PATH for 12 s" for the one that has
 * waited longest, and true. Counts from one call to the next, so it must be called regularly. */
bool workers_describe_stuck(struct workers *workers, int64_t stuck_ns, char *text, size_t text_bytes);

#endif
