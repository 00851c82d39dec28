/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "iobench/byte_out.h"
#include "iobench/result_json.h"
#include "iobench/result_schema.h"

static uint64_t limited(uint64_t value)
{
    return value < INT64_MAX ? value : INT64_MAX;
}

static void write_value(struct byte_out *out, const struct result_field *field, const char *at)
{
    char digits[24];
    switch (field->kind) {
    case RESULT_FIELD_TEXT:
        byte_out_json_string(out, at);
        break;
    case RESULT_FIELD_OWNED_TEXT:
        byte_out_json_string(out, *(char *const *)(const void *)at);
        break;
    case RESULT_FIELD_U32:
        byte_out_u64(out, *(const uint32_t *)(const void *)at);
        break;
    case RESULT_FIELD_U64:
        byte_out_u64(out, limited(*(const uint64_t *)(const void *)at));
        break;
    case RESULT_FIELD_I64:
        byte_out_i64(out, *(const int64_t *)(const void *)at);
        break;
    case RESULT_FIELD_BOOL:
        byte_out_text(out, *(const bool *)at ? "true" : "false");
        break;
    case RESULT_FIELD_SECONDS:
        byte_out_i64(out, llround(*(const double *)(const void *)at * 1e9));
        break;
    case RESULT_FIELD_TEXT64:
        (void)snprintf(digits, sizeof digits, "\"%" PRIu64 "\"", *(const uint64_t *)(const void *)at);
        byte_out_text(out, digits);
        break;
    case RESULT_FIELD_TEST:
        byte_out_json_string(out, test_kind_name(*(const enum test_kind *)(const void *)at));
        break;
    case RESULT_FIELD_CACHE:
        byte_out_json_string(out, cache_mode_name(*(const enum cache_mode *)(const void *)at));
        break;
    case RESULT_FIELD_SYNC:
        byte_out_json_string(out, sync_mode_name(*(const enum sync_mode *)(const void *)at));
        break;
    }
}

/* A text is empty when its first byte is 0, anything else when all of its bytes are. */
static bool is_empty(const struct result_field *field, const char *base)
{
    static const char zeros[sizeof(uint64_t)];
    const char *at = base + field->offset;
    return field->kind == RESULT_FIELD_TEXT ? at[0] == '\0' : memcmp(at, zeros, field->size) == 0;
}

static bool left_out(const struct result_field *field, const char *base)
{
    return field->optional && is_empty(field, base);
}

static bool group_left_out(unsigned number, const struct sample *sample)
{
    if (number < RESULT_WORKER_RATES)
        return number == RESULT_SERVED && !sample->served_known;
    const struct result_group *group = &result_schema_sample_groups[number];
    for (size_t i = 0; i < group->count; i++)
        if (!is_empty(&group->fields[i], (const char *)sample))
            return false;
    return true;
}

/* "intervals":[[end_ns,operations],...] */
static void write_intervals(struct byte_out *out, const struct sample *sample)
{
    if (sample->interval_count == 0)
        return;
    byte_out_text(out, ",\"intervals\":[");
    for (uint32_t i = 0; i < sample->interval_count; i++) {
        byte_out_text(out, i ? ",[" : "[");
        byte_out_i64(out, sample->intervals[i].end_ns);
        byte_out_bytes(out, ",", 1);
        byte_out_u64(out, limited(sample->intervals[i].operations));
        byte_out_bytes(out, "]", 1);
    }
    byte_out_text(out, "]");
}

/* The members of a group, with the separator before all but the first. */
static void write_fields(struct byte_out *out, const struct result_group *group, const void *base, const char *separator)
{
    bool first = true;
    for (size_t i = 0; i < group->count; i++) {
        const struct result_field *field = &group->fields[i];
        if (left_out(field, base))
            continue;
        if (!first)
            byte_out_text(out, separator);
        first = false;
        byte_out_bytes(out, "\"", 1);
        byte_out_text(out, field->name);
        byte_out_bytes(out, "\":", 2);
        write_value(out, field, (const char *)base + field->offset);
    }
}

