/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/worker_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/scope.h"
#include "iobench/access_pattern.h"
#include "iobench/interrupt.h"
#include "iobench/text_print.h"

enum { PATH_SHOWN = 150 };

/* The memory that one worker moves blocks from or to. */
struct worker_memory {
    struct fill_buffer fill;
    void *read_block;
};

static double thread_cpu_s(void)
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

static void fail(struct worker *worker, const char *what)
{
    struct workers *all = worker->all;
    SCOPE_UNLOCK(&all->lock);
    if (!all->failed) {
        all->failed = true;
        text_print(all->error, sizeof all->error, "%s: %s", shown_path(worker), what);
    }
    atomic_store(&all->stop, true);
    (void)pthread_cond_broadcast(&all->gate);
}

/* A call that a stop interrupted is no failure. */
static void fail_call(struct worker *worker, const char *call, int error)
{
    if (error == -EINTR && atomic_load(&worker->all->stop))
        return;
    char what[160], reason[96];
    text_print(what, sizeof what, "%s: %s", call,
               error == -ENODATA ? "the file ends before it should" : strerror_r(-error, reason, sizeof reason));
    fail(worker, what);
}

static void fail_block(struct worker *worker, const char *call, uint64_t offset, int error)
{
    char what[64];
    text_print(what, sizeof what, "%s at %llu", call, (unsigned long long)offset);
    fail_call(worker, what, error);
}

static void fail_verify(struct worker *worker, const struct fill_mismatch *m)
{
    char what[200];
    text_print(
        what, sizeof what,
        "wrong data at %llu: expected 0x%02x, found 0x%02x (its sector says offset %llu file %u generation %u)",
        (unsigned long long)m->offset, m->expected, m->found, (unsigned long long)m->stamp_offset, m->stamp.file,
        m->stamp.generation);
    fail(worker, what);
}

static int memory_init(struct worker_memory *memory, const struct workers_job *job)
{
    *memory = (struct worker_memory){.read_block = NULL};
    if (job->workload->writes)
        return fill_buffer_init(&memory->fill, job->pattern, (size_t)job->block_bytes);
    if (posix_memalign(&memory->read_block, FILL_ALIGNMENT, (size_t)job->block_bytes) != 0)
        return -ENOMEM;
    memset(memory->read_block, 0, (size_t)job->block_bytes);
    return 0;
}

static void memory_fini(struct worker_memory *memory)
{
    fill_buffer_fini(&memory->fill);
    free(memory->read_block);
}

/* The measured loop. Ends early when the workers are stopped or this one fails. */
static void move_blocks(struct worker *worker, struct engine_file *file, struct worker_memory *memory,
                        const struct access_pattern *order)
{
    const struct workers_job *job = &worker->all->job;
    const bool writes = job->workload->writes, verify = job->verify && !writes;
    const size_t block = (size_t)job->block_bytes;
    const struct fill_identity identity = worker->file->identity;
    int (*const move)(struct engine_file *, void *, size_t, uint64_t) =
        writes ? job->engine->write : job->engine->read;
    for (uint64_t step = 0; step < order->blocks;) {
        if (atomic_load_explicit(&worker->all->stop, memory_order_relaxed))
            return;
        uint64_t offset = access_pattern_block(order, step) * block;
        void *data = writes ? fill_buffer_block(&memory->fill, offset, identity) : memory->read_block;
        int64_t before = clock_mono_ns();
        int rc = move(file, data, block, offset);
        int64_t after = clock_mono_ns();
        if (rc < 0) {
            if (rc == -EINTR)
                continue;
            fail_block(worker, writes ? "write" : "read", offset, rc);
            return;
        }
        histogram_record(&worker->histogram, after - before);
        struct fill_mismatch mismatch;
        if (verify && fill_pattern_compare(job->pattern, data, block, offset, identity, &mismatch) < 0) {
            fail_verify(worker, &mismatch);
            return;
        }
        step++;
        atomic_store_explicit(&worker->bytes_done, step * block, memory_order_relaxed);
    }
}

static void flush_file(struct worker *worker, struct engine_file *file)
{
    int rc;
    atomic_store(&worker->stage, WORKER_FLUSHING);
    do
        rc = worker->all->job.engine->flush(file);
    while (rc == -EINTR && !atomic_load(&worker->all->stop));
    if (rc < 0)
        fail_call(worker, "fsync", rc);
}

static void close_file(struct worker *worker, struct engine_file *file)
{
    atomic_store(&worker->stage, WORKER_CLOSING);
    int rc = worker->all->job.engine->close(file);
    if (rc < 0)
        fail_call(worker, "close", rc);
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
    worker->done_ns = clock_mono_ns();
    SCOPE_UNLOCK(&all->lock);
    if (all->first_done_ns)
        return;
    all->first_done_ns = worker->done_ns;
    for (uint32_t i = 0; i < all->job.threads; i++)
        all->first_done_bytes += atomic_load_explicit(&all->worker[i].bytes_done, memory_order_relaxed);
}

static void run_window(struct worker *worker, struct engine_file *file, struct worker_memory *memory,
                       const struct access_pattern *order)
{
    double cpu_before = thread_cpu_s();
    atomic_store(&worker->stage, WORKER_MOVING);
    move_blocks(worker, file, memory, order);
    if (worker->all->job.workload->writes) {
        int64_t flush_begin = clock_mono_ns();
        if (!atomic_load(&worker->all->stop))
            flush_file(worker, file);
        close_file(worker, file);
        note_done(worker);
        worker->flush_ns = worker->done_ns - flush_begin;
        worker->cpu_s = thread_cpu_s() - cpu_before;
    } else {
        note_done(worker);
        worker->cpu_s = thread_cpu_s() - cpu_before;
        close_file(worker, file);
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

void *worker_loop_main(void *argument)
{
    struct worker *worker = argument;
    const struct workers_job *job = &worker->all->job;
    interrupt_block_here();
    struct worker_memory memory;
    int rc = memory_init(&memory, job);
    if (rc < 0) {
        fail_call(worker, "buffer", rc);
        memory_fini(&memory);
        leave(worker, false);
        return NULL;
    }
    struct access_pattern order;
    access_pattern_init(&order, job->file_bytes / job->block_bytes, job->workload->random,
                        access_pattern_mix(job->seed, worker->index));
    struct engine_open how = {.path = worker->file->path,
                              .create = job->workload->new_files,
                              .write = job->workload->writes,
                              .direct = job->direct};
    struct engine_file *file = NULL;
    do
        rc = job->engine->open(&how, &file);
    while (rc == -EINTR && !atomic_load(&worker->all->stop));
    if (rc < 0)
        fail_call(worker, how.create ? "create" : "open", rc);
    else if (wait_at_gate(worker))
        run_window(worker, file, &memory, &order);
    else
        close_file(worker, file);
    memory_fini(&memory);
    leave(worker, rc == 0);
    return NULL;
}
