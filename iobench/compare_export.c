/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/compare_export.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common/check.h"

const char *compare_export_state(enum compare_state state)
{
    static const char *const names[] = {[COMPARE_MEASURED] = "measured",
                                        [COMPARE_MISSING] = "missing",
                                        [COMPARE_MARKED] = "marked",
                                        [COMPARE_FAILED] = "failed"};
    return names[state];
}

static void set(json_t *object, const char *key, json_t *value)
{
    CHECK(json_object_set_new(object, key, check_alloc(value)) == 0);
}

static json_t *estimate_json(const struct statistics_estimate *e)
{
    json_t *o = check_alloc(json_object());
    set(o, "log_ratio", json_real(e->estimate));
    set(o, "percent", json_real(100 * exp(e->estimate)));
    set(o, "low_percent", json_real(100 * exp(e->low)));
    set(o, "high_percent", json_real(100 * exp(e->high)));
    set(o, "change_percent", json_real(100 * expm1(e->estimate)));
    set(o, "speedup", json_real(exp(e->estimate)));
    set(o, "rounds", json_integer((json_int_t)e->count));
    set(o, "interval", json_boolean(e->interval));
    set(o, "confidence", json_real(e->confidence));
    set(o, "p", json_real(e->p));
    return o;
}

/* The members that say how a deployment compares; none where there is no figure. */
static void set_ratio(json_t *o, const struct compare_ratio *ratio)
{
    if (ratio->present) {
        set(o, "throughput", estimate_json(&ratio->rate));
        set(o, "verdict", json_string(statistics_verdict_name(ratio->verdict)));
        set(o, "rounds_needed", json_integer(statistics_rounds_needed(&ratio->rate)));
    }
    if (ratio->cpu_present)
        set(o, "cpu_per_gib", estimate_json(&ratio->cpu));
}

static json_t *cell_arm_json(const struct comparison *c, const struct compare_cell *cell, size_t arm)
{
    const struct compare_series *s = &cell->series[arm];
    json_t *o = check_alloc(json_object());
    set(o, "deployment", json_string(c->arms[arm].name));
    set(o, "state", json_string(compare_export_state(s->state)));
    if (s->why)
        set(o, "why", json_string(s->why));
    if (s->state == COMPARE_MEASURED) {
        set(o, "runs", json_integer((json_int_t)s->run_count));
        set(o, "bytes_per_second", json_real(s->rate_median));
        if (s->cpu_known)
            set(o, "cpu_seconds_per_gib", json_real(s->cpu_median));
    }
    if (arm == c->baseline)
        return o;
    set_ratio(o, &cell->ratios[arm]);
    if (cell->ratios[arm].present) {
        set(o, "survives_benjamini_hochberg", json_boolean(cell->ratios[arm].survives));
        set(o, "noise_differs", json_boolean(cell->ratios[arm].noisier));
    }
    return o;
}

static json_t *cell_json(const struct comparison *c, const struct compare_cell *cell)
{
    json_t *o = check_alloc(json_object()), *arms = check_alloc(json_array());
    set(o, "test", json_string(test_kind_name(cell->test)));
    set(o, "block_bytes", json_integer((json_int_t)cell->block_bytes));
    set(o, "threads", json_integer(cell->threads));
    for (size_t arm = 0; arm < c->arm_count; arm++)
        CHECK(json_array_append_new(arms, cell_arm_json(c, cell, arm)) == 0);
    set(o, "deployments", arms);
    return o;
}

static json_t *mean_json(const struct comparison *c, const struct compare_mean *mean)
{
    static const char *const axes[] = {"overall", "test", "block_bytes", "threads"};
    json_t *o = check_alloc(json_object()), *arms = check_alloc(json_array());
    set(o, "over", json_string(axes[mean->axis]));
    if (mean->axis == COMPARE_BY_TEST)
        set(o, "test", json_string(test_kind_name(mean->test)));
    if (mean->axis == COMPARE_BY_BLOCK)
        set(o, "block_bytes", json_integer((json_int_t)mean->block_bytes));
    if (mean->axis == COMPARE_BY_THREADS)
        set(o, "threads", json_integer(mean->threads));
    for (size_t arm = 0; arm < c->arm_count; arm++) {
        json_t *a = check_alloc(json_object());
        set(a, "deployment", json_string(c->arms[arm].name));
        if (mean->cpu[arm] > 0)
            set(a, "cpu_seconds_per_gib", json_real(mean->cpu[arm]));
        if (arm != c->baseline) {
            set(a, "cells", json_integer((json_int_t)mean->ratios[arm].cells));
            set_ratio(a, &mean->ratios[arm]);
        }
        CHECK(json_array_append_new(arms, a) == 0);
    }
    set(o, "deployments", arms);
    return o;
}

static json_t *arm_json(const struct comparison *c, size_t arm)
{
    const struct compare_arm *a = &c->arms[arm];
    json_t *o = check_alloc(json_object());
    set(o, "deployment", json_string(a->name));
    set(o, "label", json_string(a->result->label));
    set(o, "role", json_string(arm == c->baseline ? "baseline" : a->noise ? "noise floor" : "candidate"));
    set(o, "compared_with", json_string(c->arms[a->reference].name));
    set(o, "paired", json_boolean(a->paired));
    set(o, "smoke_test", json_boolean(a->result->smoke_test));
    set(o, "complete", json_boolean(a->result->complete));
    return o;
}

