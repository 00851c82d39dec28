/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/worker_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/clock.h"
#include "common/scope.h"
#include "iobench/interrupt.h"
#include "iobench/text_print.h"

enum { PATH_SHOWN = 150 };

double worker_loop_thread_cpu_s(void)
{
    return (double)clock_read_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

/* The end of a long path says more than its beginning. */
static const char *shown_path(const struct worker *worker)
{
    const char *path = worker->file->path;
    size_t length = strlen(path);
    return length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
}

void worker_loop_fail(struct worker *worker, const char *what)
{
    struct workers *all = worker->all;
    SCOPE_UNLOCK(&all->lock);
    if (all->failed++ == 0)
        text_print(all->error, sizeof all->error, "%s: %s", shown_path(worker), what);
    atomic_store(&all->stop, true);
    (void)pthread_cond_broadcast(&all->gate);
}

void worker_loop_fail_call(struct worker *worker, const char *call, int error)
{
    if (error == -EINTR && atomic_load(&worker->all->stop))
        return;
    char what[160], reason[96];
    text_print(what, sizeof what, "%s: %s", call,
               error == -ENODATA ? "the file ends before it should" : strerror_r(-error, reason, sizeof reason));
    worker_loop_fail(worker, what);
}

static int memory_init(struct worker_memory *memory, const struct workers_job *job)
{
    uint32_t slots = job->engine->submit ? job->load.depth : 1;
    size_t block = (size_t)job->block_bytes;
    *memory = (struct worker_memory){.slots = slots};
    if (job->workload->names)
        return 0;
    memory->fill = calloc(slots, sizeof *memory->fill);
    memory->read_block = calloc(slots, sizeof *memory->read_block);
    if (!memory->fill || !memory->read_block)
        return -ENOMEM;
    for (uint32_t i = 0; i < slots; i++) {
        if (job->workload->writes && fill_buffer_init(&memory->fill[i], job->pattern, block) < 0)
            return -ENOMEM;
        if (!job->workload->reads)
            continue;
        if (posix_memalign(&memory->read_block[i], FILL_ALIGNMENT, block) != 0)
            return -ENOMEM;
        memset(memory->read_block[i], 0, block);
    }
    return 0;
}

static void memory_fini(struct worker_memory *memory)
{
    for (uint32_t i = 0; i < memory->slots; i++) {
        if (memory->fill)
            fill_buffer_fini(&memory->fill[i]);
        if (memory->read_block)
            free(memory->read_block[i]);
    }
    free(memory->fill);
    free(memory->read_block);
}

static void flush_file(struct worker *worker, struct engine_file *file)
{
    int rc;
    atomic_store(&worker->stage, WORKER_FLUSHING);
    do
        rc = worker->all->job.engine->flush(file);
    while (rc == -EINTR && !atomic_load(&worker->all->stop));
    if (rc < 0)
        worker_loop_fail_call(worker, "fsync", rc);
}

static void close_file(struct worker *worker, struct engine_file *file)
{
    atomic_store(&worker->stage, WORKER_CLOSING);
    int rc = worker->all->job.engine->close(file);
    if (rc < 0)
        worker_loop_fail_call(worker, "close", rc);
}

static bool wait_at_gate(struct worker *worker)
{
    struct workers *all = worker->all;
    atomic_store(&worker->stage, WORKER_READY);
    SCOPE_UNLOCK(&all->lock);
    all->ready_count++;
    (void)pthread_cond_signal(&all->arrived);
    while (!all->released && !atomic_load(&all->stop))
        (void)pthread_cond_wait(&all->gate, &all->lock);
    return all->released;
}

/* The first one done freezes what all have moved until then. */
static void note_done(struct worker *worker)
{
    struct workers *all = worker->all;
    if (worker->done_ns == 0)
        worker->done_ns = clock_mono_ns();
    worker->cpu_s = worker_loop_thread_cpu_s() - worker->cpu_before_s;
    SCOPE_UNLOCK(&all->lock);
    if (all->first_done_ns)
        return;
    all->first_done_ns = worker->done_ns;
    for (uint32_t i = 0; i < all->job.threads; i++)
        all->first_done_operations += atomic_load_explicit(&all->worker[i].operations_done, memory_order_relaxed);
}

static void run_window(struct worker *worker, struct engine_file *file, struct worker_memory *memory)
{
    worker->cpu_before_s = worker_loop_thread_cpu_s();
    atomic_store(&worker->stage, WORKER_MOVING);
    if (worker->all->job.workload->names) {
        worker_names_run(worker);
        note_done(worker);
        return;
    }
    worker_moves_run(worker, file, memory);
    if (worker->all->job.workload->writes) {
        int64_t begin = clock_mono_ns();
        if (!atomic_load(&worker->all->stop) && worker->all->job.load.sync != SYNC_NONE)
            flush_file(worker, file);
        int64_t flushed = clock_mono_ns();
        close_file(worker, file);
        note_done(worker);
        worker->fsync_ns = flushed - begin;
        worker->close_ns = worker->done_ns - flushed;
        worker->flush_ns = worker->done_ns - begin;
    } else {
        note_done(worker);
        int64_t begin = clock_mono_ns();
        close_file(worker, file);
        worker->close_ns = clock_mono_ns() - begin;
    }
}

static void leave(struct worker *worker, bool was_ready)
{
    struct workers *all = worker->all;
    SCOPE_UNLOCK(&all->lock);
    atomic_store(&worker->stage, WORKER_DONE);
    all->done_count++;
    if (!was_ready)
        all->ready_count++;
    (void)pthread_cond_signal(&all->arrived);
}

static int open_file(struct worker *worker, struct engine_file **file)
{
    const struct workers_job *job = &worker->all->job;
    const struct workload *workload = job->workload;
    struct engine_open how = {.path = worker->file->path,
                              .create = workload->new_files,
                              .shared = job->load.shared,
                              .read = workload->reads,
                              .write = workload->writes,
                              .append = workload->append,
                              .direct = job->direct,
                              .sync = job->load.sync,
                              .msync = job->load.msync,
                              .end_bytes = worker->file->base + job->file_bytes,
                              .depth = job->load.depth};
    int rc;
    do
        rc = workload->names ? worker_names_prepare(worker) : job->engine->open(&how, file);
    while (rc == -EINTR && !atomic_load(&worker->all->stop));
    if (rc < 0)
        worker_loop_fail_call(worker, workload->names ? "preparing names" : how.create ? "create" : "open", rc);
    return rc;
}

void *worker_loop_main(void *argument)
{
    struct worker *worker = argument;
    interrupt_block_here();
    struct worker_memory memory = {0};
    struct engine_file *file = NULL;
    const char *what = "placing the worker";
    /* A wake-up that the kernel rounds to 50 us would count as latency of a rate-limited run. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    int rc = load_place_here(&worker->all->job.load, worker->index);
    if (rc == 0) {
        what = "buffer";
        rc = memory_init(&memory, &worker->all->job);
    }
    if (rc < 0)
        worker_loop_fail_call(worker, what, rc);
    else
        rc = open_file(worker, &file);
    if (rc == 0 && wait_at_gate(worker))
        run_window(worker, file, &memory);
    else if (file)
        close_file(worker, file);
    memory_fini(&memory);
    leave(worker, rc == 0);
    return NULL;
}
