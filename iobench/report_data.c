/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON block of the report. Names are short because a result has thousands of entries; report.js is its only reader and
 * says what each is.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/units.h"
#include "iobench/environment.h"
#include "iobench/report_parts.h"

static double percent(double log_ratio)
{
    return 100 * exp(log_ratio);
}

/* [estimate, low, high, whether these are an interval, rounds] */
static void print_estimate(FILE *out, const char *name, bool present, const struct statistics_estimate *e)
{
    if (present)
        fprintf(out, ",\"%s\":[%.9g,%.9g,%.9g,%d,%zu]", name, percent(e->estimate), percent(e->low), percent(e->high), e->interval,
                e->count);
}

/* p: rate, u: CPU time per byte, both in percent of the reference; v: verdict; f: survives many looks; z: noise differs; m: more
 * rounds needed. */
static void print_ratio(FILE *out, const struct compare_ratio *ratio)
{
    print_estimate(out, "p", ratio->present, &ratio->rate);
    print_estimate(out, "u", ratio->cpu_present, &ratio->cpu);
    if (!ratio->present)
        return;
    fprintf(out, ",\"v\":%d", (int)ratio->verdict);
    if (ratio->survives)
        fputs(",\"f\":1", out);
    if (ratio->noisier)
        fputs(",\"z\":1", out);
    if (ratio->verdict == VERDICT_UNCLEAR)
        fprintf(out, ",\"m\":%" PRIu32, statistics_rounds_needed(&ratio->rate));
}

/* The interval of a rate itself: signed-rank on the logarithms of its runs. In units of `unit` per second. */
static void print_rate(FILE *out, const struct compare_series *s, double unit)
{
    double *logs = check_alloc(malloc((s->run_count + 1) * sizeof *logs));
    for (size_t i = 0; i < s->run_count; i++)
        logs[i] = s->runs[i].log[COMPARE_RATE];
    struct statistics_estimate e = statistics_paired(logs, s->run_count);
    double spread = 100 * expm1(statistics_spread(logs, s->run_count));
    fprintf(out, ",\"r\":[%.9g,%.9g,%.9g,%d,%zu,%.4g]", s->rate_median / unit, exp(e.low) / unit, exp(e.high) / unit,
            e.interval,
s->run_count, spread);
    free(logs);
}

static void print_cell_arm(FILE *out, const struct comparison *c, const struct compare_cell *cell, size_t arm)
{
    const struct compare_series *s = &cell->series[arm];
    fprintf(out, "{\"s\":%d", (int)s->state);
    if (s->why) {
        fputs(",\"w\":", out);
        report_json(out, s->why);
    }
    if (s->state == COMPARE_MEASURED) {
        print_rate(out, s, test_kind_counts_operations(cell->test) ? 1 : 1e6);
        if (s->cpu_known)
            fprintf(out, ",\"c\":%.9g", s->cpu_median);
        fputs(",\"l\":", out);
        report_latency_print(out, c, cell, arm);
    }
    if (arm != c->baseline)
        print_ratio(out, &cell->ratios[arm]);
    fputc('}', out);
}

static void print_cells(FILE *out, const struct comparison *c)
{
    fputs(",\n\"cells\":[", out);
    for (size_t i = 0; i < c->cell_count; i++) {
        const struct compare_cell *cell = &c->cells[i];
        fprintf(out, "%s{\"t\":\"%s\",\"b\":%" PRIu64 ",\"j\":%" PRIu32 ",\"a\":[", i ? ",\n" : "\n", test_kind_name(cell->test),
                cell->block_bytes, cell->threads);
        for (size_t arm = 0; arm < c->arm_count; arm++) {
            fputs(arm ? "," : "", out);
            print_cell_arm(out, c, cell, arm);
        }
        fputs("]}", out);
    }
    fputc(']', out);
}

static void print_means(FILE *out, const struct comparison *c)
{
    char block[UNITS_TEXT];
    fputs(",\n\"means\":[", out);
    for (size_t i = 0; i < c->mean_count; i++) {
        const struct compare_mean *mean = &c->means[i];
        fprintf(out, "%s{\"over\":%d,\"name\":\"", i ? ",\n" : "\n", (int)mean->axis);
        if (mean->axis == COMPARE_OVERALL)
            fputs("overall", out);
        else if (mean->axis == COMPARE_BY_TEST)
            fputs(test_kind_name(mean->test), out);
        else if (mean->axis == COMPARE_BY_BLOCK)
            fputs(units_format_size(mean->block_bytes, block), out);
        else
            fprintf(out, "%" PRIu32 " thread%s", mean->threads, mean->threads == 1 ? "" : "s");
        fputs("\",\"a\":[", out);
        for (size_t arm = 0; arm < c->arm_count; arm++) {
            fprintf(out, "%s{\"s\":%d,\"k\":%zu", arm ? "," : "", (int)mean->ratios[arm].state, mean->ratios[arm].cells);
            if (mean->cpu[arm] > 0)
                fprintf(out, ",\"c\":%.9g", mean->cpu[arm]);
            if (arm != c->baseline)
                print_ratio(out, &mean->ratios[arm]);
            fputc('}', out);
        }
        fputs("]}", out);
    }
    fputc(']', out);
}