static void write_sample(struct byte_out *out, const struct sample *sample)
{
    byte_out_bytes(out, "{", 1);
    write_fields(out, &result_schema_sample, sample, ",");
    for (unsigned i = 0; i < RESULT_SAMPLE_GROUPS; i++) {
        if (group_left_out(i, sample))
            continue;
        byte_out_bytes(out, ",\"", 2);
        byte_out_text(out, result_schema_sample_groups[i].name);
        byte_out_bytes(out, "\":{", 3);
        write_fields(out, &result_schema_sample_groups[i], sample, ",");
        byte_out_bytes(out, "}", 1);
    }
    write_intervals(out, sample);
    byte_out_bytes(out, "}", 1);
}

static void write_sizes(struct byte_out *out, const char *name, const uint64_t *sizes, uint32_t count)
{
    byte_out_text(out, ",\n\"");
    byte_out_text(out, name);
    byte_out_text(out, "\":[");
    for (uint32_t i = 0; i < count; i++) {
        byte_out_text(out, i ? "," : "");
        byte_out_u64(out, limited(sizes[i]));
    }
    byte_out_text(out, "]");
}

static void write_plan(struct byte_out *out, const struct result *r)
{
    byte_out_text(out, ",\n\"tests\":[");
    for (uint32_t i = 0; i < r->test_count; i++) {
        byte_out_text(out, i ? "," : "");
        byte_out_json_string(out, test_kind_name(r->tests[i]));
    }
    byte_out_text(out, "]");
    write_sizes(out, "block_bytes", r->block_bytes, r->block_count);
    write_sizes(out, "file_bytes_by_block", r->file_bytes_by_block, r->block_count);
    byte_out_text(out, ",\n\"threads\":[");
    for (uint32_t i = 0; i < r->thread_count; i++) {
        byte_out_text(out, i ? "," : "");
        byte_out_u64(out, r->threads[i]);
    }
    byte_out_text(out, "]");
}

/* Left out where there are none. */
static void write_machines(struct byte_out *out, const struct result *r)
{
    for (uint32_t i = 0; i < r->machine_count; i++) {
        byte_out_text(out, i ? ",\n{\"worker\":" : ",\n\"machines\":[\n{\"worker\":");
        byte_out_json_string(out, r->machines[i].worker);
        byte_out_text(out, ",\"environment\":{");
        write_fields(out, &result_schema_environment, &r->machines[i].environment, ",\n ");
        byte_out_text(out, "}}");
    }
    if (r->machine_count > 0)
        byte_out_text(out, "]");
}

int result_json_write(const struct result *r, int fd)
{
    struct byte_out *out = check_alloc(malloc(sizeof *out));
    byte_out_init(out, fd);
    byte_out_text(out, "{\"format\":\"iobench-result\",\n\"format_version\":");
    byte_out_u64(out, RESULT_FORMAT_VERSION);
    byte_out_text(out, ",\n");
    write_fields(out, &result_schema_top, r, ",\n");
    byte_out_text(out, ",\n\"environment\":{");
    write_fields(out, &result_schema_environment, &r->environment, ",\n ");
    byte_out_text(out, "},\n\"scenarios\":[");
    for (uint32_t i = 0; i < r->scenario_count; i++) {
        byte_out_text(out, i ? ",\n{" : "\n{");
        write_fields(out, &result_schema_scenario, &r->scenarios[i], ",\n ");
        byte_out_text(out, "}");
    }
    byte_out_text(out, "]");
    write_machines(out, r);
    write_plan(out, r);
    byte_out_text(out, ",\n\"samples\":[");
    for (size_t i = 0; i < r->sample_count; i++) {
        byte_out_text(out, i ? ",\n" : "\n");
        write_sample(out, &r->samples[i]);
    }
    byte_out_text(out, "],\n");
    char checksum[64];
    (void)snprintf(checksum, sizeof checksum, "\"fnv1a64\":\"%016" PRIx64 "\"\n}\n", byte_out_hash(out));
    byte_out_text(out, checksum);
    int error = byte_out_finish(out);
    free(out);
    return error;
}
