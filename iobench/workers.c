/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/workers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"
#include "iobench/text_print.h"
#include "iobench/tick_clock.h"
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
    worker->seen_operations = UINT64_MAX;
    worker->seen_stage = WORKER_OPENING;
}

/* In memory of its own, since worker processes share it with us. */
static struct workers *allocate(const struct workers_job *job)
{
    size_t bytes = sizeof(struct workers) + job->threads * sizeof(struct worker);
    struct workers *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    int shared = job->load.processes ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    pthread_condattr_t condition;
    pthread_mutexattr_t mutex;
    all->job = *job;
    all->bytes = bytes;
    CHECK(pthread_mutexattr_init(&mutex) == 0 && pthread_mutexattr_setpshared(&mutex, shared) == 0);
    CHECK(pthread_mutex_init(&all->lock, &mutex) == 0);
    CHECK(pthread_condattr_init(&condition) == 0 && pthread_condattr_setpshared(&condition, shared) == 0);
    CHECK(pthread_condattr_setclock(&condition, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&all->gate, &condition) == 0 && pthread_cond_init(&all->arrived, &condition) == 0);
    (void)pthread_condattr_destroy(&condition);
    (void)pthread_mutexattr_destroy(&mutex);
    interval_series_init(&all->series, job->load.interval_ns);
    return all;
}

/* A process that outlives us would go on loading the storage. */
static int start_process(struct worker *worker)
{
    pid_t parent = getpid(), process = fork();
    if (process == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            (void)worker_loop_main(worker);
        _exit(0);
    }
    /* Here alone: the child, which shares this memory, got another number from fork. */
    worker->process = process;
    return process < 0 ? errno : 0;
}

static int start(struct worker *worker)
{
    return worker->all->job.load.processes ? start_process(worker)
                                           : pthread_create(&worker->thread, NULL, worker_loop_main, worker);
}

int workers_create(const struct workers_job *job, struct workers **workers)
{
    CHECK(job->threads >= 1 && job->block_bytes > 0 && job->file_bytes % job->block_bytes == 0 && job->load.depth >= 1);
    tick_clock_refresh();
    struct workers *all = allocate(job);
    if (!all)
        return -ENOMEM;
    int64_t now = clock_mono_ns();
    for (uint32_t i = 0; i < job->threads; i++) {
        struct worker *worker = &all->worker[i];
        worker->all = all;
        worker->index = i;
        worker->file = &job->files[i];
        histogram_init(&worker->histogram);
        start_watching(worker, now);
        int rc = start(worker);
        if (rc != 0) {
            workers_destroy(all);
            return -rc;
        }
        all->started++;
    }
    *workers = all;
    return 0;
}

static void wake(const struct workers *all, const struct worker *worker)
{
    if (!all->job.load.processes)
        (void)pthread_kill(worker->thread, SIGUSR1);
    else if (worker->process > 0)
        (void)kill(worker->process, SIGUSR1);
}

/* A worker that waits in a system call looks at the flag only when that returns, so it is woken. */
static void stop_all(struct workers *all)
{
    atomic_store(&all->stop, true);
    {
        SCOPE_UNLOCK(&all->lock);
        (void)pthread_cond_broadcast(&all->gate);
    }
    for (uint32_t i = 0; i < all->started; i++)
        if (atomic_load(&all->worker[i].stage) != WORKER_DONE)
            wake(all, &all->worker[i]);
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

/* A process that ended before its work was done can say so no more. */
static void look_after_processes(struct workers *all)
{
    for (uint32_t i = 0; all->job.load.processes && i < all->started; i++) {
        struct worker *worker = &all->worker[i];
        int status;
        if (worker->process <= 0 || waitpid(worker->process, &status, WNOHANG) != worker->process)
            continue;
        worker->process = 0;
        if (atomic_load(&worker->stage) == WORKER_DONE)
            continue;
        char what[96];
        text_print(what, sizeof what, "the process of worker %u was ended by signal %d", i,
                   WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        bool was_ready = atomic_load(&worker->stage) >= WORKER_READY;
        worker_loop_fail(worker, what);
        SCOPE_UNLOCK(&all->lock);
        atomic_store(&worker->stage, WORKER_DONE);
        all->done_count++;
        all->ready_count += !was_ready;
    }
}

static bool has_failed(struct workers *all)
{
    SCOPE_UNLOCK(&all->lock);
    return all->failed > 0;
}

static uint64_t operations_of(const struct workers *all)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < all->started; i++)
        sum += atomic_load_explicit(&all->worker[i].operations_done, memory_order_relaxed);
    return sum;
}

