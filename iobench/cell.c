/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/cell.h"

#include <errno.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/units.h"
#include "iobench/cache_policy.h"
#include "iobench/cpu_account.h"
#include "iobench/memory_account.h"
#include "iobench/interrupt.h"
#include "iobench/served_check.h"
#include "iobench/served_counters.h"
#include "iobench/server_calls.h"
#include "iobench/text_print.h"
#include "iobench/worker_names.h"

#define STUCK_NS (5 * NS_PER_S)
#define COUNTERS_LAG_NS (1500 * NS_PER_MS)
#define COUNTERS_POLL_NS (100 * NS_PER_MS)
#define PREPARE_BLOCK (1 * MIB)

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
    uint64_t calls_before;
    bool calls_known;
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
    if (run->measured && progress_wants_p99(progress))
        progress_p99(progress, workers_peek_p99_ns(workers));
    progress_moving(progress, bytes, elapsed_ns, is_stuck ? stuck : NULL);
    const struct cell_together *together = run->context->together;
    bool stop = together && together->tick(together->context, progress->phase, run->measured, bytes);
    return stop || interrupt_requested();
}

static int fail(struct run *run, const char *what, const char *error)
{
    char text[2 * RESULT_TEXT];
    run->sample->failed = true;
    text_print(text, sizeof text, "%s%s%s", what, what[0] ? ": " : "", error);
    sample_set_error(run->sample, text);
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
    int64_t release_ns = 0;
    if (rc == 0 && run->measured && run->context->together)
        rc = run->context->together->ready(run->context->together->context, &release_ns);
    if (rc == 0) {
        if (run->measured)
            cpu_account_take(&run->processes, &run->cpu_before);
        if (release_ns > clock_mono_ns())
            clock_sleep_ns(release_ns - clock_mono_ns());
        workers_release(workers);
        if (run->measured && job->load.warm_up_ns > 0) {
            workers_await_window(workers, &watch);
            cpu_account_take(&run->processes, &run->cpu_before);
        }
        rc = workers_await(workers, WORKERS_DONE, &watch);
        if (run->measured)
            cpu_account_take(&run->processes, &run->cpu_after);
        if (run->measured)
            memory_account_take(&run->processes, &run->sample->memory);
    }
    if (rc == -ETIMEDOUT)
        return give_up(run, workers);
    workers_outcome(workers, outcome);
    if (run->measured && run->context->together)
        workers_latency(workers, run->context->together->latency);
    workers_destroy(workers);
    run->sample->failed_workers = outcome->failed_workers;
    if (outcome->failed)
        return fail(run, run->measured ? "" : phase, outcome->error);
    return rc;
}

/* What each worker works on: a file, or a part of the shared one. The parts stay with the scenario, since a worker that
 * never comes back may look at them for ever. */
static const struct worker_file *parts_of(struct run *run, const struct file_set *set)
{
    if (!run->context->load->shared || run->workload->names)
        return set->files;
    for (uint32_t i = 0; i < run->cell->threads; i++) {
        run->scenario->parts[i] = set->files[0];
        run->scenario->parts[i].base = i * run->cell->file_bytes;
    }
    return run->scenario->parts;
}

