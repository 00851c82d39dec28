/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/units.h"
#include "iobench/byte_out.h"
#include "iobench/json_scan.h"
#include "iobench/result_json.h"
#include "iobench/result_schema.h"

enum { KEY = 40, NAME = 64 };

static bool read_name(struct json_scan *scan, enum result_field_kind kind, void *at)
{
    char name[NAME];
    if (!json_scan_text(scan, name, sizeof name))
        return false;
    if (kind == RESULT_FIELD_TEST)
        return test_kind_parse(name, at) == 0 ? true : json_scan_fail(scan, "a test has an unknown name");
    if (kind == RESULT_FIELD_SYNC) {
        for (unsigned mode = 0; mode < SYNC_MODES; mode++) {
            if (strcmp(name, sync_mode_name((enum sync_mode)mode)) == 0) {
                *(enum sync_mode *)at = (enum sync_mode)mode;
                return true;
            }
        }
        return json_scan_fail(scan, "the sync mode has an unknown name");
    }
    for (unsigned mode = CACHE_COLD; mode <= CACHE_WARM; mode++) {
        if (strcmp(name, cache_mode_name((enum cache_mode)mode)) == 0) {
            *(enum cache_mode *)at = (enum cache_mode)mode;
            return true;
        }
    }
    return json_scan_fail(scan, "the cache mode has an unknown name");
}

static bool read_owned_text(struct json_scan *scan, char **at)
{
    char text[RESULT_TEXT];
    if (!json_scan_text(scan, text, sizeof text))
        return false;
    free(*at);
    *at = text[0] ? check_alloc(strdup(text)) : NULL;
    return true;
}

static bool read_value(struct json_scan *scan, const struct result_field *field, void *at)
{
    uint64_t number;
    int64_t nanoseconds;
    char digits[NAME];
    switch (field->kind) {
    case RESULT_FIELD_TEXT:
        return json_scan_text(scan, at, field->size);
    case RESULT_FIELD_OWNED_TEXT:
        return read_owned_text(scan, at);
    case RESULT_FIELD_U32:
        if (!json_scan_u64(scan, UINT32_MAX, &number))
            return false;
        *(uint32_t *)at = (uint32_t)number;
        return true;
    case RESULT_FIELD_U64:
        return json_scan_u64(scan, INT64_MAX, at);
    case RESULT_FIELD_I64:
        return json_scan_i64(scan, at);
    case RESULT_FIELD_BOOL:
        return json_scan_bool(scan, at);
    case RESULT_FIELD_SECONDS:
        if (!json_scan_i64(scan, &nanoseconds))
            return false;
        *(double *)at = (double)nanoseconds / 1e9;
        return true;
    case RESULT_FIELD_TEXT64:
        if (!json_scan_text(scan, digits, sizeof digits))
            return false;
        return units_parse_number(digits, 0, UINT64_MAX, at) == 0 ? true
                                                                  : json_scan_fail(scan, "a number in quotes is damaged");
    case RESULT_FIELD_TEST:
    case RESULT_FIELD_CACHE:
    case RESULT_FIELD_SYNC:
        return read_name(scan, field->kind, at);
    }
    return false;
}

/* The index of the field, group->count if it has none of that name. Files mostly hold the fields in the table's order, so the
 * one after the last is tried first. */
static size_t find_field(const struct result_group *group, const char *key, size_t expected)
{
    if (expected < group->count && strcmp(group->fields[expected].name, key) == 0)
        return expected;
    size_t i = 0;
    while (i < group->count && strcmp(group->fields[i].name, key) != 0)
        i++;
    return i;
}

/* Which fields of a group were seen. */
struct seen {
    uint64_t bits;
    size_t expected;
};

/* Reads the value of key if the group has such a field; *known says so. */
static bool read_field(struct json_scan *scan, const struct result_group *group, const char *key, void *base,
                       struct seen *seen, bool *known)
{
    size_t i = find_field(group, key, seen->expected);
    *known = i < group->count;
    if (!*known)
        return true;
    seen->expected = i + 1;
    seen->bits |= UINT64_C(1) << i;
    return read_value(scan, &group->fields[i], (char *)base + group->fields[i].offset);
}

static bool all_seen(struct json_scan *scan, const struct result_group *group, const struct seen *seen)
{
    for (size_t i = 0; i < group->count; i++)
        if (!group->fields[i].optional && !(seen->bits >> i & 1))
            return json_scan_fail(scan, "a field is missing before this");
    return !scan->failed;
}

