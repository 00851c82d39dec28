/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "iobench/text_print.h"
#include "iobench/tick_clock.h"
#include "iobench/worker_loop.h"

/* A worker's way through its blocks. */
struct moves {
    struct worker *worker;
    const struct workers_job *job;
    struct engine_file *file;
    struct worker_memory *memory;
    struct access_pattern order;
    size_t block;
    uint64_t steps;   /* by size; UINT64_MAX by time */
    uint64_t mix_seed;
    bool mixed, verify;
    double due_step_ns; /* between operations of this worker, when limited; else 0 */
    int64_t window_ns, end_ns;
};

static void moves_init(struct moves *m, struct worker *worker, struct engine_file *file, struct worker_memory *memory)
{
    const struct workers_job *job = &worker->all->job;
    const struct load *load = &job->load;
    const struct workload *workload = job->workload;
    uint64_t seed = access_pattern_mix(job->seed, worker->index), blocks = job->file_bytes / job->block_bytes;
    uint64_t touched = load->working_set_bytes ? load->working_set_bytes / job->block_bytes : blocks;
    enum access_order order = workload->order;
    if (order == ACCESS_RANDOM_ONCE && load->replacement)
        order = ACCESS_RANDOM_REPLACEMENT;
    *m = (struct moves){.worker = worker, .job = job, .file = file, .memory = memory, .block = (size_t)job->block_bytes};
    access_pattern_init(&m->order, touched < blocks ? touched : blocks, order, load->stride_blocks, seed);
    m->steps = load->duration_ns ? UINT64_MAX : blocks;
    m->mix_seed = access_pattern_mix(seed, 1);
    m->mixed = workload->reads && workload->writes;
    m->verify = job->verify && workload->reads;
    if (load->rate_limit)
        m->due_step_ns = 1e9 * job->threads / (double)load->rate_limit;
    m->window_ns = worker->all->window_ns;
    m->end_ns = load->duration_ns ? worker->all->end_ns : INT64_MAX;
}

static bool step_writes(const struct moves *m, uint64_t step)
{
    if (m->mixed)
        return access_pattern_mix(m->mix_seed, step) % 100 >= m->job->load.read_percent;
    return m->job->workload->writes;
}

/* Waits until the step is due, in even distances and the workers one after the other, and gives that moment: a storage that
 * falls behind is late for every operation that waits, not only for the one in hand. False when stopped. */