static struct workers_job job_of(const struct run *run, enum test_kind test, const struct worker_file *files,
                                 uint32_t threads)
{
    const struct result *config = run->context->config;
    return (struct workers_job){
        .engine = load_engine(config, test),
        .workload = workload_of(test),
        .pattern = run->context->pattern,
        .files = files,
        .threads = threads,
        .block_bytes = run->cell->block_bytes ? run->cell->block_bytes : 1,
        .file_bytes = run->cell->file_bytes,
        .seed = run->order_seed,
        .load = *run->context->load,
        .instances = run->scenario->instances,
        .direct = config->cache == CACHE_DIRECT,
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

/* Whole-file passes outside of the window go through the page cache in large blocks, without limits or placement. */
static struct workers_job pass_job(const struct run *run, enum test_kind test, const struct worker_file *files, uint32_t threads)
{
    struct workers_job job = job_of(run, test, files, threads);
    const struct load *load = run->context->load;
    job.engine = &engine_sync;
    job.load = (struct load){.depth = 1, .shared = load->shared, .working_set_bytes = load->working_set_bytes};
    job.direct = false;
    return job;
}

static int pass_over(struct run *run, const char *phase, enum test_kind test, const struct worker_file *files,
                     uint32_t threads)
{
    struct workers_job job = pass_job(run, test, files, threads);
    struct workers_outcome outcome;
    job.block_bytes = prepare_block(job.file_bytes);
    job.load.working_set_bytes = 0;
    return run_workers(run, phase, &job, &outcome);
}

static int remove_prepared(struct run *run, struct file_set *set)
{
    progress_phase(run->context->progress, "removing");
    int rc = file_set_remove(set, set->count);
    return rc < 0 ? fail(run, "removing files of another size", strerror(-rc)) : 0;
}

static int prepare_files(struct run *run)
{
    struct file_set *set = &run->scenario->prepared;
    uint32_t threads = run->cell->threads;
    bool shared = run->context->load->shared, other_size = set->file_bytes != run->cell->file_bytes;
    if (set->file_bytes != 0 && (other_size || (shared && set->count < threads))) {
        int rc = remove_prepared(run, set);
        if (rc < 0)
            return rc;
    }
    if (set->file_bytes == run->cell->file_bytes && set->count >= threads)
        return 0;
    uint32_t have = set->count;
    set->file_bytes = run->cell->file_bytes;
    file_set_renew(set, have, threads, ++run->context->generation);
    int rc = pass_over(run, "preparing", TEST_WRITE, parts_of(run, set) + have, threads - have);
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
    uint32_t files = run->context->load->shared ? 1 : run->cell->threads;
    int rc = cache_policy_drop(set->files, files, &cold, &which);
    if (rc < 0)
        return fail(run, set->paths[which], strerror(-rc));
    bool through_cache = !load_engine(run->context->config, run->cell->test)->outside_kernel && !run->workload->read_before;
    if (!cold && run->context->config->cache == CACHE_COLD && run->workload->reads && through_cache)
        text_print(run->sample->mark, sizeof run->sample->mark, "cache-not-cold");
    return 0;
}

static int set_cache(struct run *run)
{
    const struct workload *workload = run->workload;
    enum cache_mode cache = run->context->config->cache;
    if (workload->names && cache != CACHE_WARM)
        cache_policy_drop_names();
    if (workload->new_files || workload->names)
        return 0;
    int rc = cache == CACHE_WARM ? 0 : drop_caches(run);
    if (rc < 0 || (cache != CACHE_WARM && !workload->read_before))
        return rc;
    return pass_over(run, "warming", TEST_READ, parts_of(run, &run->scenario->prepared), run->cell->threads);
}

/* What is known of a cluster that does not count. */
static void account_calls(struct run *run)
{
    struct sample *sample = run->sample;
    uint64_t calls;
    if (!run->calls_known || !server_calls_read(&run->processes, &calls) || calls < run->calls_before)
        return;
    sample->server_calls = calls - run->calls_before;
    const char *mark = served_check_calls(sample, run->context->config);
    if (mark[0] && !sample->mark[0])
        text_print(sample->mark, sizeof sample->mark, "%s", mark);
}

/* Counters that come from the servers' last reports trail behind, so too little is believed only after a while. */
static void account_served(struct run *run)
{
    struct sample *sample = run->sample;
    struct served_counters after;
    if (run->context->together)
        return;
    if (!run->served_before.known) {
        account_calls(run);
        return;
    }
    int64_t until = clock_mono_ns() + COUNTERS_LAG_NS;
    const char *mark;
    for (;;) {
        served_counters_read(run->scenario->mount_point, &after);
        if (!after.known)
            return;
        served_counters_between(&run->served_before, &after, sample);
        /* Before any data has moved, nobody knows how it will. */
        struct scenario_info *info = run->scenario->info;
        text_print(info->transport, sizeof info->transport, "%s", after.transport);
        mark = served_check_mark(sample, run->context->config, after.write_copies);
        if (!mark[0] || clock_mono_ns() > until || interrupt_requested())
            break;
        clock_sleep_ns(COUNTERS_POLL_NS);
    }
    if (mark[0] && !sample->mark[0])
        text_print(sample->mark, sizeof sample->mark, "%s", mark);
}

static void take_outcome(struct run *run, struct workers_outcome *outcome)
{
    struct sample *sample = run->sample;
    sample->start_wall_ns = outcome->release_wall_ns;
    sample->bytes = outcome->bytes;
    sample->operations = outcome->operations;
    sample->elapsed_ns = outcome->elapsed_ns;
    sample->first_done_ns = outcome->first_done_ns;
    sample->first_done_bytes = outcome->first_done_bytes;
    sample->flush_ns = outcome->flush_ns;
    sample->fsync_ns = outcome->fsync_ns;
    sample->close_ns = outcome->close_ns;
    sample->read_operations = run->workload->reads && run->workload->writes ? outcome->read_operations : 0;
    sample->warm_up_bytes = outcome->warm_up_operations * run->cell->block_bytes;
    sample->worker_rates = outcome->rates;
    sample->instances = outcome->instances;
    struct sample series = {.intervals = outcome->intervals, .interval_count = outcome->interval_count}, copy;
    sample_copy(&copy, &series);
    sample->intervals = copy.intervals;
    sample->interval_count = copy.interval_count;
    sample->latency = outcome->latency;
    cpu_account_pressure(&run->cpu_before, &run->cpu_after, &sample->pressure);
    cpu_account_between(&run->processes, &run->cpu_before, &run->cpu_after, outcome->cpu_s, &sample->cpu);
}

/* True if the run writes every block anew. */
static bool covers_all(const struct run *run)
{
    const struct load *load = run->context->load;
    bool again = load->replacement && run->workload->order == ACCESS_RANDOM_ONCE;
    return workload_covers(run->workload) && !load->duration_ns && !load->working_set_bytes && !again;
}

/* What is written has a new generation. Where not all is written, the ones before stay right. */
static void renew_generation(struct run *run, struct file_set *set)
{
    uint32_t threads = run->cell->threads;
    for (uint32_t i = 0; i < threads && !run->workload->new_files; i++)
        if (set->files[i].oldest == 0)
            set->files[i].oldest = set->files[i].identity.generation;
    file_set_renew(set, 0, threads, ++run->context->generation);
}

static int measure(struct run *run, struct file_set *set)
{
    uint32_t threads = run->cell->threads;
    struct workers_outcome outcome;
    if (run->workload->writes)
        renew_generation(run, set);
    struct workers_job job = job_of(run, run->cell->test, parts_of(run, set), threads);
    job.verify = run->context->config->verify;
    cpu_account_processes(run->scenario->pids_path, &run->processes);
    served_counters_read(run->scenario->mount_point, &run->served_before);
    run->calls_known = server_calls_read(&run->processes, &run->calls_before);
    run->measured = true;
    int rc = run_workers(run, "running", &job, &outcome);
    run->measured = false;
    if (rc != 0)
        return rc;
    take_outcome(run, &outcome);
    account_served(run);
    for (uint32_t i = 0; covers_all(run) && i < threads; i++)
        set->files[i].oldest = 0;
    return 0;
}

/* Reads back what was written, from the storage rather than from the cache where that can be had, and with plain reads
 * whatever engine wrote. */
static int verify_written(struct run *run, const struct file_set *set)
{
    bool cold;
    uint32_t which;
    progress_phase(run->context->progress, "dropping caches");
    if (run->context->config->cache != CACHE_WARM)
        (void)!cache_policy_drop(set->files, run->context->load->shared ? 1 : run->cell->threads, &cold, &which);
    struct workers_job job = pass_job(run, TEST_READ, parts_of(run, set), run->cell->threads);
    struct workers_outcome outcome;
    job.direct = run->context->config->cache == CACHE_DIRECT;
    job.verify = true;
    if (run->workload->order == ACCESS_SAME)
        job.covered_bytes = run->cell->block_bytes;
    return run_workers(run, "verifying", &job, &outcome);
}

static struct file_set *set_of(const struct run *run)
{
    struct scenario *scenario = run->scenario;
    return run->workload->names ? &scenario->names : run->workload->new_files ? &scenario->written : &scenario->prepared;
}

static int remove_names(struct run *run, const struct file_set *set)
{
    int first = 0;
    for (uint32_t i = 0; i < run->cell->threads; i++) {
        int rc = worker_names_remove(set->paths[i]);
        first = first ? first : rc;
    }
    return first;
}

/* After anything but success nobody knows what the files hold; the next cell makes new ones. */
static void clean_up(struct run *run, int rc)
{
    if (run->scenario->given_up)
        return;
    struct file_set *set = set_of(run);
    bool prepared = !run->workload->new_files && !run->workload->names;
    if (rc == 0 && (prepared || run->scenario->keep_files))
        return;
    progress_phase(run->context->progress, "removing");
    int removed = run->workload->names ? remove_names(run, set)
                                       : file_set_remove(set, prepared ? FILE_SET_FILES : run->cell->threads);
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
    struct file_set *set = set_of(&run);
    int rc = run.workload->new_files || run.workload->names ? 0 : prepare_files(&run);
    if (rc == 0)
        rc = set_cache(&run);
    if (rc == 0)
        rc = measure(&run, set);
    if (rc == 0 && context->config->verify && run.workload->writes)
        rc = verify_written(&run, set);
    clean_up(&run, rc);
    if (rc == -ECANCELED)
        sample_fini(sample);
    return rc == -ECANCELED ? -ECANCELED : 0;
}
