/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of an axis as people write them: a comma-separated list whose entries are values or ranges MIN-MAX,
 * which double from MIN as long as MAX is not passed ("4k-32k" is 4k, 8k, 16k, 32k). Pure.
 */
#ifndef CALF_IOBENCH_AXIS_H
#define CALF_IOBENCH_AXIS_H

#include <stddef.h>
#include <stdint.h>

enum axis_kind { AXIS_SIZES, AXIS_NUMBERS };

struct axis_limits {
    enum axis_kind kind;
    uint64_t min, max;
    uint64_t multiple_of; /* 1: any */
    uint32_t room;        /* for values */
};

/* Fills values (limits->room of them) and *count, in the order written. 0; -EINVAL, and `why` says what is
 * wrong with which entry: no such number, outside the limits, twice the same, or too many. */
int axis_parse(const char *text, const struct axis_limits *limits, uint64_t *values, uint32_t *count, char *why,
               size_t why_bytes) __attribute__((warn_unused_result));

#endif
