/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/cell.h"

#include <errno.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/units.h"
#include "iobench/cache_policy.h"
#include "iobench/cpu_account.h"
#include "iobench/interrupt.h"
#include "iobench/served_counters.h"
#include "iobench/text_print.h"

#define STUCK_NS (5 * NS_PER_S)
#define COUNTERS_LAG_NS (1500 * NS_PER_MS)
#define COUNTERS_POLL_NS (100 * NS_PER_MS)
#define PREPARE_BLOCK (1 * MIB)
/* What the kernel and a client may read beyond the end of what was asked, per worker. */
#define READ_AHEAD_ALLOWANCE (4 * MIB)

/* A run in progress. */
struct run {
    struct cell_context *context;
    struct scenario *scenario;
    const struct plan_cell *cell;
    const struct workload *workload;
    uint64_t order_seed;
    struct sample *sample;
    bool measured; /* the workers that move now are those of the window */
    struct served_counters served_before;
    struct cpu_processes processes;
    struct cpu_snapshot cpu_before, cpu_after;
};

static bool watch_tick(void *argument, struct workers *workers)
{
    struct run *run = argument;
    struct progress *progress = run->context->progress;
    uint64_t bytes;
    int64_t elapsed_ns;
    char stuck[RESULT_TEXT];
    bool is_stuck = workers_describe_stuck(workers, STUCK_NS, stuck, sizeof stuck);
    if (run->measured && workers_all_flushing(workers) && strcmp(progress->phase, "flushing") != 0)
        progress_phase(progress, "flushing");
    workers_progress(workers, &bytes, &elapsed_ns);
    progress_moving(progress, bytes, elapsed_ns, is_stuck ? stuck : NULL);
    return interrupt_requested();
}

static int fail(struct run *run, const char *what, const char *error)
{
    run->sample->failed = true;
    text_print(run->sample->error, sizeof run->sample->error, "%s%s%s", what, what[0] ? ": " : "", error);
    return -EIO;
}

/* The threads stay as they are, in the kernel; what they may still touch (their own memory, the scenario's
 * paths, the pattern) is never freed. */
static int give_up(struct run *run, struct workers *workers)
{
    struct scenario *scenario = run->scenario;
    char stuck[RESULT_TEXT] = "a worker does not come back";
    (void)workers_describe_stuck(workers, 0, stuck, sizeof stuck);
    scenario->given_up = true;
    text_print(scenario->given_up_why, sizeof scenario->given_up_why, "given up, %s", stuck);
    return interrupt_requested() ? -ECANCELED : fail(run, "", scenario->given_up_why);
}

/* Runs workers to their end. 0; -EIO with the sample failed; -ECANCELED. The CPU is accounted around the
 * window of a measured run. */
static int run_workers(struct run *run, const char *phase, const struct workers_job *job,
                       struct workers_outcome *outcome)
{
    struct workers_watch watch = {watch_tick, run};
    struct workers *workers;
    progress_phase(run->context->progress, phase);
    int rc = workers_create(job, &workers);
    if (rc < 0)
        return fail(run, "cannot start workers", strerror(-rc));
    rc = workers_await(workers, WORKERS_READY, &watch);
    if (rc == 0) {
        if (run->measured)
            cpu_account_take(&run->processes, &run->cpu_before);
        workers_release(workers);
        rc = workers_await(workers, WORKERS_DONE, &watch);
        if (run->measured)
            cpu_account_take(&run->processes, &run->cpu_after);
    }
    if (rc == -ETIMEDOUT)
        return give_up(run, workers);
    workers_outcome(workers, outcome);
    workers_destroy(workers);
    if (outcome->failed)
        return fail(run, run->measured ? "" : phase, outcome->error);
    return rc;
}

static struct workers_job job_of(const struct run *run, enum test_kind test, const struct worker_file *files,
                                 uint32_t threads)
{
    return (struct workers_job){
        .engine = run->context->engine,
        .workload = workload_of(test),
        .pattern = run->context->pattern,
        .files = files,
        .threads = threads,
        .block_bytes = run->cell->block_bytes,
        .file_bytes = run->cell->file_bytes,
        .seed = run->order_seed,
        .direct = run->context->cache == CACHE_DIRECT,
    };
}