static void print_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, ",\"%s\":", name);
    report_json(out, text);
}

static void print_counts(FILE *out, const char *name, const size_t *counts, size_t count)
{
    fprintf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%zu", i ? "," : "", counts[i]);
    fputc(']', out);
}

/* Shares of the machine's busy CPU time over all good samples: workers, cluster, unattributed. */
static void print_shares(FILE *out, const struct compare_arm *a)
{
    double machine = 0, workers = 0, cluster = 0, unattributed = 0;
    for (size_t i = 0; i < a->result->sample_count; i++) {
        const struct sample *s = &a->result->samples[i];
        if (s->scenario != a->scenario || s->failed || s->mark[0])
            continue;
        machine += s->cpu.machine_busy_s;
        workers += s->cpu.workers_s;
        cluster += s->cpu.cluster_s;
        unattributed += s->cpu.unattributed_s;
    }
    /* What the processes' clocks say can add up to more than the machine's, which ticks more coarsely. */
    double all = workers + cluster + unattributed;
    if (machine > 0 && all > 0)
        fprintf(out, ",\"share\":[%.9g,%.9g,%.9g]", workers / all, cluster / all, unattributed / all);
}

static void print_arm(FILE *out, const struct comparison *c, size_t arm)
{
    const struct compare_arm *a = &c->arms[arm];
    const struct scenario_info *s = &a->result->scenarios[a->scenario];
    fputs(arm ? ",\n{\"name\":" : "\n{\"name\":", out);
    report_json(out, a->name);
    fprintf(out, ",\"role\":\"%s\",\"ref\":%zu,\"paired\":%d,\"best\":%zu,\"worst\":%zu,\"survivors\":%zu",
            arm == c->baseline ? "baseline" : a->noise ? "noise" : "candidate", a->reference, a->paired, a->best, a->worst,
            a->survivors);
    print_counts(out, "states", a->cells, COMPARE_FAILED + 1);
    print_counts(out, "verdicts", a->verdicts, VERDICTS);
    print_text(out, "label", a->result->label);
    print_text(out, "directory", s->directory);
    print_text(out, "fs", s->fs_type);
    print_text(out, "source", s->mount_source);
    print_text(out, "journal", s->journal_mode);
    print_text(out, "sha256", s->binary_hash);
    print_shares(out, a);
    fputc('}', out);
}

static void print_environment(FILE *out, const struct result_environment *e)
{
    char memory[UNITS_TEXT];
    fputs(",\"environment\":{\"cpus\":", out);
    fprintf(out, "%" PRIu32 ",\"halt_poll_ns\":%" PRId64, e->cpus, e->guest_halt_poll_ns);
    print_text(out, "memory", units_format_bytes(e->memory_bytes, memory));
    print_text(out, "hostname", e->hostname);
    print_text(out, "kernel", e->kernel);
    print_text(out, "cpu", e->cpu_model);
    print_text(out, "os", e->os);
    print_text(out, "virtualization", e->virtualization);
    print_text(out, "cpuidle", e->cpuidle_driver);
    print_text(out, "cpuidle_governor", e->cpuidle_governor);
    print_text(out, "frequency_governor", e->frequency_governor);
    print_text(out, "containers", e->container_runtime);
    const char *warning = environment_idle_warning(e);
    print_text(out, "warning", warning ? warning : "");
    fputc('}', out);
}

static void print_result(FILE *out, const struct result *r)
{
    fprintf(out, "{\"smoke\":%d,\"complete\":%d,\"earlier\":%d,\"verify\":%d,\"started_ms\":%" PRId64 ",\"finished_ms\":%" PRId64
                 ",\"planned\":%" PRIu32 ",\"samples\":%zu,\"seed\":\"%" PRIu64 "\"",
            r->smoke_test, r->complete, r->earlier_figures, r->verify, r->started_wall_ns / 1000000, r->finished_wall_ns / 1000000,
            r->rounds_planned, r->sample_count, r->seed);
    print_text(out, "label", r->label);
    print_text(out, "version", r->version);
    print_text(out, "sha256", r->iobench_hash);
    print_text(out, "command", r->command_line);
    print_text(out, "preset", r->preset);
    print_text(out, "engine", r->engine);
    print_text(out, "cache", cache_mode_name(r->cache));
    fputs(",\"files\":[", out);
    for (uint32_t i = 0; i < r->block_count; i++)
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", r->block_bytes[i], r->file_bytes_by_block[i]);
    fputc(']', out);
    print_environment(out, &r->environment);
    fputc('}', out);
}

void report_data_print(FILE *out, const struct comparison *c)
{
    report_samples_begin(c);
    fprintf(out, "{\"baseline\":%zu,\"rounds\":%zu,\"cpu\":%d,\"tested\":%zu,\"results\":[", c->baseline, c->most_rounds,
            c->cpu_known, c->tested);
    for (size_t i = 0; i < c->result_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        print_result(out, c->results[i]);
    }
    fputs("],\n\"arms\":[", out);
    for (size_t arm = 0; arm < c->arm_count; arm++)
        print_arm(out, c, arm);
    fputc(']', out);
    print_cells(out, c);
    print_means(out, c);
    fputs(",\n\"runs\":", out);
    report_samples_print(out, c);
    fputs("}\n", out);
    report_samples_end();
}