/* An object that is one group; unknown members are read over. */
static bool read_group(struct json_scan *scan, const struct result_group *group, void *base)
{
    struct seen seen = {0};
    char key[KEY];
    if (!json_scan_object(scan))
        return false;
    while (json_scan_member(scan, key, sizeof key)) {
        bool known;
        if (!read_field(scan, group, key, base, &seen, &known) || (!known && !json_scan_skip(scan)))
            return false;
    }
    return all_seen(scan, group, &seen);
}

static bool read_interval(struct json_scan *scan, struct sample_interval *interval)
{
    return json_scan_array(scan) && json_scan_element(scan) && json_scan_i64(scan, &interval->end_ns) &&
           json_scan_element(scan) && json_scan_u64(scan, INT64_MAX, &interval->operations) &&
           (!json_scan_element(scan) || json_scan_fail(scan, "an interval has more than two numbers")) && !scan->failed;
}

static bool read_intervals(struct json_scan *scan, struct sample *sample)
{
    struct sample_interval read[RESULT_INTERVALS];
    uint32_t count = 0;
    if (sample->intervals)
        return json_scan_fail(scan, "a sample has two series of intervals");
    if (!json_scan_array(scan))
        return false;
    while (json_scan_element(scan)) {
        if (count == RESULT_INTERVALS)
            return json_scan_fail(scan, "a sample has too many intervals");
        if (!read_interval(scan, &read[count]))
            return false;
        count++;
    }
    if (scan->failed)
        return false;
    struct sample owner = {.intervals = read, .interval_count = count}, copy;
    sample_copy(&copy, &owner);
    sample->intervals = copy.intervals;
    sample->interval_count = copy.interval_count;
    return true;
}

static bool read_sample_group(struct json_scan *scan, const char *key, struct sample *sample)
{
    if (strcmp(key, "intervals") == 0)
        return read_intervals(scan, sample);
    for (unsigned i = 0; i < RESULT_SAMPLE_GROUPS; i++) {
        if (strcmp(key, result_schema_sample_groups[i].name) != 0)
            continue;
        sample->served_known = sample->served_known || i == RESULT_SERVED;
        return read_group(scan, &result_schema_sample_groups[i], sample);
    }
    return json_scan_skip(scan);
}

static bool valid_sample(struct json_scan *scan, const struct sample *sample)
{
    if (sample->round >= RESULT_ROUNDS)
        return json_scan_fail(scan, "a sample's round is beyond 999");
    if ((sample->block_bytes == 0) != test_kind_counts_operations(sample->test) || sample->threads == 0)
        return json_scan_fail(scan, "a sample has no block size or no threads");
    if (sample->elapsed_ns < 0)
        return json_scan_fail(scan, "a sample's elapsed time is negative");
    return true;
}

static bool read_sample(struct json_scan *scan, struct sample *sample)
{
    struct seen seen = {0};
    char key[KEY];
    if (!json_scan_object(scan))
        return false;
    while (json_scan_member(scan, key, sizeof key)) {
        bool known;
        if (!read_field(scan, &result_schema_sample, key, sample, &seen, &known) ||
            (!known && !read_sample_group(scan, key, sample)))
            return false;
    }
    return all_seen(scan, &result_schema_sample, &seen) && valid_sample(scan, sample);
}

static bool read_scenarios(struct json_scan *scan, struct result *r)
{
    if (!json_scan_array(scan))
        return false;
    while (json_scan_element(scan)) {
        if (r->scenario_count == RESULT_SCENARIOS)
            return json_scan_fail(scan, "it has too many scenarios");
        struct scenario_info *scenario = &r->scenarios[r->scenario_count];
        if (!read_group(scan, &result_schema_scenario, scenario))
            return false;
        if (!scenario->name[0])
            return json_scan_fail(scan, "a scenario has no name");
        for (uint32_t i = 0; i < r->scenario_count; i++)
            if (strcmp(r->scenarios[i].name, scenario->name) == 0)
                return json_scan_fail(scan, "two scenarios have one name");
        r->scenario_count++;
    }
    return !scan->failed;
}

static bool read_tests(struct json_scan *scan, struct result *r)
{
    if (!json_scan_array(scan))
        return false;
    while (json_scan_element(scan)) {
        if (r->test_count == TEST_KINDS)
            return json_scan_fail(scan, "it has too many tests");
        if (!read_name(scan, RESULT_FIELD_TEST, &r->tests[r->test_count]))
            return false;
        r->test_count++;
    }
    return !scan->failed;
}