/* The largest block up to PREPARE_BLOCK of which the file size is a multiple. */
static uint64_t prepare_block(uint64_t file_bytes)
{
    uint64_t block = PREPARE_BLOCK;
    while (file_bytes % block != 0)
        block /= 2;
    return block;
}

/* Whole-file passes outside of the window go through the page cache in large blocks. */
static int pass_over(struct run *run, const char *phase, enum test_kind test, const struct worker_file *files,
                     uint32_t threads)
{
    struct workers_job job = job_of(run, test, files, threads);
    struct workers_outcome outcome;
    job.engine = &engine_sync;
    job.block_bytes = prepare_block(job.file_bytes);
    job.direct = false;
    return run_workers(run, phase, &job, &outcome);
}

static int prepare_files(struct run *run)
{
    struct file_set *set = &run->scenario->prepared;
    uint32_t threads = run->cell->threads;
    if (set->file_bytes != run->cell->file_bytes && set->file_bytes != 0) {
        progress_phase(run->context->progress, "removing");
        int rc = file_set_remove(set, set->count);
        if (rc < 0)
            return fail(run, "removing files of another size", strerror(-rc));
    }
    if (set->file_bytes == run->cell->file_bytes && set->count >= threads)
        return 0;
    uint32_t have = set->count;
    set->file_bytes = run->cell->file_bytes;
    file_set_renew(set, have, threads, ++run->context->generation);
    int rc = pass_over(run, "preparing", TEST_WRITE, set->files + have, threads - have);
    if (rc == 0)
        set->count = threads;
    return rc;
}

static int drop_caches(struct run *run)
{
    const struct file_set *set = &run->scenario->prepared;
    bool cold = false;
    uint32_t which = 0;
    progress_phase(run->context->progress, "dropping caches");
    int rc = cache_policy_drop(set->files, run->cell->threads, &cold, &which);
    if (rc < 0)
        return fail(run, set->paths[which], strerror(-rc));
    if (!cold && run->context->cache == CACHE_COLD && !run->workload->writes)
        text_print(run->sample->mark, sizeof run->sample->mark, "cache-not-cold");
    return 0;
}

static int set_cache(struct run *run)
{
    if (run->workload->new_files)
        return 0;
    if (run->context->cache == CACHE_WARM)
        return pass_over(run, "warming", TEST_READ, run->scenario->prepared.files, run->cell->threads);
    return drop_caches(run);
}

