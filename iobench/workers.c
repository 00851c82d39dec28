/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/workers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"
#include "iobench/text_print.h"
#include "iobench/worker_loop.h"

#define TICK_NS (100 * NS_PER_MS)
#define STOP_GRACE_NS (5 * NS_PER_S)

static const char *const stage_names[] = {
    [WORKER_OPENING] = "open",   [WORKER_READY] = "waiting", [WORKER_MOVING] = "I/O",
    [WORKER_FLUSHING] = "fsync", [WORKER_CLOSING] = "close", [WORKER_DONE] = "done",
};

static void start_watching(struct worker *worker, int64_t now)
{
    worker->seen_change_ns = now;
    worker->seen_bytes = UINT64_MAX;
    worker->seen_stage = WORKER_OPENING;
}

int workers_create(const struct workers_job *job, struct workers **workers)
{
    CHECK(job->threads >= 1 && job->block_bytes > 0 && job->file_bytes % job->block_bytes == 0);
    struct workers *all = NULL;
    if (posix_memalign((void **)&all, 64, sizeof *all + job->threads * sizeof all->worker[0]) != 0)
        return -ENOMEM;
    memset(all, 0, sizeof *all + job->threads * sizeof all->worker[0]);
    all->job = *job;
    pthread_condattr_t attributes;
    CHECK(pthread_mutex_init(&all->lock, NULL) == 0 && pthread_condattr_init(&attributes) == 0);
    CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&all->gate, NULL) == 0 && pthread_cond_init(&all->arrived, &attributes) == 0);
    (void)pthread_condattr_destroy(&attributes);
    int64_t now = clock_mono_ns();
    for (uint32_t i = 0; i < job->threads; i++) {
        struct worker *worker = &all->worker[i];
        worker->all = all;
        worker->index = i;
        worker->file = &job->files[i];
        histogram_init(&worker->histogram);
        start_watching(worker, now);
        int rc = pthread_create(&worker->thread, NULL, worker_loop_main, worker);
        if (rc != 0) {
            workers_destroy(all);
            return -rc;
        }
        all->started++;
    }
    *workers = all;
    return 0;
}

/* A thread that waits in a system call looks at the flag only when that returns, so it is woken. */
static void stop_all(struct workers *all)
{
    atomic_store(&all->stop, true);
    {
        SCOPE_UNLOCK(&all->lock);
        (void)pthread_cond_broadcast(&all->gate);
    }
    for (uint32_t i = 0; i < all->started; i++)
        if (atomic_load(&all->worker[i].stage) != WORKER_DONE)
            (void)pthread_kill(all->worker[i].thread, SIGUSR1);
}

/* Until `count` workers have come to the point or the tick is over. True when they have. */
static bool await_count(struct workers *all, const uint32_t *count)
{
    int64_t until = clock_mono_ns() + TICK_NS;
    struct timespec deadline = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    SCOPE_UNLOCK(&all->lock);
    int rc = 0;
    while (*count < all->started && rc == 0)
        rc = pthread_cond_timedwait(&all->arrived, &all->lock, &deadline);
    return *count >= all->started;
}

static bool has_failed(struct workers *all)
{
    SCOPE_UNLOCK(&all->lock);
    return all->failed;
}

int workers_await(struct workers *workers, enum workers_point point, const struct workers_watch *watch)
{
    const uint32_t *count = point == WORKERS_READY ? &workers->ready_count : &workers->done_count;
    int64_t stopped_ns = 0;
    while (!await_count(workers, count)) {
        if (!stopped_ns && has_failed(workers))
            stopped_ns = clock_mono_ns();
        if (watch && watch->tick(watch->context, workers) && !stopped_ns) {
            stopped_ns = clock_mono_ns();
            workers->stopped_by_watch = true;
        }
        if (!stopped_ns)
            continue;
        stop_all(workers);
        count = &workers->done_count;
        if (clock_mono_ns() - stopped_ns > STOP_GRACE_NS)
            return -ETIMEDOUT;
    }
    return has_failed(workers) ? -EIO : workers->stopped_by_watch ? -ECANCELED : 0;
}

