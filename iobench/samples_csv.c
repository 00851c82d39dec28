/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/samples_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "iobench/byte_out.h"
#include "iobench/result_schema.h"

/* "latency_ns" and "p50" -> "latency_p50_ns": the unit stays at the end. */
static void write_group_column(struct byte_out *out, const struct result_group *group, const char *field)
{
    size_t length = strlen(group->name);
    bool unit = length > 3 && strcmp(group->name + length - 3, "_ns") == 0;
    byte_out_bytes(out, ",", 1);
    byte_out_bytes(out, group->name, unit ? length - 3 : length);
    byte_out_bytes(out, "_", 1);
    byte_out_text(out, field);
    byte_out_text(out, unit ? "_ns" : "");
}

static void write_header(struct byte_out *out)
{
    for (size_t i = 0; i < result_schema_sample.count; i++) {
        byte_out_text(out, i ? "," : "");
        byte_out_text(out, result_schema_sample.fields[i].name);
    }
    for (unsigned g = 0; g < RESULT_SAMPLE_GROUPS; g++) {
        const struct result_group *group = &result_schema_sample_groups[g];
        for (size_t i = 0; i < group->count; i++)
            write_group_column(out, group, group->fields[i].name);
    }
    byte_out_text(out, "\n");
}

static void write_cell(struct byte_out *out, const struct result *r, const struct result_field *field, const char *sample)
{
    const void *at = sample + field->offset;
    switch (field->kind) {
    case RESULT_FIELD_TEXT:
        byte_out_csv_field(out, at);
        break;
    case RESULT_FIELD_OWNED_TEXT:
        byte_out_csv_field(out, *(char *const *)at ? *(char *const *)at : "");
        break;
    case RESULT_FIELD_U32:
        if (field->offset == offsetof(struct sample, scenario) && *(const uint32_t *)at < r->scenario_count)
            byte_out_csv_field(out, r->scenarios[*(const uint32_t *)at].name);
        else
            byte_out_u64(out, *(const uint32_t *)at);
        break;
    case RESULT_FIELD_U64:
    case RESULT_FIELD_TEXT64:
        byte_out_u64(out, *(const uint64_t *)at);
        break;
    case RESULT_FIELD_I64:
        byte_out_i64(out, *(const int64_t *)at);
        break;
    case RESULT_FIELD_BOOL:
        byte_out_text(out, *(const bool *)at ? "1" : "0");
        break;
    case RESULT_FIELD_SECONDS:
        byte_out_i64(out, llround(*(const double *)at * 1e9));
        break;
    case RESULT_FIELD_TEST:
        byte_out_text(out, test_kind_name(*(const enum test_kind *)at));
        break;
    case RESULT_FIELD_CACHE:
        byte_out_text(out, cache_mode_name(*(const enum cache_mode *)at));
        break;
    case RESULT_FIELD_SYNC:
        byte_out_text(out, sync_mode_name(*(const enum sync_mode *)at));
        break;
    }
}

static void write_row(struct byte_out *out, const struct result *r, const struct sample *sample)
{
    const char *base = (const char *)sample;
    for (size_t i = 0; i < result_schema_sample.count; i++) {
        if (i > 0)
            byte_out_bytes(out, ",", 1);
        write_cell(out, r, &result_schema_sample.fields[i], base);
    }
    for (unsigned g = 0; g < RESULT_SAMPLE_GROUPS; g++) {
        const struct result_group *group = &result_schema_sample_groups[g];
        for (size_t i = 0; i < group->count; i++) {
            byte_out_bytes(out, ",", 1);
            if (g != RESULT_SERVED || sample->served_known)
                write_cell(out, r, &group->fields[i], base);
        }
    }
    byte_out_bytes(out, "\n", 1);
}

int samples_csv_write(const struct result *r, int fd)
{
    struct byte_out *out = check_alloc(malloc(sizeof *out));
    byte_out_init(out, fd);
    write_header(out);
    for (size_t i = 0; i < r->sample_count; i++)
        write_row(out, r, &r->samples[i]);
    int error = byte_out_finish(out);
    free(out);
    return error;
}