void compare_export_json(FILE *out, const struct comparison *c)
{
    json_t *o = check_alloc(json_object());
    json_t *arms = check_alloc(json_array()), *cells = check_alloc(json_array()), *means = check_alloc(json_array());
    for (size_t i = 0; i < c->arm_count; i++)
        CHECK(json_array_append_new(arms, arm_json(c, i)) == 0);
    for (size_t i = 0; i < c->mean_count; i++)
        CHECK(json_array_append_new(means, mean_json(c, &c->means[i])) == 0);
    for (size_t i = 0; i < c->cell_count; i++)
        CHECK(json_array_append_new(cells, cell_json(c, &c->cells[i])) == 0);
    set(o, "format", json_string("iobench-comparison"));
    set(o, "format_version", json_integer(1));
    set(o, "baseline", json_string(c->arms[c->baseline].name));
    set(o, "deployments", arms);
    set(o, "means", means);
    set(o, "cells", cells);
    (void)json_dumpf(o, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    fputc('\n', out);
    json_decref(o);
}

static void csv_text(FILE *out, const char *text)
{
    bool quote = strpbrk(text, ",\"\r\n") != NULL;
    if (quote)
        fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    if (quote)
        fputc('"', out);
}

/* percent, low, high, interval, p: empty where there is no figure. */
static void csv_estimate(FILE *out, bool present, const struct statistics_estimate *e)
{
    if (present)
        fprintf(out, ",%.10g,%.10g,%.10g,%d,%.6g", 100 * exp(e->estimate), 100 * exp(e->low), 100 * exp(e->high), e->interval,
                e->p);
    else
        fputs(",,,,,", out);
}

static void csv_ratio(FILE *out, const struct compare_ratio *ratio)
{
    csv_estimate(out, ratio->present, &ratio->rate);
    if (ratio->present)
        fprintf(out, ",%.10g,%.10g,%zu,%s,%u,%d", 100 * expm1(ratio->rate.estimate), exp(ratio->rate.estimate), ratio->rounds,
                statistics_verdict_name(ratio->verdict), statistics_rounds_needed(&ratio->rate), ratio->survives);
    else
        fputs(",,,,,,", out);
    csv_estimate(out, ratio->cpu_present, &ratio->cpu);
    fputc('\n', out);
}

static void csv_cell(FILE *out, const struct comparison *c, const struct compare_cell *cell, size_t arm)
{
    const struct compare_series *s = &cell->series[arm];
    fprintf(out, "cell,%s,%llu,%u,", test_kind_name(cell->test), (unsigned long long)cell->block_bytes, cell->threads);
    csv_text(out, c->arms[arm].name);
    fputc(',', out);
    csv_text(out, c->arms[c->arms[arm].reference].name);
    fprintf(out, ",%d,%s,", c->arms[arm].paired, compare_export_state(s->state));
    csv_text(out, s->why ? s->why : "");
    if (s->state == COMPARE_MEASURED)
        fprintf(out, ",1,%.10g,", s->rate_median);
    else
        fputs(",0,,", out);
    if (s->state == COMPARE_MEASURED && s->cpu_known)
        fprintf(out, "%.10g", s->cpu_median);
    csv_ratio(out, &cell->ratios[arm]);
}

static void csv_mean(FILE *out, const struct comparison *c, const struct compare_mean *mean, size_t arm)
{
    const struct compare_ratio *ratio = &mean->ratios[arm];
    fputs("mean,", out);
    fputs(mean->axis == COMPARE_BY_TEST ? test_kind_name(mean->test) : "", out);
    if (mean->axis == COMPARE_BY_BLOCK)
        fprintf(out, ",%llu,", (unsigned long long)mean->block_bytes);
    else
        fputs(",,", out);
    if (mean->axis == COMPARE_BY_THREADS)
        fprintf(out, "%u", mean->threads);
    fputc(',', out);
    csv_text(out, c->arms[arm].name);
    fputc(',', out);
    csv_text(out, c->arms[c->arms[arm].reference].name);
    fprintf(out, ",%d,%s,,%zu,,", c->arms[arm].paired, compare_export_state(ratio->state), ratio->cells);
    if (mean->cpu[arm] > 0)
        fprintf(out, "%.10g", mean->cpu[arm]);
    csv_ratio(out, ratio);
}

void compare_export_csv(FILE *out, const struct comparison *c)
{
    fputs("kind,test,block_bytes,threads,deployment,compared_with,paired,state,why,cells,bytes_per_second,cpu_seconds_per_gib,"
          "percent,low_percent,high_percent,interval,p,change_percent,speedup,rounds,verdict,rounds_needed,"
          "survives_benjamini_hochberg,cpu_percent,cpu_low_percent,cpu_high_percent,cpu_interval,cpu_p\n", out);
    for (size_t i = 0; i < c->cell_count; i++)
        for (size_t arm = 0; arm < c->arm_count; arm++)
            csv_cell(out, c, &c->cells[i], arm);
    for (size_t i = 0; i < c->mean_count; i++)
        for (size_t arm = 0; arm < c->arm_count; arm++)
            if (arm != c->baseline)
                csv_mean(out, c, &c->means[i], arm);
}
