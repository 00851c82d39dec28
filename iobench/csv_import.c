/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/csv_import.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/scope.h"
#include "common/units.h"
#include "iobench/byte_out.h"
#include "iobench/text_print.h"

enum column { DEPLOYMENT, TEST, BLOCK_BYTES, THREADS, MB_PER_S, COLUMNS };
static const char *const column_names[COLUMNS] = {"deployment", "test", "block_bytes", "threads", "mb_per_s"};

enum { FIELDS = 64, AXIS = 32, SIZE_LIMIT = 64 << 20 };

/* How often each combination was seen: its next round. */
typedef uint32_t run_counts[RESULT_SCENARIOS][TEST_KINDS][AXIS][AXIS];

struct import {
    struct result *r;
    size_t line;
    size_t place[COLUMNS]; /* which field of a row holds the column */
    run_counts *counts;
    char *why;
    size_t why_bytes;
};

static int wrong(const struct import *import, const char *what, const char *detail)
{
    text_print(import->why, import->why_bytes, "line %zu: %s%.100s", import->line, what, detail);
    for (char *at = import->why; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = '?';
    return -EINVAL;
}

static char *trim(char *text)
{
    text += strspn(text, " \t\"");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\"\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Splits a line at its commas; how many fields. */
static size_t split(char *line, char *fields[FIELDS])
{
    size_t count = 0;
    for (char *at = line; at && count < FIELDS; count++) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma++ = '\0';
        fields[count] = trim(at);
        at = comma;
    }
    return count;
}

static int read_header(struct import *import, char *line)
{
    char *fields[FIELDS];
    size_t count = split(line, fields);
    for (unsigned column = 0; column < COLUMNS; column++) {
        import->place[column] = FIELDS;
        for (size_t i = 0; i < count; i++)
            if (strcmp(fields[i], column_names[column]) == 0)
                import->place[column] = i;
        if (import->place[column] == FIELDS)
            return wrong(import, "no header with the columns deployment,test,block_bytes,threads,mb_per_s: it lacks ",
                         column_names[column]);
    }
    return 0;
}

static bool is_utf8(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = byte_out_utf8_length((const unsigned char *)text, left);
        if (length == 0)
            return false;
        text += length;
        left -= length;
    }
    return true;
}

static int find_deployment(const struct import *import, const char *name, uint32_t *index)
{
    struct result *r = import->r;
    for (*index = 0; *index < r->scenario_count; ++*index)
        if (strcmp(r->scenarios[*index].name, name) == 0)
            return 0;
    if (!name[0] || strlen(name) >= RESULT_NAME || !is_utf8(name))
        return wrong(import, "a deployment needs a name of 1 to 63 bytes, in UTF-8", "");
    if (r->scenario_count == RESULT_SCENARIOS)
        return wrong(import, "more than 16 deployments", "");
    memcpy(r->scenarios[r->scenario_count++].name, name, strlen(name) + 1);
    return 0;
}

static int find_block(const struct import *import, uint64_t bytes, uint32_t *index)
{
    struct result *r = import->r;
    for (*index = 0; *index < r->block_count; ++*index)
        if (r->block_bytes[*index] == bytes)
            return 0;
    if (r->block_count == AXIS)
        return wrong(import, "more than 32 block sizes", "");
    r->block_bytes[r->block_count++] = bytes;
    return 0;
}

static int find_threads(const struct import *import, uint32_t threads, uint32_t *index)
{
    struct result *r = import->r;
    for (*index = 0; *index < r->thread_count; ++*index)
        if (r->threads[*index] == threads)
            return 0;
    if (r->thread_count == AXIS)
        return wrong(import, "more than 32 thread counts", "");
    r->threads[r->thread_count++] = threads;
    return 0;
}