static void look_at_series(struct workers *all)
{
    int64_t now = clock_mono_ns();
    if (all->window_ns && now > all->window_ns)
        interval_series_look(&all->series, now - all->window_ns, operations_of(all));
}

int workers_await(struct workers *workers, enum workers_point point, const struct workers_watch *watch)
{
    const uint32_t *count = point == WORKERS_READY ? &workers->ready_count : &workers->done_count;
    int64_t stopped_ns = workers->stopped_by_watch ? clock_mono_ns() : 0;
    while (!await_count(workers, count)) {
        look_after_processes(workers);
        look_at_series(workers);
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
    workers->window_ns = workers->release_ns + workers->job.load.warm_up_ns;
    workers->end_ns = workers->window_ns + workers->job.load.duration_ns;
    (void)pthread_cond_broadcast(&workers->gate);
}

void workers_await_window(struct workers *workers, const struct workers_watch *watch)
{
    while (clock_mono_ns() < workers->window_ns && !has_failed(workers)) {
        int64_t left = workers->window_ns - clock_mono_ns();
        clock_sleep_ns(left < 0 ? 0 : left < TICK_NS ? left : TICK_NS);
        look_after_processes(workers);
        if (watch && watch->tick(watch->context, workers)) {
            workers->stopped_by_watch = true;
            return;
        }
    }
}

static void take_rates(const struct workers *all, struct worker_rates *rates)
{
    uint64_t unit = all->job.workload->names ? 1 : all->job.block_bytes;
    double sum = 0, least = 0, most = 0;
    for (uint32_t i = 0; i < all->started; i++) {
        const struct worker *worker = &all->worker[i];
        int64_t ns = worker->done_ns - all->window_ns;
        uint64_t done = atomic_load(&worker->operations_done);
        double rate = ns > 0 ? (double)done * (double)unit / ((double)ns / 1e9) : 0;
        sum += rate;
        least = i == 0 || rate < least ? rate : least;
        most = rate > most ? rate : most;
    }
    uint32_t count = all->started;
    *rates = (struct worker_rates){.min = (uint64_t)least, .mean = (uint64_t)(sum / count), .max = (uint64_t)most};
    if (count > 2)
        rates->mean_inner = (uint64_t)((sum - least - most) / (count - 2));
}

/* As one user of each mount sees it. Workers on one file are all on the first mount. */
static void take_instances(const struct workers *all, struct instance_rates *rates)
{
    uint32_t count = all->job.instances < all->started ? all->job.instances : all->started;
    double slowest = 0, fastest = 0;
    if (count < 2 || all->job.load.shared)
        return;
    rates->count = count;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t done = 0;
        int64_t ns = 0;
        for (uint32_t i = k; i < all->started; i += all->job.instances) {
            int64_t took = all->worker[i].done_ns - all->window_ns;
            done += atomic_load(&all->worker[i].operations_done);
            ns = took > ns ? took : ns;
        }
        double rate = ns > 0 ? (double)done / (double)ns : 0;
        slowest = k == 0 || rate < slowest ? rate : slowest;
        fastest = rate > fastest ? rate : fastest;
    }
    rates->slowest_permille = fastest > 0 ? (uint32_t)(1000 * slowest / fastest) : 0;
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void take_worker(struct workers_outcome *outcome, const struct worker *worker, int64_t window_ns)
{
    outcome->operations += atomic_load(&worker->operations_done);
    outcome->read_operations += worker->read_operations;
    outcome->warm_up_operations += worker->warm_up_operations;
    outcome->cpu_s += worker->cpu_s;
    outcome->elapsed_ns = longer(outcome->elapsed_ns, worker->done_ns - window_ns);
    outcome->flush_ns = longer(outcome->flush_ns, worker->flush_ns);
    outcome->fsync_ns = longer(outcome->fsync_ns, worker->fsync_ns);
    outcome->close_ns = longer(outcome->close_ns, worker->close_ns);
}

void workers_latency(struct workers *workers, struct histogram *latency)
{
    histogram_init(latency);
    SCOPE_UNLOCK(&workers->lock);
    for (uint32_t i = 0; i < workers->started; i++)
        histogram_merge(latency, &workers->worker[i].histogram);
}

void workers_outcome(struct workers *workers, struct workers_outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    SCOPE_FREE struct histogram *merged = check_alloc(malloc(sizeof *merged));
    workers_latency(workers, merged);
    SCOPE_UNLOCK(&workers->lock);
    outcome->failed_workers = workers->failed;
    outcome->failed = workers->failed > 0;
    outcome->stopped = workers->stopped_by_watch;
    text_print(outcome->error, sizeof outcome->error, "%s", workers->error);
    outcome->release_mono_ns = workers->release_ns;
    outcome->release_wall_ns = workers->release_wall_ns;
    uint64_t unit = workers->job.workload->names ? 0 : workers->job.block_bytes;
    if (workers->first_done_ns)
        outcome->first_done_ns = longer(workers->first_done_ns - workers->window_ns, 0);
    outcome->first_done_bytes = workers->first_done_operations * unit;
    for (uint32_t i = 0; i < workers->started; i++)
        take_worker(outcome, &workers->worker[i], workers->window_ns);
    outcome->bytes = outcome->operations * unit;
    histogram_summarize(merged, &outcome->latency);
    take_rates(workers, &outcome->rates);
    take_instances(workers, &outcome->instances);
    struct interval_series *series = &workers->series;
    interval_series_end(series, outcome->elapsed_ns, outcome->operations);
    outcome->interval_count = series->count > 1 ? series->count : 0;
    memcpy(outcome->intervals, series->pieces, outcome->interval_count * sizeof series->pieces[0]);
}

static void join(const struct workers *all, const struct worker *worker)
{
    if (!all->job.load.processes)
        (void)pthread_join(worker->thread, NULL);
    else if (worker->process > 0)
        (void)waitpid(worker->process, NULL, 0);
}

void workers_destroy(struct workers *workers)
{
    stop_all(workers);
    for (uint32_t i = 0; i < workers->started; i++)
        join(workers, &workers->worker[i]);
    (void)pthread_cond_destroy(&workers->gate);
    (void)pthread_cond_destroy(&workers->arrived);
    (void)pthread_mutex_destroy(&workers->lock);
    (void)munmap(workers, workers->bytes);
}

void workers_progress(const struct workers *workers, uint64_t *bytes, int64_t *elapsed_ns)
{
    *bytes = operations_of(workers) * workers->job.block_bytes;
    int64_t now = clock_mono_ns();
    *elapsed_ns = workers->window_ns && now > workers->window_ns ? now - workers->window_ns : 0;
}

uint64_t workers_peek_p99_ns(const struct workers *workers)
{
    SCOPE_FREE uint64_t *slots = check_alloc(calloc(HISTOGRAM_SLOTS, sizeof *slots));
    uint64_t count = 0, seen = 0;
    for (uint32_t i = 0; i < workers->started; i++)
        count += histogram_peek(&workers->worker[i].histogram, slots);
    for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        seen += slots[i];
        if (seen > 0 && seen >= count - count / 100)
            return histogram_slot_value(i);
    }
    return 0;
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
        uint64_t operations = atomic_load_explicit(&worker->operations_done, memory_order_relaxed);
        int stage = atomic_load(&worker->stage);
        if (operations != worker->seen_operations || stage != worker->seen_stage) {
            worker->seen_operations = operations;
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
