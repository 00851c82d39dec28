/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/sweep_resume.h"

#include <string.h>

#include "iobench/text_print.h"

/* A comparison in progress: the first difference is kept. */
struct difference {
    bool found;
    char *why;
    size_t why_bytes;
};

static void compare_text(struct difference *d, const char *what, const char *stored, const char *now)
{
    if (d->found || strcmp(stored, now) == 0)
        return;
    d->found = true;
    text_print(d->why, d->why_bytes, "cannot resume: %s was '%s' and is '%s' now", what, stored, now);
}

static void compare_number(struct difference *d, const char *what, uint64_t stored, uint64_t now)
{
    if (d->found || stored == now)
        return;
    d->found = true;
    text_print(d->why, d->why_bytes, "cannot resume: %s was %llu and is %llu now", what,
               (unsigned long long)stored, (unsigned long long)now);
}

static void compare_axes(struct difference *d, const struct result *stored, const struct result *now)
{
    compare_text(d, "--sync", sync_mode_name(stored->sync), sync_mode_name(now->sync));
    compare_number(d, "--depth", stored->queue_depth, now->queue_depth);
    compare_number(d, "--rate", stored->rate_limit, now->rate_limit);
    compare_number(d, "--duration", (uint64_t)stored->duration_ns, (uint64_t)now->duration_ns);
    compare_number(d, "--warm-up", (uint64_t)stored->warm_up_ns, (uint64_t)now->warm_up_ns);
    compare_number(d, "--working-set", stored->working_set_bytes, now->working_set_bytes);
    compare_number(d, "--shared", stored->shared_file, now->shared_file);
    compare_number(d, "--processes", stored->processes, now->processes);
    compare_number(d, "--replacement", stored->replacement, now->replacement);
    compare_number(d, "--read-percent", stored->read_percent, now->read_percent);
    compare_number(d, "--stride", stored->stride_blocks, now->stride_blocks);
    compare_number(d, "--files", stored->files_per_worker, now->files_per_worker);
    compare_text(d, "--msync", stored->msync, now->msync);
    compare_text(d, "--cpus", stored->cpus, now->cpus);
    compare_text(d, "--numa-node", stored->numa_node, now->numa_node);
}

bool sweep_resume_settings_differ(const struct result *stored, const struct result *now, char *why,
                                  size_t why_bytes)
{
    struct difference d = {false, why, why_bytes};
    compare_text(&d, "--preset", stored->preset, now->preset);
    compare_text(&d, "--cache", cache_mode_name(stored->cache), cache_mode_name(now->cache));
    compare_text(&d, "--engine", stored->engine, now->engine);
    compare_text(&d, "--label", stored->label, now->label);
    compare_number(&d, "--seed", stored->seed, now->seed);
    compare_number(&d, "--rounds", stored->rounds_planned, now->rounds_planned);
    compare_number(&d, "--verify", stored->verify, now->verify);
    compare_number(&d, "--clients", stored->clients, now->clients);
    compare_text(&d, "--workers", stored->workers, now->workers);
    compare_axes(&d, stored, now);
    compare_number(&d, "the number of scenarios", stored->scenario_count, now->scenario_count);
    compare_number(&d, "the number of --block sizes", stored->block_count, now->block_count);
    compare_number(&d, "the number of --threads values", stored->thread_count, now->thread_count);
    compare_number(&d, "the number of --tests", stored->test_count, now->test_count);
    for (uint32_t i = 0; !d.found && i < now->scenario_count; i++)
        compare_text(&d, "a scenario", stored->scenarios[i].name, now->scenarios[i].name);
    for (uint32_t i = 0; !d.found && i < now->block_count; i++)
        compare_number(&d, "a --block size", stored->block_bytes[i], now->block_bytes[i]);
    for (uint32_t i = 0; !d.found && i < now->thread_count; i++)
        compare_number(&d, "a --threads value", stored->threads[i], now->threads[i]);
    for (uint32_t i = 0; !d.found && i < now->test_count; i++)
        compare_text(&d, "a test", test_kind_name(stored->tests[i]), test_kind_name(now->tests[i]));
    /* Last, because it follows from the blocks where it was not given. */
    compare_number(&d, "--size", stored->file_bytes, now->file_bytes);
    return d.found;
}

bool sweep_resume_scenario_differs(const struct scenario_info *stored, const struct scenario_info *now, char *why,
                                   size_t why_bytes)
{
    struct difference d = {false, why, why_bytes};
    char what[RESULT_NAME + 32];
    text_print(what, sizeof what, "the directory of %s", now->name);
    compare_text(&d, what, stored->directory, now->directory);
    /* Nothing was found yet when the sweep ended before its scenarios were up. */
    if (stored->fs_type[0]) {
        text_print(what, sizeof what, "the file system of %s", now->name);
        compare_text(&d, what, stored->fs_type, now->fs_type);
        text_print(what, sizeof what, "the program behind %s", now->name);
        compare_text(&d, what, stored->binary_hash, now->binary_hash);
        text_print(what, sizeof what, "the journal mode of %s", now->name);
        compare_text(&d, what, stored->journal_mode, now->journal_mode);
    }
    return d.found;
}

bool sweep_resume_machine_differs(const struct result *stored, const struct result *now, char *why,
                                  size_t why_bytes)
{
    struct difference d = {false, why, why_bytes};
    if (!stored->iobench_hash[0])
        return false;
    compare_text(&d, "iobench itself", stored->iobench_hash, now->iobench_hash);
    compare_text(&d, "the host", stored->environment.hostname, now->environment.hostname);
    compare_text(&d, "the kernel", stored->environment.kernel, now->environment.kernel);
    compare_number(&d, "the number of CPUs", stored->environment.cpus, now->environment.cpus);
    return d.found;
}

uint64_t sweep_resume_run_number(const struct plan *plan, uint32_t round, uint32_t cell, uint32_t scenario)
{
    return ((uint64_t)round * plan->cell_count + cell) * plan->scenarios + scenario;
}

static bool find_cell(const struct plan *plan, const struct sample *sample, uint32_t *cell)
{
    for (*cell = 0; *cell < plan->cell_count; (*cell)++) {
        const struct plan_cell *candidate = &plan->cells[*cell];
        if (candidate->test == sample->test && candidate->block_bytes == sample->block_bytes &&
            candidate->threads == sample->threads)
            return true;
    }
    return false;
}

void sweep_resume_take(const struct result *stored, const struct plan *plan, struct result *now, uint8_t *have)
{
    for (size_t i = 0; i < stored->sample_count; i++) {
        const struct sample *sample = &stored->samples[i];
        uint32_t cell;
        if (sample->failed || sample->round >= plan->rounds || sample->scenario >= plan->scenarios ||
            !find_cell(plan, sample, &cell))
            continue;
        uint8_t *mark = &have[sweep_resume_run_number(plan, sample->round, cell, sample->scenario)];
        if (*mark)
            continue;
        *mark = 1;
        sample_copy(result_add_sample(now), sample);
    }
}