/* "too many" is what the error says if there are more than `room`. */
static bool read_sizes(struct json_scan *scan, const char *too_many, uint64_t *sizes, size_t room, uint32_t *count)
{
    if (!json_scan_array(scan))
        return false;
    while (json_scan_element(scan)) {
        if (*count == room)
            return json_scan_fail(scan, too_many);
        if (!json_scan_u64(scan, INT64_MAX, &sizes[*count]))
            return false;
        ++*count;
    }
    return !scan->failed;
}

/* One for each block size, or none at all. */
static bool read_file_sizes(struct json_scan *scan, struct result *r)
{
    uint32_t count = 0;
    size_t room = sizeof r->file_bytes_by_block / sizeof r->file_bytes_by_block[0];
    return read_sizes(scan, "it has too many file sizes", r->file_bytes_by_block, room, &count);
}

static bool read_threads(struct json_scan *scan, struct result *r)
{
    size_t room = sizeof r->threads / sizeof r->threads[0];
    uint64_t number;
    if (!json_scan_array(scan))
        return false;
    while (json_scan_element(scan)) {
        if (r->thread_count == room)
            return json_scan_fail(scan, "it has too many thread counts");
        if (!json_scan_u64(scan, UINT32_MAX, &number))
            return false;
        r->threads[r->thread_count++] = (uint32_t)number;
    }
    return !scan->failed;
}

static bool read_samples(struct json_scan *scan, struct result *r)
{
    if (!json_scan_array(scan))
        return false;
    while (json_scan_element(scan))
        if (!read_sample(scan, result_add_sample(r)))
            return false;
    return !scan->failed;
}

/* The checksum covers every byte before the quote of its own key. */
static bool verify_checksum(struct json_scan *scan, size_t covered)
{
    char written[NAME], computed[NAME];
    if (!json_scan_text(scan, written, sizeof written))
        return false;
    uint64_t hash = byte_out_hash_add(BYTE_OUT_HASH_START, scan->text, covered);
    (void)snprintf(computed, sizeof computed, "%016" PRIx64, hash);
    if (strcmp(written, computed) == 0)
        return true;
    return json_scan_fail(scan, "its checksum is wrong, so it was changed after it was written (without the member "
                                "\"fnv1a64\" it is read unchecked)");
}

/* The parts of a result that are objects or arrays, in the order of the bits in which they are recorded as seen. */
enum part { PART_ENVIRONMENT, PART_SCENARIOS, PART_TESTS, PART_BLOCKS, PART_FILES, PART_THREADS, PART_SAMPLES, PARTS };
static const char *const part_names[PARTS] = {"environment",         "scenarios", "tests",  "block_bytes",
                                              "file_bytes_by_block", "threads",   "samples"};

static bool read_part(struct json_scan *scan, struct result *r, enum part part)
{
    switch (part) {
    case PART_ENVIRONMENT:
        return read_group(scan, &result_schema_environment, &r->environment);
    case PART_SCENARIOS:
        return read_scenarios(scan, r);
    case PART_TESTS:
        return read_tests(scan, r);
    case PART_BLOCKS:
        return read_sizes(scan, "it has too many block sizes", r->block_bytes,
                          sizeof r->block_bytes / sizeof r->block_bytes[0], &r->block_count);
    case PART_FILES:
        return read_file_sizes(scan, r);
    case PART_THREADS:
        return read_threads(scan, r);
    case PART_SAMPLES:
        return read_samples(scan, r);
    case PARTS:
        break;
    }
    return false;
}

static bool read_machine(struct json_scan *scan, struct result_machine *machine)
{
    char key[KEY];
    if (!json_scan_object(scan))
        return false;
    while (json_scan_member(scan, key, sizeof key)) {
        bool good = strcmp(key, "worker") == 0        ? json_scan_text(scan, machine->worker, sizeof machine->worker)
                    : strcmp(key, "environment") == 0 ? read_group(scan, &result_schema_environment, &machine->environment)
                                                      : json_scan_skip(scan);
        if (!good)
            return false;
    }
    return !scan->failed;
}

