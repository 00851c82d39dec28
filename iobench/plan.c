/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/units.h"
#include "iobench/access_pattern.h"
#include "iobench/text_print.h"
#include "iobench/workload.h"

#define ALL_TESTS "write,read,random-write,random-read"
#define ANY_BLOCK UINT64_MAX

/* quick is sized to take a minute or two per two scenarios where 4k moves 50 MB/s; the runs are as short as
 * that. article is sized so that every cell takes about as long, and four scenarios less than an hour on two cores; a file for
 * one worker has a thousand blocks at 4k and 32 at 2048k. full has the larger files everywhere. */
static const struct plan_preset presets[PLAN_PRESETS] = {
    [PLAN_QUICK] = {"quick", "4k,64k,1024k", "1,4", ALL_TESTS, 3, true,
                    {{4 * KIB, 8 * MIB}, {64 * KIB, 32 * MIB}, {ANY_BLOCK, 64 * MIB}}},
    [PLAN_ARTICLE] = {"article", "4k-2048k", "1-16", ALL_TESTS, 6, false,
                      {{4 * KIB, 4 * MIB}, {8 * KIB, 8 * MIB}, {32 * KIB, 16 * MIB}, {256 * KIB, 32 * MIB}, {ANY_BLOCK, 64 * MIB}}},
    [PLAN_FULL] = {"full", "4k-2048k", "1-16", ALL_TESTS, 10, false, {{ANY_BLOCK, 64 * MIB}}},
};

const struct plan_preset *plan_preset(enum plan_preset_number number)
{
    CHECK((unsigned)number < PLAN_PRESETS);
    return &presets[number];
}

uint64_t plan_file_bytes(const struct plan_preset *preset, uint64_t given_bytes, uint64_t block_bytes)
{
    uint64_t bytes = given_bytes;
    for (unsigned i = 0; bytes == 0; i++)
        if (block_bytes <= preset->sizes[i].block_bytes)
            bytes = preset->sizes[i].file_bytes;
    return bytes - bytes % block_bytes;
}

/* What a small cluster on two cores does, roughly: so much per operation and per byte, and half as much again
 * in parallel. Only for the first estimate; the running sweep goes by what it sees. */
static double assumed_seconds(const struct plan_cell *cell, const struct result *config)
{
    static const double per_operation_s = 80e-6, per_byte_s = 1.7e-9, per_run_s = 0.1, parallel = 1.5, per_name_s = 400e-6;
    if (cell->block_bytes == 0)
        return per_run_s + per_name_s * config->files_per_worker * cell->threads;
    double operations = (double)(cell->file_bytes / cell->block_bytes);
    if (config->rate_limit && operations * cell->threads / (double)config->rate_limit > operations * per_operation_s)
        return per_run_s + operations * cell->threads / (double)config->rate_limit;
    double one = operations * (per_operation_s + (double)cell->block_bytes * per_byte_s);
    double moving = cell->threads == 1 ? one : one * cell->threads / parallel;
    double preparing = (double)cell->file_bytes * cell->threads * per_byte_s * 0.25;
    if (config->duration_ns)
        return (double)(config->duration_ns + config->warm_up_ns) / 1e9 + preparing + per_run_s;
    return moving + preparing + per_run_s;
}

static uint64_t cell_bytes(const struct plan_cell *cell)
{
    return cell->file_bytes * cell->threads;
}

/* While a write test runs, the prepared files of its size may still be there. */
static uint64_t space_needed(const struct plan *plan)
{
    uint64_t prepared = 0, written = 0;
    for (uint32_t i = 0; i < plan->cell_count; i++) {
        uint64_t *most = workload_of(plan->cells[i].test)->new_files ? &written : &prepared;
        if (cell_bytes(&plan->cells[i]) > *most)
            *most = cell_bytes(&plan->cells[i]);
    }
    return prepared + written;
}

/* An adaptive sweep may end earlier. */
static uint32_t most_rounds(const struct result *config)
{
    return config->max_rounds > config->rounds_planned ? config->max_rounds : config->rounds_planned;
}

void plan_init(struct plan *plan, const struct result *config)
{
    size_t count = (size_t)config->block_count * config->thread_count * config->test_count;
    *plan = (struct plan){.rounds = most_rounds(config), .scenarios = config->scenario_count};
    plan->cells = check_alloc(calloc(count ? count : 1, sizeof *plan->cells));
    for (uint32_t b = 0; b < config->block_count; b++) {
        for (uint32_t t = 0; t < config->thread_count; t++) {
            for (uint32_t k = 0; k < config->test_count; k++) {
                bool names = test_kind_counts_operations(config->tests[k]);
                if (names && b > 0)
                    continue;
                struct plan_cell *cell = &plan->cells[plan->cell_count++];
                cell->test = config->tests[k];
                cell->block_bytes = names ? 0 : config->block_bytes[b];
                cell->file_bytes = names ? 0 : config->file_bytes_by_block[b];
                cell->threads = config->threads[t];
                cell->estimate_s = assumed_seconds(cell, config);
                uint64_t runs = (uint64_t)plan->rounds * plan->scenarios;
                plan->runs += runs;
                plan->moved_bytes += runs * cell_bytes(cell);
                plan->estimate_s += (double)runs * cell->estimate_s;
            }
        }
    }
    plan->space_bytes = space_needed(plan);
}

void plan_fini(struct plan *plan)
{
    free(plan->cells);
    plan->cells = NULL;
    plan->cell_count = 0;
}

static void shuffle(uint32_t *values, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)(access_pattern_mix(seed, i) % i), kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

