/* SPDX-License-Identifier: Apache-2.0
 *
 * What workers.c and the threads it starts share: the gate, the first error, and each worker's own figures. Only
 * these two include it. `lock` guards what is marked; the rest of a worker is its thread's own until it is done.
 */
#ifndef CALF_IOBENCH_WORKER_LOOP_H
#define CALF_IOBENCH_WORKER_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "iobench/histogram.h"
#include "iobench/workers.h"

enum worker_stage { WORKER_OPENING, WORKER_READY, WORKER_MOVING, WORKER_FLUSHING, WORKER_CLOSING, WORKER_DONE };

struct worker {
    /* On a cache line of its own: written with each block, read ten times a second. */
    _Alignas(64) _Atomic uint64_t bytes_done;
    _Atomic int stage; /* enum worker_stage */
    _Alignas(64) struct workers *all;
    const struct worker_file *file;
    uint32_t index;
    pthread_t thread;
    int64_t done_ns, flush_ns;
    double cpu_s;
    struct histogram histogram;
    /* For workers_describe_stuck, the measuring thread's own. */
    uint64_t seen_bytes;
    int seen_stage;
    int64_t seen_change_ns;
};

struct workers {
    struct workers_job job;
    pthread_mutex_t lock;
    pthread_cond_t gate;                 /* released or stop */
    pthread_cond_t arrived;              /* one more is ready or done */
    uint32_t ready_count, done_count;    /* lock; who failed to open counts as ready and done */
    bool released;                       /* lock */
    bool failed;                         /* lock */
    char error[RESULT_TEXT];             /* lock; of the first that failed */
    int64_t first_done_ns;               /* lock; 0 until then */
    uint64_t first_done_bytes;           /* lock */
    int64_t release_ns, release_wall_ns; /* set before the gate opens */
    atomic_bool stop;
    bool stopped_by_watch; /* the measuring thread's own */
    uint32_t started;      /* likewise: threads that exist */
    struct worker worker[];
};

/* A worker thread's main; the argument is its struct worker. */
void *worker_loop_main(void *argument);

#endif