static bool await_due(const struct moves *m, uint64_t step, int64_t *due_ns)
{
    const struct workers *all = m->worker->all;
    double share = m->due_step_ns / m->job->threads;
    *due_ns = all->release_ns + (int64_t)((double)step * m->due_step_ns + m->worker->index * share);
    if (*due_ns >= m->end_ns)
        return false;
    while (!atomic_load_explicit(&all->stop, memory_order_relaxed)) {
        int64_t now = tick_clock_ns();
        if (now >= *due_ns)
            return true;
        struct timespec until = {.tv_sec = *due_ns / NS_PER_S, .tv_nsec = *due_ns % NS_PER_S};
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return false;
}

static void fail_block(const struct moves *m, bool write, uint64_t offset, int error)
{
    char what[64];
    text_print(what, sizeof what, "%s at %llu", write ? "write" : "read", (unsigned long long)offset);
    worker_loop_fail_call(m->worker, what, error);
}

/* True if the data is what it should be. */
static bool verify_block(const struct moves *m, const void *data, uint64_t offset)
{
    const struct worker_file *file = m->worker->file;
    const struct workers_job *job = m->job;
    struct fill_mismatch bad;
    char what[200];
    bool newest_alone = file->oldest == 0 || offset - file->base < job->covered_bytes;
    uint32_t oldest = newest_alone ? file->identity.generation : file->oldest;
    if (fill_pattern_compare(job->pattern, data, m->block, offset, file->identity, oldest, &bad) == 0)
        return true;
    text_print(what, sizeof what,
               "wrong data at %llu: expected 0x%02x, found 0x%02x (its sector says offset %llu file %u generation %u)",
               (unsigned long long)bad.offset, bad.expected, bad.found, (unsigned long long)bad.stamp_offset, bad.stamp.file,
               bad.stamp.generation);
    worker_loop_fail(m->worker, what);
    return false;
}

/* One more has ended. Outside of the window it is only counted apart. False: the time is over. */
static bool record(const struct moves *m, bool write, int64_t begin_ns, int64_t end_ns)
{
    struct worker *worker = m->worker;
    if (__builtin_expect(end_ns < m->window_ns, 0)) {
        worker->warm_up_operations++;
        worker->cpu_before_s = 0; /* to be taken when the window begins */
        return true;
    }
    if (__builtin_expect(worker->cpu_before_s == 0, 0))
        worker->cpu_before_s = worker_loop_thread_cpu_s();
    histogram_record(&worker->histogram, end_ns - begin_ns);
    worker->read_operations += !write;
    uint64_t done = atomic_load_explicit(&worker->operations_done, memory_order_relaxed);
    atomic_store_explicit(&worker->operations_done, done + 1, memory_order_relaxed);
    return end_ns < m->end_ns;
}

/* One request at a time. The end of one is the begin of the next, unless something lies between them that is not the
 * storage's: one look at the clock for each operation. */
static void run_alone(const struct moves *m)
{
    struct worker *worker = m->worker;
    const struct engine *engine = m->job->engine;
    const bool chained = !m->verify && m->due_step_ns <= 0;
    int64_t begin = tick_clock_ns();
    for (uint64_t step = 0; step < m->steps;) {
        if (atomic_load_explicit(&worker->all->stop, memory_order_relaxed))
            return;
        uint64_t offset = worker->file->base + access_pattern_block(&m->order, step) * m->block;
        bool write = step_writes(m, step);
        void *data = write ? fill_buffer_block(m->memory->fill, offset, worker->file->identity) : *m->memory->read_block;
        if (m->due_step_ns > 0 && !await_due(m, step, &begin))
            return;
        if (!chained && m->due_step_ns <= 0)
            begin = tick_clock_ns();
        int rc = write ? engine->write(m->file, data, m->block, offset) : engine->read(m->file, data, m->block, offset);
        int64_t end = tick_clock_ns();
        if (rc < 0) {
            if (rc == -EINTR)
                continue;
            fail_block(m, write, offset, rc);
            return;
        }
        bool go_on = record(m, write, begin, end);
        if (m->verify && !write && !verify_block(m, data, offset))
            return;
        if (!go_on)
            return;
        begin = end;
        step++;
    }
}

/* A reap that fails for good must not keep us for ever. */
enum { REAP_TRIES = 2 * LOAD_DEPTH_MAX };

/* Several requests in flight. */
struct flight {
    struct engine_io io[LOAD_DEPTH_MAX];
    int64_t begin_ns[LOAD_DEPTH_MAX];
    uint32_t free[LOAD_DEPTH_MAX], free_count;
    uint32_t depth;
};

static int launch(const struct moves *m, struct flight *f, uint64_t step, int64_t begin_ns)
{
    uint32_t slot = f->free[f->free_count - 1];
    struct engine_io *io = &f->io[slot];
    uint64_t offset = m->worker->file->base + access_pattern_block(&m->order, step) * m->block;
    bool write = step_writes(m, step);
    void *data = write ? fill_buffer_block(&m->memory->fill[slot], offset, m->worker->file->identity)
                       : m->memory->read_block[slot];
    *io = (struct engine_io){.buffer = data, .bytes = m->block, .offset = offset, .write = write, .slot = slot};
    f->begin_ns[slot] = begin_ns ? begin_ns : tick_clock_ns();
    int rc = m->job->engine->submit(m->file, io);
    if (rc == 0)
        f->free_count--;
    else if (rc != -EINTR && rc != -EAGAIN)
        fail_block(m, write, offset, rc);
    return rc;
}

/* Takes what has ended. False when one has failed or the time is over. */
static bool land(const struct moves *m, struct flight *f)
{
    struct engine_io *done[LOAD_DEPTH_MAX];
    int count = m->job->engine->reap(m->file, done, f->depth - f->free_count);
    int64_t end = tick_clock_ns();
    bool go_on = true;
    if (count < 0 && count != -EINTR)
        worker_loop_fail_call(m->worker, "io_getevents", count);
    for (int i = 0; i < count; i++) {
        struct engine_io *io = done[i];
        f->free[f->free_count++] = io->slot;
        if (io->result < 0) {
            fail_block(m, io->write, io->offset, io->result);
            go_on = false;
        } else {
            go_on = record(m, io->write, f->begin_ns[io->slot], end) && go_on;
            if (m->verify && !io->write && !verify_block(m, io->buffer, io->offset))
                go_on = false;
        }
    }
    return go_on && (count >= 0 || count == -EINTR);
}

static void run_flight(const struct moves *m, struct flight *f)
{
    uint64_t step = 0;
    bool go_on = true;
    while (go_on && (step < m->steps || f->free_count < f->depth)) {
        if (atomic_load_explicit(&m->worker->all->stop, memory_order_relaxed))
            break;
        while (go_on && step < m->steps && f->free_count > 0) {
            int64_t begin = 0;
            if (m->due_step_ns > 0 && !await_due(m, step, &begin)) {
                go_on = false;
                break;
            }
            int rc = launch(m, f, step, begin);
            step += rc == 0;
            if (rc == -EAGAIN || rc == -EINTR)
                break;
            go_on = rc == 0;
        }
        if (f->free_count < f->depth)
            go_on = land(m, f) && go_on;
    }
    /* What is in flight uses this worker's memory until it has ended. */
    for (int failures = 0; f->free_count < f->depth && failures < REAP_TRIES;)
        failures += !land(m, f);
}

void worker_moves_run(struct worker *worker, struct engine_file *file, struct worker_memory *memory)
{
    struct moves m;
    moves_init(&m, worker, file, memory);
    if (memory->slots == 1) {
        run_alone(&m);
        return;
    }
    struct flight f = {.depth = memory->slots};
    for (; f.free_count < f.depth; f.free_count++)
        f.free[f.free_count] = f.free_count;
    run_flight(&m, &f);
}