static bool read_machines(struct json_scan *scan, struct result *r)
{
    if (r->machine_count > 0)
        return json_scan_fail(scan, "a part of it stands there twice");
    if (!json_scan_array(scan))
        return false;
    while (json_scan_element(scan)) {
        if (r->machine_count == RESULT_MACHINES)
            return json_scan_fail(scan, "it has too many machines");
        if (!read_machine(scan, result_add_machine(r)))
            return false;
    }
    return !scan->failed;
}

static bool read_other_member(struct json_scan *scan, struct result *r, const char *key, size_t key_at, unsigned *parts)
{
    for (unsigned i = 0; i < PARTS; i++) {
        if (strcmp(key, part_names[i]) != 0)
            continue;
        if (*parts >> i & 1)
            return json_scan_fail(scan, "a part of it stands there twice");
        *parts |= 1U << i;
        return read_part(scan, r, (enum part)i);
    }
    if (strcmp(key, "machines") == 0)
        return read_machines(scan, r);
    return strcmp(key, "fnv1a64") == 0 ? verify_checksum(scan, key_at) : json_scan_skip(scan);
}

/* Where the quote of the key stands that was just read: the colon was eaten last, the key holds no escapes that matter here. */
static size_t key_start(const struct json_scan *scan)
{
    size_t at = scan->at;
    for (unsigned quotes = 0; at > 0 && quotes < 2;)
        quotes += scan->text[--at] == '"';
    return at;
}

/* Comparisons count on few block sizes and thread counts, so what is not in the lists is refused. */
static bool planned(const struct result *r, const struct sample *sample)
{
    bool block = test_kind_counts_operations(sample->test), threads = false;
    for (uint32_t i = 0; i < r->block_count && !block; i++)
        block = r->block_bytes[i] == sample->block_bytes;
    for (uint32_t i = 0; i < r->thread_count && !threads; i++)
        threads = r->threads[i] == sample->threads;
    return block && threads && sample->scenario < r->scenario_count;
}

static bool read_members(struct json_scan *scan, struct result *r)
{
    struct seen seen = {0};
    unsigned parts = 0;
    char key[KEY];
    while (json_scan_member(scan, key, sizeof key)) {
        bool known;
        size_t key_at = key_start(scan);
        if (!read_field(scan, &result_schema_top, key, r, &seen, &known) ||
            (!known && !read_other_member(scan, r, key, key_at, &parts)))
            return false;
    }
    if (!all_seen(scan, &result_schema_top, &seen))
        return false;
    if (parts != (1U << PARTS) - 1)
        return json_scan_fail(scan, "a part of it is missing");
    if (r->scenario_count == 0 || r->scenarios[0].a_a_arm)
        return json_scan_fail(scan, "it has no baseline scenario");
    for (size_t i = 0; i < r->sample_count; i++)
        if (!planned(r, &r->samples[i]))
            return json_scan_fail(scan, "a sample's scenario, block size or thread count is not one of the result's");
    return json_scan_end(scan);
}

/* The first two members tell what the file is. *why is set for what is no damage. */
static bool read_signature(struct json_scan *scan, char *why, size_t why_bytes)
{
    char key[KEY], format[NAME];
    uint64_t version = 0;
    bool good = json_scan_object(scan) && json_scan_member(scan, key, sizeof key) && strcmp(key, "format") == 0 &&
                json_scan_text(scan, format, sizeof format) && strcmp(format, "iobench-result") == 0;
    if (!good) {
        (void)snprintf(why, why_bytes, "it is no result of iobench (it does not start with {\"format\":\"iobench-result\")");
        return false;
    }
    if (!json_scan_member(scan, key, sizeof key) || strcmp(key, "format_version") != 0 ||
        !json_scan_u64(scan, INT64_MAX, &version) || version == 0)
        return json_scan_fail(scan, "its format version is missing");
    if (version > RESULT_FORMAT_VERSION) {
        (void)snprintf(why, why_bytes, "its format version is %" PRIu64 ", this iobench reads up to %d: use a newer iobench",
                       version, (int)RESULT_FORMAT_VERSION);
        return false;
    }
    return true;
}

int result_json_read(const char *text, size_t size, struct result *r, char *why, size_t why_bytes)
{
    struct json_scan scan;
    json_scan_init(&scan, text, size);
    why[0] = '\0';
    if (read_signature(&scan, why, why_bytes) && read_members(&scan, r))
        return 0;
    if (!why[0])
        (void)snprintf(why, why_bytes, "damaged at byte %zu: %s", scan.failed_at,
                       scan.why ? scan.why : "it ends too early");
    return -EINVAL;
}
