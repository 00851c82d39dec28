/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/axis.h"

#include <errno.h>
#include <string.h>

#include "common/units.h"
#include "iobench/text_print.h"

struct axis_reader {
    const struct axis_limits *limits;
    uint64_t *values;
    uint32_t count;
    char *why;
    size_t why_bytes;
};

static int add(struct axis_reader *r, const char *entry, uint64_t value)
{
    const struct axis_limits *limits = r->limits;
    if (value < limits->min || value > limits->max) {
        text_print(r->why, r->why_bytes, "'%s': must be from %llu to %llu", entry, (unsigned long long)limits->min,
                   (unsigned long long)limits->max);
        return -EINVAL;
    }
    if (value % limits->multiple_of != 0) {
        text_print(r->why, r->why_bytes, "'%s': must be a multiple of %llu", entry,
                   (unsigned long long)limits->multiple_of);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->values[i] == value) {
            text_print(r->why, r->why_bytes, "'%s': the same value twice", entry);
            return -EINVAL;
        }
    }
    if (r->count == limits->room) {
        text_print(r->why, r->why_bytes, "more than %u values", limits->room);
        return -EINVAL;
    }
    r->values[r->count++] = value;
    return 0;
}

static int parse_value(const struct axis_reader *r, const char *text, uint64_t *value)
{
    int rc = r->limits->kind == AXIS_SIZES ? units_parse_size(text, value)
                                           : units_parse_number(text, 0, UINT64_MAX, value);
    if (rc < 0)
        text_print(r->why, r->why_bytes, "'%s': not a %s", text,
                   r->limits->kind == AXIS_SIZES ? "size" : "number");
    return rc < 0 ? -EINVAL : 0;
}

static int parse_entry(struct axis_reader *r, char *entry)
{
    char *dash = strchr(entry, '-');
    uint64_t low, high;
    if (dash)
        *dash = '\0';
    if (parse_value(r, entry, &low) < 0)
        return -EINVAL;
    if (!dash)
        return add(r, entry, low);
    if (parse_value(r, dash + 1, &high) < 0)
        return -EINVAL;
    *dash = '-';
    if (low == 0 || low > high || high > r->limits->max) {
        text_print(r->why, r->why_bytes, "'%s': not a range from low to high within %llu", entry,
                   (unsigned long long)r->limits->max);
        return -EINVAL;
    }
    for (uint64_t value = low; value <= high; value *= 2) {
        int rc = add(r, entry, value);
        if (rc < 0)
            return rc;
        if (value > UINT64_MAX / 2)
            break;
    }
    return 0;
}

int axis_parse(const char *text, const struct axis_limits *limits, uint64_t *values, uint32_t *count, char *why,
               size_t why_bytes)
{
    struct axis_reader reader = {limits, values, 0, why, why_bytes};
    for (const char *at = text;;) {
        char entry[64];
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof entry) {
            text_print(why, why_bytes, "an entry is empty or too long");
            return -EINVAL;
        }
        memcpy(entry, at, length);
        entry[length] = '\0';
        int rc = parse_entry(&reader, entry);
        if (rc < 0)
            return rc;
        if (!at[length])
            break;
        at += length + 1;
    }
    *count = reader.count;
    return 0;
}
