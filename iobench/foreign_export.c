/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/foreign_export.h"

#include <jansson.h>
#include <string.h>

#include "common/check.h"
#include "common/units.h"
#include "iobench/text_print.h"
#include "iobench/workload.h"

/* What IOzone calls those who do a test; and fio's rw where the pattern is the same. */
static const struct {
    enum test_kind test;
    const char *iozone, *fio;
} words[] = {
    {TEST_WRITE, "initial writers", "write"},
    {TEST_REWRITE, "rewriters", "write"},
    {TEST_READ, "readers", "read"},
    {TEST_REREAD, "re-readers", "read"},
    {TEST_BACKWARD_READ, "reverse readers", NULL},
    {TEST_STRIDE_READ, "stride readers", NULL},
    {TEST_RANDOM_READ, "random readers", "randread"},
    {TEST_MIXED, "mixed workload", "randrw"},
    {TEST_RANDOM_WRITE, "random writers", "randwrite"},
    {TEST_FWRITE, "fwriters", NULL},
    {TEST_FREWRITE, "refwriters", NULL},
    {TEST_FREAD, "freaders", NULL},
    {TEST_FREREAD, "refreaders", NULL},
};

enum { WORDS = sizeof words / sizeof words[0] };

static const char *iozone_word(enum test_kind test)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (words[i].test == test)
            return words[i].iozone;
    return NULL;
}

static const char *fio_word(enum test_kind test)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (words[i].test == test)
            return words[i].fio;
    return NULL;
}

static double per_second(uint64_t amount, const struct sample *s)
{
    return s->elapsed_ns > 0 ? (double)amount * 1e9 / (double)s->elapsed_ns : 0;
}

static uint64_t file_bytes_of(const struct result *r, const struct sample *s)
{
    for (uint32_t i = 0; i < r->block_count; i++)
        if (r->block_bytes[i] == s->block_bytes)
            return r->file_bytes_by_block[i];
    return r->file_bytes;
}

/* Threads of all machines together. */
static uint32_t workers_of(const struct result *r, const struct sample *s)
{
    return r->workers[0] && s->instances.count > 1 ? s->threads * s->instances.count : s->threads;
}

/* ---- IOzone ---- */

static void iozone_line(FILE *out, const char *what, const char *who, uint32_t threads, double bytes_per_s)
{
    char text[96];
    if (who)
        text_print(text, sizeof text, "%s for %2u %s", what, threads, who);
    else
        text_print(text, sizeof text, "%s", what);
    fprintf(out, "\t%-47s\t= %11.2f kB/sec\n", text, bytes_per_s / 1024);
}

static void iozone_sample(FILE *out, const struct result *r, const struct sample *s)
{
    const char *who = iozone_word(s->test);
    if (!who || s->failed)
        return;
    fprintf(out, "\tDeployment %s, round %u%s%s\n", r->scenarios[s->scenario].name, s->round + 1, s->mark[0] ? ", marked: " : "",
            s->mark);
    fprintf(out, "\tRecord Size %llu kB\n\tFile size set to %llu kB\n", (unsigned long long)(s->block_bytes / 1024),
            (unsigned long long)(file_bytes_of(r, s) / 1024));
    uint32_t workers = workers_of(r, s);
    iozone_line(out, "Children see throughput", who, workers, (double)s->worker_rates.mean * workers);
    iozone_line(out, "Parent sees throughput", who, workers, per_second(s->bytes, s));
    iozone_line(out, "Min throughput per process", NULL, 0, (double)s->worker_rates.min);
    iozone_line(out, "Max throughput per process", NULL, 0, (double)s->worker_rates.max);
    iozone_line(out, "Avg throughput per process", NULL, 0, (double)s->worker_rates.mean);
    /* By size, all have moved the same; by time, the least of them is not kept. */
    if (r->duration_ns == 0)
        fprintf(out, "\t%-47s\t= %11.2f kB\n", "Min xfer", (double)s->bytes / workers / 1024);
    fputc('\n', out);
}

void foreign_export_iozone(FILE *out, const struct comparison *c)
{
    for (size_t k = 0; k < c->result_count; k++) {
        const struct result *r = c->results[k];
        fprintf(out, "\tThroughput report of %s in the form of IOzone\n\tCommand line used: %s\n\tOutput is in kBytes/sec\n\n",
                r->version, r->command_line);
        for (size_t i = 0; i < r->sample_count; i++)
            iozone_sample(out, r, &r->samples[i]);
    }
}