void plan_order(const struct plan *plan, uint64_t seed, uint32_t cell, uint32_t round,
                uint32_t order[RESULT_SCENARIOS])
{
    uint32_t count = plan->scenarios, names[RESULT_SCENARIOS], rows[RESULT_SCENARIOS];
    CHECK(count >= 1 && count <= RESULT_SCENARIOS && cell < plan->cell_count);
    uint64_t group_seed = access_pattern_mix(seed, round / count);
    shuffle(names, count, access_pattern_mix(group_seed, 1));
    shuffle(rows, count, access_pattern_mix(group_seed, 2));
    struct access_pattern cells;
    access_pattern_init(&cells, plan->cell_count, ACCESS_RANDOM_ONCE, 0, access_pattern_mix(group_seed, 3));
    uint32_t first_row = (uint32_t)(access_pattern_block(&cells, cell) % count);
    uint32_t row = rows[(first_row + round) % count];
    for (uint32_t place = 0; place < count; place++) {
        /* Williams' first row: 0, 1, n-1, 2, n-2, ...; every other row is that plus its number. */
        uint32_t step = place % 2 == 1 ? (place + 1) / 2 : (count - place / 2) % count;
        order[place] = names[(row + step) % count];
    }
}

const char *plan_cell_text(const struct plan_cell *cell, char text[RESULT_NAME])
{
    char size[UNITS_TEXT];
    text_print(text, RESULT_NAME, "%s%s%s x%u", test_kind_name(cell->test), cell->block_bytes ? " " : "",
               cell->block_bytes ? units_format_size(cell->block_bytes, size) : "", cell->threads);
    return text;
}

uint64_t plan_probe_block(const struct result *r)
{
    uint64_t least = r->block_bytes[0];
    for (uint32_t i = 1; i < r->block_count; i++)
        if ((r->block_bytes[i] & -r->block_bytes[i]) < (least & -least))
            least = r->block_bytes[i];
    return least;
}

static void print_sizes(FILE *out, const struct result *config)
{
    char block[UNITS_TEXT], size[UNITS_TEXT];
    for (uint32_t i = 0; i < config->block_count; i++)
        fprintf(out, "%s%s (%s)", i ? ", " : "", units_format_size(config->block_bytes[i], block),
                units_format_size(config->file_bytes_by_block[i], size));
    fputc('\n', out);
}

/* What is not as usual. */
static void print_load(FILE *out, const struct result *c)
{
    char size[UNITS_TEXT];
    fputs("\n  load       ", out);
    fprintf(out, "%s, %s", c->processes ? "processes" : "threads", c->shared_file ? "one shared file" : "a file for each");
    fprintf(out, ", sync %s", sync_mode_name(c->sync));
    if (c->queue_depth > 1)
        fprintf(out, ", depth %u", c->queue_depth);
    if (c->duration_ns)
        fprintf(out, ", %lld s a run after %lld s of warm-up", (long long)(c->duration_ns / NS_PER_S),
                (long long)(c->warm_up_ns / NS_PER_S));
    if (c->rate_limit)
        fprintf(out, ", %llu operations/s of all workers at most", (unsigned long long)c->rate_limit);
    if (c->working_set_bytes)
        fprintf(out, ", working set %s of each file", units_format_size(c->working_set_bytes, size));
    if (c->replacement)
        fputs(", random with replacement", out);
    if (c->read_percent)
        fprintf(out, ", mixed reads %u%%", c->read_percent);
    if (c->files_per_worker)
        fprintf(out, ", %u names for each", c->files_per_worker);
    if (c->cpus[0])
        fprintf(out, ", on CPUs %s", c->cpus);
    if (c->numa_node[0])
        fprintf(out, ", memory of node %s", c->numa_node);
}

void plan_print(FILE *out, const struct plan *plan, const struct result *config)
{
    char text[UNITS_TEXT];
    fprintf(out, "plan (preset %s, seed %llu, cache %s, engine %s%s)\n", config->preset,
            (unsigned long long)config->seed, cache_mode_name(config->cache), config->engine,
            config->verify ? ", verified" : "");
    fputs("  scenarios  ", out);
    for (uint32_t i = 0; i < config->scenario_count; i++)
        fprintf(out, "%s%s%s", i ? ", " : "", config->scenarios[i].name, i ? "" : " (baseline)");
    fputs("\n  tests      ", out);
    for (uint32_t i = 0; i < config->test_count; i++)
        fprintf(out, "%s%s", i ? ", " : "", test_kind_name(config->tests[i]));
    print_load(out, config);
    fputs("\n  blocks     ", out);
    print_sizes(out, config);
    fputs("             (in brackets: file size per worker)\n  threads    ", out);
    for (uint32_t i = 0; i < config->thread_count; i++)
        fprintf(out, "%s%u", i ? ", " : "", config->threads[i]);
    if (config->workers[0])
        fprintf(out, " on each of %s", config->workers);
    fprintf(out, "\n  runs       %u cells x %u rounds x %u scenarios = %llu\n", plan->cell_count, plan->rounds,
            plan->scenarios, (unsigned long long)plan->runs);
    if (config->until_width_hundredths)
        fprintf(out, "             (at most: ends after %u rounds or more, when every interval is %g%% wide or less)\n",
                config->rounds_planned, config->until_width_hundredths / 100.0);
    fprintf(out, "  bytes      %s moved in all\n", units_format_bytes(plan->moved_bytes, text));
    fprintf(out, "  space      %s in each scenario\n", units_format_bytes(plan->space_bytes, text));
    double minutes = plan->estimate_s / 60;
    fprintf(out, "  time       about %.*f min, if a 4k operation takes 90 us and 1024k 1.9 ms\n",
            minutes < 10 ? 1 : 0, minutes);
}