static uint64_t served_since(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

static void take_served(struct run *run, const struct served_counters *after)
{
    struct sample *sample = run->sample;
    const struct served_counters *before = &run->served_before;
    sample->served_read_bytes = served_since(before->read_bytes, after->read_bytes);
    sample->served_read_requests = served_since(before->read_requests, after->read_requests);
    sample->served_write_bytes = served_since(before->write_bytes, after->write_bytes);
    sample->served_write_requests = served_since(before->write_requests, after->write_requests);
    sample->served_known = true;
}

const char *cell_served_mark(const struct sample *sample, enum cache_mode cache, uint64_t copies)
{
    if (!sample->served_known || cache == CACHE_WARM)
        return "";
    double moved = (double)sample->bytes;
    if (workload_of(sample->test)->writes)
        return (double)sample->served_write_bytes < 0.99 * moved * (double)copies ? "served-bytes" : "";
    double served = (double)sample->served_read_bytes;
    double most = 2 * moved + (double)(READ_AHEAD_ALLOWANCE * sample->threads);
    return served < 0.95 * moved || served > most ? "served-bytes" : "";
}

/* Counters that come from the servers' last reports trail behind, so too little is believed only after a while. */
static void account_served(struct run *run)
{
    struct sample *sample = run->sample;
    struct served_counters after;
    if (!run->served_before.known)
        return;
    int64_t until = clock_mono_ns() + COUNTERS_LAG_NS;
    const char *mark;
    for (;;) {
        served_counters_read(run->scenario->mount_point, &after);
        if (!after.known)
            return;
        take_served(run, &after);
        mark = cell_served_mark(sample, run->context->cache, after.write_copies);
        if (!mark[0] || clock_mono_ns() > until || interrupt_requested())
            break;
        clock_sleep_ns(COUNTERS_POLL_NS);
    }
    if (mark[0] && !sample->mark[0])
        text_print(sample->mark, sizeof sample->mark, "%s", mark);
}

static void take_outcome(struct run *run, const struct workers_outcome *outcome)
{
    struct sample *sample = run->sample;
    sample->start_wall_ns = outcome->release_wall_ns;
    sample->bytes = outcome->bytes;
    sample->operations = outcome->operations;
    sample->elapsed_ns = outcome->elapsed_ns;
    sample->first_done_ns = outcome->first_done_ns;
    sample->first_done_bytes = outcome->first_done_bytes;
    sample->flush_ns = outcome->flush_ns;
    sample->latency = outcome->latency;
    cpu_account_between(&run->processes, &run->cpu_before, &run->cpu_after, outcome->cpu_s, &sample->cpu);
}

static int measure(struct run *run, struct file_set *set)
{
    uint32_t threads = run->cell->threads;
    struct workers_job job = job_of(run, run->cell->test, set->files, threads);
    struct workers_outcome outcome;
    job.verify = run->context->verify;
    if (run->workload->writes)
        file_set_renew(set, 0, threads, ++run->context->generation);
    cpu_account_processes(run->scenario->pids_path, &run->processes);
    served_counters_read(run->scenario->mount_point, &run->served_before);
    run->measured = true;
    int rc = run_workers(run, "running", &job, &outcome);
    run->measured = false;
    if (rc == 0) {
        take_outcome(run, &outcome);
        account_served(run);
    }
    return rc;
}

/* Reads back what was written, from the storage rather than from the cache where that can be had. */
static int verify_written(struct run *run, const struct file_set *set)
{
    bool cold;
    uint32_t which;
    progress_phase(run->context->progress, "dropping caches");
    if (run->context->cache != CACHE_WARM)
        (void)!cache_policy_drop(set->files, run->cell->threads, &cold, &which);
    struct workers_job job = job_of(run, TEST_READ, set->files, run->cell->threads);
    struct workers_outcome outcome;
    job.verify = true;
    return run_workers(run, "verifying", &job, &outcome);
}

/* After anything but success nobody knows what the files hold; the next cell makes new ones. */
static void clean_up(struct run *run, int rc)
{
    struct scenario *scenario = run->scenario;
    if (scenario->given_up)
        return;
    struct file_set *set = run->workload->new_files ? &scenario->written : &scenario->prepared;
    if (!run->workload->new_files && rc == 0)
        return;
    progress_phase(run->context->progress, "removing");
    int removed = file_set_remove(set, run->workload->new_files ? run->cell->threads : FILE_SET_FILES);
    if (removed < 0 && rc == 0)
        (void)fail(run, "removing the test files", strerror(-removed));
}

int cell_run(struct cell_context *context, struct scenario *scenario, const struct plan_cell *cell,
             uint64_t order_seed, struct sample *sample)
{
    struct run run = {context, scenario, cell, workload_of(cell->test), order_seed, sample, .measured = false};
    CHECK(cell->threads <= FILE_SET_FILES);
    sample->start_wall_ns = clock_wall_ns();
    if (scenario->given_up) {
        (void)fail(&run, "", scenario->given_up_why);
        return 0;
    }
    struct file_set *set = run.workload->new_files ? &scenario->written : &scenario->prepared;
    int rc = run.workload->new_files ? 0 : prepare_files(&run);
    if (rc == 0)
        rc = set_cache(&run);
    if (rc == 0)
        rc = measure(&run, set);
    if (rc == 0 && context->verify && run.workload->writes)
        rc = verify_written(&run, set);
    clean_up(&run, rc);
    return rc == -ECANCELED ? -ECANCELED : 0;
}