static int read_rate(const struct import *import, const char *text, uint64_t *bytes_per_second)
{
    char *end;
    double rate = strtod(text, &end);
    bool good = end != text && *end == '\0' && isfinite(rate) && rate >= 1e-6 && rate <= 1e9;
    if (!good)
        return wrong(import, "mb_per_s is no number above 0: ", text);
    *bytes_per_second = (uint64_t)llround(rate * 1e6);
    return 0;
}

static int read_row(struct import *import, char *line)
{
    char *fields[FIELDS], *value[COLUMNS];
    size_t count = split(line, fields);
    for (unsigned column = 0; column < COLUMNS; column++) {
        if (import->place[column] >= count)
            return wrong(import, "too few fields: it lacks ", column_names[column]);
        value[column] = fields[import->place[column]];
    }
    uint64_t block = 0, threads = 0, rate = 0;
    uint32_t deployment = 0, block_index = 0, thread_index = 0;
    enum test_kind test;
    if (test_kind_parse(value[TEST], &test) != 0)
        return wrong(import, "test is none of write, read, random-write, random-read: ", value[TEST]);
    if (units_parse_number(value[BLOCK_BYTES], 1, INT64_MAX, &block) != 0)
        return wrong(import, "block_bytes is no whole number above 0: ", value[BLOCK_BYTES]);
    if (units_parse_number(value[THREADS], 1, 1000000, &threads) != 0)
        return wrong(import, "threads is no whole number above 0: ", value[THREADS]);
    if (read_rate(import, value[MB_PER_S], &rate) != 0 || find_deployment(import, value[DEPLOYMENT], &deployment) != 0 ||
        find_block(import, block, &block_index) != 0 || find_threads(import, (uint32_t)threads, &thread_index) != 0)
        return -EINVAL;
    uint32_t *round = &(*import->counts)[deployment][test][block_index][thread_index];
    if (*round == RESULT_ROUNDS)
        return wrong(import, "more than 1000 runs of one combination", "");
    struct sample *sample = result_add_sample(import->r);
    sample->scenario = deployment;
    sample->round = (*round)++;
    sample->test = test;
    sample->block_bytes = block;
    sample->threads = (uint32_t)threads;
    sample->bytes = rate; /* in one second, as if it had run that long: only the quotient is known */
    sample->elapsed_ns = 1000000000;
    return 0;
}

int csv_import_text(char *text, size_t size, struct result *r, char *why, size_t why_bytes)
{
    SCOPE_FREE run_counts *counts = check_alloc(calloc(1, sizeof *counts));
    struct import import = {.r = r, .counts = counts, .why = why, .why_bytes = why_bytes};
    bool header = false;
    r->earlier_figures = true;
    r->complete = true;
    if (strlen(text) != size) {
        text_print(why, why_bytes, "it holds a NUL, so it is no CSV");
        return -EINVAL;
    }
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        import.line++;
        if (!*trim(line))
            continue;
        int error = header ? read_row(&import, line) : read_header(&import, line);
        if (error != 0)
            return error;
        header = true;
    }
    if (r->sample_count > 0)
        return 0;
    text_print(why, why_bytes, "it holds no figures");
    return -EINVAL;
}

int csv_import_read(const char *path, struct result *r, char *why, size_t why_bytes)
{
    struct stat status;
    char reason[256];
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &status) != 0) {
        int error = -errno;
        text_print(why, why_bytes, "%.300s: %s", path, strerror(-error));
        return error;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > SIZE_LIMIT) {
        text_print(why, why_bytes, "%.300s: no regular file of at most 64 MiB", path);
        return -EINVAL;
    }
    SCOPE_FREE char *text = check_alloc(malloc((size_t)status.st_size + 1));
    size_t size = fread(text, 1, (size_t)status.st_size, file);
    text[size] = '\0';
    const char *name = strrchr(path, '/');
    text_print(r->label, sizeof r->label, "%s", name ? name + 1 : path);
    int error = csv_import_text(text, size, r, reason, sizeof reason);
    if (error != 0)
        text_print(why, why_bytes, "%.300s: %s", path, reason);
    return error;
}
