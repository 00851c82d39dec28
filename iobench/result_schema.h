/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of a result as tables: name in the files, kind, place in the structures of result.h. The JSON writer, the JSON
 * reader and the CSV writer all work from these tables, so that a field is added in one line. Data only, constant.
 */
#ifndef CALF_IOBENCH_RESULT_SCHEMA_H
#define CALF_IOBENCH_RESULT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

enum result_field_kind {
    RESULT_FIELD_TEXT,       /* char[size] */
    RESULT_FIELD_OWNED_TEXT, /* char *, NULL for an empty one; a sample's error */
    RESULT_FIELD_U32,        /* uint32_t */
    RESULT_FIELD_U64,        /* uint64_t up to 2^63 - 1 */
    RESULT_FIELD_I64,        /* int64_t */
    RESULT_FIELD_BOOL,       /* bool */
    RESULT_FIELD_SECONDS,    /* double of seconds, a whole number of nanoseconds in the file */
    RESULT_FIELD_TEXT64,     /* uint64_t, decimal digits in quotes: it may use all 64 bits, and JSON readers lose some */
    RESULT_FIELD_TEST,       /* enum test_kind, by name */
    RESULT_FIELD_CACHE,      /* enum cache_mode, by name */
    RESULT_FIELD_SYNC,       /* enum sync_mode, by name */
};

struct result_field {
    const char *name;
    enum result_field_kind kind;
    size_t offset;
    size_t size;
    bool optional; /* left out of JSON when empty, false, 0 or the first of its names; reading without it is right */
};

enum { RESULT_GROUP_FIELDS = 64 };

/* An object in the file. Offsets count from the structure that the comment at the table names. */
struct result_group {
    const char *name; /* the member that holds the object */
    const struct result_field *fields; /* count of them, at most RESULT_GROUP_FIELDS */
    size_t count;
};

extern const struct result_group result_schema_top;         /* struct result; its members stand at the top level */
extern const struct result_group result_schema_environment; /* struct result_environment */
extern const struct result_group result_schema_scenario;    /* struct scenario_info */
extern const struct result_group result_schema_sample;      /* struct sample: all but those below */

/* Objects inside a sample, offsets from struct sample. Those from RESULT_WORKER_RATES on are missing in older files and left
 * out where all of them is 0. */
enum result_sample_group {
    RESULT_LATENCY,
    RESULT_CPU,
    RESULT_SERVED,
    RESULT_WORKER_RATES,
    RESULT_PRESSURE,
    RESULT_PART_CPU,
    RESULT_MEMORY,
    RESULT_INSTANCES,
    RESULT_MACHINE_RATES,
    RESULT_SAMPLE_GROUPS
};
extern const struct result_group result_schema_sample_groups[RESULT_SAMPLE_GROUPS];

#endif
