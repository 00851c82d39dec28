/* SPDX-License-Identifier: Apache-2.0
 *
 * What workers.c and the workers it starts share: the gate, the first error, and each worker's own figures. Only the files
 * workers.c and worker_*.c include it. `lock` guards what is marked; the rest of a worker is its own until it is done. All of it lies in memory that worker processes
 * share, too; what it points to is either shared likewise or the same in every process, since they are forked.
 */
#ifndef CALF_IOBENCH_WORKER_LOOP_H
#define CALF_IOBENCH_WORKER_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "iobench/access_pattern.h"
#include "iobench/histogram.h"
#include "iobench/workers.h"

enum worker_stage { WORKER_OPENING, WORKER_READY, WORKER_MOVING, WORKER_FLUSHING, WORKER_CLOSING, WORKER_DONE };

struct worker {
    /* On a cache line of its own: written with each block, read ten times a second. */
    _Alignas(64) _Atomic uint64_t operations_done; /* within the window */
    _Atomic int stage; /* enum worker_stage */
    _Alignas(64) struct workers *all;
    const struct worker_file *file;
    uint32_t index;
    pthread_t thread;
    pid_t process; /* in place of the thread; 0 once it was waited for */
    uint64_t warm_up_operations, read_operations;
    int64_t done_ns, flush_ns, fsync_ns, close_ns;
    double cpu_before_s, cpu_s;
    struct histogram histogram;
    /* For workers_describe_stuck, the measuring thread's own. */
    uint64_t seen_operations;
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
    uint32_t failed;                     /* lock; how many workers */
    char error[RESULT_TEXT];             /* lock; of the first that failed */
    int64_t first_done_ns;               /* lock; 0 until then */
    uint64_t first_done_operations;      /* lock */
    int64_t release_ns, release_wall_ns; /* set before the gate opens */
    int64_t window_ns, end_ns;           /* likewise: the window begins, and with a duration nothing begins after; both monotonic */
    atomic_bool stop;
    bool stopped_by_watch; /* the measuring thread's own */
    uint32_t started;      /* likewise: workers that exist */
    size_t bytes;          /* of this memory */
    struct interval_series series; /* likewise */
    struct worker worker[];
};

/* The memory that one worker moves blocks from or to: for each request in flight its own. */
struct worker_memory {
    uint32_t slots;
    struct fill_buffer *fill; /* where it writes */
    void **read_block;        /* where it reads */
};

/* A worker's main; the argument is its struct worker. */
void *worker_loop_main(void *argument);

/* The first error of all is kept; every worker stops. */
void worker_loop_fail(struct worker *worker, const char *what);

/* The same for a call that returned an error. A call that a stop interrupted is no failure. */
void worker_loop_fail_call(struct worker *worker, const char *call, int error);

double worker_loop_thread_cpu_s(void);

/* worker_moves.c: the measured loop over blocks. Ends early when the workers are stopped or this one fails. */
void worker_moves_run(struct worker *worker, struct engine_file *file, struct worker_memory *memory);

/* worker_names.c: the directory of a test of names is made ready (before the gate); the measured loop over names; both as
 * above. Checks what came of it if the job says verify. */
int worker_names_prepare(struct worker *worker);
void worker_names_run(struct worker *worker);

#endif