void workers_release(struct workers *workers)
{
    SCOPE_UNLOCK(&workers->lock);
    workers->released = true;
    workers->release_wall_ns = clock_wall_ns();
    workers->release_ns = clock_mono_ns();
    (void)pthread_cond_broadcast(&workers->gate);
}

void workers_outcome(struct workers *workers, struct workers_outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    SCOPE_FREE struct histogram *merged = check_alloc(malloc(sizeof *merged));
    histogram_init(merged);
    SCOPE_UNLOCK(&workers->lock);
    outcome->failed = workers->failed;
    outcome->stopped = workers->stopped_by_watch;
    text_print(outcome->error, sizeof outcome->error, "%s", workers->error);
    outcome->release_mono_ns = workers->release_ns;
    outcome->release_wall_ns = workers->release_wall_ns;
    outcome->first_done_bytes = workers->first_done_bytes;
    outcome->first_done_ns = workers->first_done_ns ? workers->first_done_ns - workers->release_ns : 0;
    for (uint32_t i = 0; i < workers->started; i++) {
        const struct worker *worker = &workers->worker[i];
        outcome->bytes += atomic_load(&worker->bytes_done);
        outcome->cpu_s += worker->cpu_s;
        if (worker->flush_ns > outcome->flush_ns)
            outcome->flush_ns = worker->flush_ns;
        if (worker->done_ns - workers->release_ns > outcome->elapsed_ns)
            outcome->elapsed_ns = worker->done_ns - workers->release_ns;
        histogram_merge(merged, &worker->histogram);
    }
    outcome->operations = merged->count;
    histogram_summarize(merged, &outcome->latency);
}

void workers_destroy(struct workers *workers)
{
    stop_all(workers);
    for (uint32_t i = 0; i < workers->started; i++)
        (void)pthread_join(workers->worker[i].thread, NULL);
    (void)pthread_cond_destroy(&workers->gate);
    (void)pthread_cond_destroy(&workers->arrived);
    (void)pthread_mutex_destroy(&workers->lock);
    free(workers);
}

void workers_progress(const struct workers *workers, uint64_t *bytes, int64_t *elapsed_ns)
{
    *bytes = 0;
    for (uint32_t i = 0; i < workers->started; i++)
        *bytes += atomic_load_explicit(&workers->worker[i].bytes_done, memory_order_relaxed);
    *elapsed_ns = workers->release_ns ? clock_mono_ns() - workers->release_ns : 0;
}

bool workers_all_flushing(const struct workers *workers)
{
    for (uint32_t i = 0; i < workers->started; i++)
        if (atomic_load(&workers->worker[i].stage) < WORKER_FLUSHING)
            return false;
    return workers->started > 0;
}

bool workers_describe_stuck(struct workers *workers, int64_t stuck_ns, char *text, size_t text_bytes)
{
    const struct worker *worst = NULL;
    int64_t now = clock_mono_ns(), longest = stuck_ns;
    for (uint32_t i = 0; i < workers->started; i++) {
        struct worker *worker = &workers->worker[i];
        uint64_t bytes = atomic_load_explicit(&worker->bytes_done, memory_order_relaxed);
        int stage = atomic_load(&worker->stage);
        if (bytes != worker->seen_bytes || stage != worker->seen_stage) {
            worker->seen_bytes = bytes;
            worker->seen_stage = stage;
            worker->seen_change_ns = now;
        }
        if (stage != WORKER_READY && stage != WORKER_DONE && now - worker->seen_change_ns > longest) {
            longest = now - worker->seen_change_ns;
            worst = worker;
        }
    }
    if (!worst)
        return false;
    text_print(text, text_bytes, "worker %u: %s of %s for %lld s", worst->index, stage_names[worst->seen_stage],
               worst->file->path, (long long)(longest / NS_PER_S));
    return true;
}
