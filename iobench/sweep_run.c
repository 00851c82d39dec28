/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/sweep_run.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "iobench/access_pattern.h"
#include "iobench/interrupt.h"
#include "iobench/result_file.h"
#include "iobench/sweep_adaptive.h"
#include "iobench/sweep_resume.h"
#include "iobench/text_print.h"

#define SAVE_EVERY_NS (1 * NS_PER_S)
/* A large result takes long to write; saving must not become what the sweep does. */
#define SAVE_SHARE 20

enum { FAILURES_TOLD = 20 };

void sweep_run_save(struct sweep *s)
{
    int64_t begin = clock_mono_ns();
    s->result.finished_wall_ns = clock_wall_ns();
    int rc = result_file_write(&s->result, s->out);
    s->saved_ns = clock_mono_ns();
    s->save_took_ns = s->saved_ns - begin;
    if (rc < 0 && !s->save_failed) {
        s->save_failed = true;
        progress_note(&s->progress, "iobench sweep: cannot write the result to %s: %s", s->out, strerror(-rc));
    }
}

static void save_if_due(struct sweep *s)
{
    int64_t every = SAVE_SHARE * s->save_took_ns;
    if (clock_mono_ns() - s->saved_ns >= (every > SAVE_EVERY_NS ? every : SAVE_EVERY_NS))
        sweep_run_save(s);
}

static void tell(struct sweep *s, const struct scenario *scenario, const struct sample *sample, const char *cell)
{
    s->new_runs++;
    if (sample->failed && ++s->failed_runs <= FAILURES_TOLD) {
        progress_note(&s->progress, "failed: %s, %s, round %u: %s", scenario->info->name, cell, sample->round + 1,
                      sample->error ? sample->error : "");
        if (s->failed_runs == FAILURES_TOLD)
            progress_note(&s->progress, "more failures are only counted; the result has them all");
    }
    if (sample->mark[0] && s->marked_runs++ == 0)
        progress_note(&s->progress,
                      "marked: %s, %s, round %u: %s (no ratio is taken from it; more are only counted)",
                      scenario->info->name, cell, sample->round + 1, sample->mark);
}

/* Appends the sample unless an interrupt came. */
static int run_one(struct sweep *s, uint32_t round, uint32_t cell_number, uint32_t index, uint32_t position)
{
    const struct plan_cell *cell = &s->plan.cells[cell_number];
    struct scenario *scenario = &s->scenarios[index];
    struct sample sample = {.scenario = index,
                            .round = round,
                            .position = position,
                            .test = cell->test,
                            .block_bytes = cell->block_bytes,
                            .threads = cell->threads};
    char text[RESULT_NAME];
    uint64_t number = ((uint64_t)round * s->plan.cell_count + cell_number) * s->plan.scenarios + position + 1;
    progress_run(&s->progress, number, round, s->plan.rounds, scenario->info->name, plan_cell_text(cell, text));
    uint64_t order_seed =
        access_pattern_mix(access_pattern_mix(s->result.seed, round), UINT64_C(1) << 32 | cell_number);
    int rc = s->machines ? machines_run(s->machines, &s->result, &s->progress, index, cell, order_seed, &sample)
                         : cell_run(&s->context, scenario, cell, order_seed, &sample);
    if (rc < 0)
        return rc;
    *result_add_sample(&s->result) = sample;
    tell(s, scenario, &sample, text);
    progress_done(&s->progress, cell->estimate_s);
    return 0;
}

static int run_cell(struct sweep *s, uint32_t round, uint32_t cell)
{
    uint32_t order[RESULT_SCENARIOS];
    plan_order(&s->plan, s->result.seed, cell, round, order);
    for (uint32_t position = 0; position < s->plan.scenarios; position++) {
        if (s->have[sweep_resume_run_number(&s->plan, round, cell, order[position])])
            continue;
        if (interrupt_requested())
            return -ECANCELED;
        int rc = run_one(s, round, cell, order[position], position);
        if (rc < 0)
            return rc;
    }
    save_if_due(s);
    return 0;
}

static void skip_what_is_there(struct sweep *s)
{
    for (uint32_t round = 0; round < s->plan.rounds; round++)
        for (uint32_t cell = 0; cell < s->plan.cell_count; cell++)
            for (uint32_t i = 0; i < s->plan.scenarios; i++)
                if (s->have[sweep_resume_run_number(&s->plan, round, cell, i)])
                    progress_skip(&s->progress, s->plan.cells[cell].estimate_s);
}

/* An adaptive sweep ends after whole rounds, when all intervals are narrow, or at the last one that is allowed. */
static bool narrow_enough(struct sweep *s, uint32_t rounds_done)
{
    const struct result *r = &s->result;
    if (r->until_width_hundredths == 0 || rounds_done < r->rounds_planned)
        return false;
    /* What an earlier sweep had already begun belongs to it. */
    for (size_t i = 0; i < r->sample_count; i++)
        if (r->samples[i].round >= rounds_done)
            return false;
    struct sweep_adaptive look = sweep_adaptive_look(r);
    progress_note(&s->progress, "after %u rounds %zu of %zu intervals are at most %g%% wide, the widest is %.1f%%", rounds_done,
                  look.narrow, look.cells, r->until_width_hundredths / 100.0, look.widest_percent);
    return sweep_adaptive_enough(&look) || rounds_done == s->plan.rounds;
}

void sweep_run(struct sweep *s)
{
    progress_init(&s->progress, s->plan.runs, s->plan.estimate_s);
    skip_what_is_there(s);
    fill_pattern_init(&s->pattern, s->result.seed);
    s->context.pattern = &s->pattern;
    s->context.progress = &s->progress;
    s->context.config = &s->result;
    s->context.load = &s->load;
    s->result.complete = false;
    sweep_run_save(s);
    for (uint32_t round = 0; round < s->plan.rounds && !s->interrupted; round++) {
        for (uint32_t cell = 0; cell < s->plan.cell_count && !s->interrupted; cell++)
            s->interrupted = run_cell(s, round, cell) == -ECANCELED;
        if (!s->interrupted && narrow_enough(s, round + 1)) {
            s->result.rounds_planned = round + 1;
            break;
        }
    }
    s->result.complete = !s->interrupted;
    sweep_run_save(s);
    progress_clear(&s->progress);
}