/* ---- fio ---- */

static void set(json_t *object, const char *key, json_t *value)
{
    CHECK(json_object_set_new(object, key, check_alloc(value)) == 0);
}

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *latency_json(const struct sample *s)
{
    const struct latency_summary *l = &s->latency;
    json_t *o = check_alloc(json_object()), *percentiles = check_alloc(json_object());
    set(o, "min", whole(l->min_ns));
    set(o, "max", whole(l->max_ns));
    set(o, "mean", json_real((double)l->mean_ns));
    set(o, "N", whole(s->operations));
    set(percentiles, "50.000000", whole(l->p50_ns));
    set(percentiles, "90.000000", whole(l->p90_ns));
    set(percentiles, "99.000000", whole(l->p99_ns));
    set(percentiles, "99.900000", whole(l->p999_ns));
    set(percentiles, "99.990000", whole(l->p9999_ns));
    set(o, "percentile", percentiles);
    return o;
}

static json_t *direction_json(const struct sample *s)
{
    json_t *o = check_alloc(json_object());
    set(o, "io_bytes", whole(s->bytes));
    set(o, "io_kbytes", whole(s->bytes / 1024));
    set(o, "bw_bytes", whole((uint64_t)per_second(s->bytes, s)));
    set(o, "bw", whole((uint64_t)(per_second(s->bytes, s) / 1024)));
    set(o, "iops", json_real(per_second(s->operations, s)));
    set(o, "runtime", whole((uint64_t)(s->elapsed_ns / 1000000)));
    set(o, "total_ios", whole(s->operations));
    set(o, "lat_ns", latency_json(s));
    return o;
}

static json_t *options_json(const struct result *r, const struct sample *s)
{
    json_t *o = check_alloc(json_object());
    char number[UNITS_TEXT];
    if (fio_word(s->test))
        set(o, "rw", json_string(fio_word(s->test)));
    text_print(number, sizeof number, "%llu", (unsigned long long)s->block_bytes);
    set(o, "bs", json_string(number));
    text_print(number, sizeof number, "%llu", (unsigned long long)file_bytes_of(r, s));
    set(o, "size", json_string(number));
    text_print(number, sizeof number, "%u", workers_of(r, s));
    set(o, "numjobs", json_string(number));
    text_print(number, sizeof number, "%u", r->queue_depth ? r->queue_depth : 1);
    set(o, "iodepth", json_string(number));
    set(o, "direct", json_string(r->cache == CACHE_DIRECT ? "1" : "0"));
    set(o, "directory", json_string(r->scenarios[s->scenario].directory));
    return o;
}

static json_t *job_json(const struct result *r, const struct sample *s)
{
    json_t *o = check_alloc(json_object());
    const struct workload *workload = workload_of(s->test);
    char name[3 * RESULT_NAME], size[UNITS_TEXT];
    text_print(name, sizeof name, "%s %s %s x%u round %u", r->scenarios[s->scenario].name, test_kind_name(s->test),
               units_format_size(s->block_bytes, size), s->threads, s->round + 1);
    set(o, "jobname", json_string(name));
    set(o, "error", json_integer(s->failed ? 5 : 0));
    set(o, "job options", options_json(r, s));
    set(o, "iobench_test", json_string(test_kind_name(s->test)));
    if (s->failed)
        set(o, "iobench_error", json_string(s->error ? s->error : ""));
    if (s->mark[0])
        set(o, "iobench_mark", json_string(s->mark));
    if (!s->failed)
        set(o, workload->reads && workload->writes ? "mixed" : workload->writes ? "write" : "read", direction_json(s));
    return o;
}

void foreign_export_fio(FILE *out, const struct comparison *c)
{
    json_t *top = check_alloc(json_object()), *jobs = check_alloc(json_array());
    set(top, "iobench version", json_string(c->results[0]->version));
    set(top, "timestamp", whole((uint64_t)(c->results[0]->started_wall_ns / 1000000000)));
    for (size_t k = 0; k < c->result_count; k++)
        for (size_t i = 0; i < c->results[k]->sample_count; i++)
            if (!test_kind_counts_operations(c->results[k]->samples[i].test))
                CHECK(json_array_append_new(jobs, job_json(c->results[k], &c->results[k]->samples[i])) == 0);
    set(top, "jobs", jobs);
    (void)json_dumpf(top, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(top);
}
