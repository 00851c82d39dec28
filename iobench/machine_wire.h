/* SPDX-License-Identifier: Apache-2.0
 *
 * What `iobench sweep` and the `iobench worker` of another machine send each other beside plain numbers: results (as the text of
 * results.json, in memory) and histograms. What comes in may be damaged or hostile. Pure but for memory; any thread.
 */
#ifndef CALF_IOBENCH_MACHINE_WIRE_H
#define CALF_IOBENCH_MACHINE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "iobench/histogram.h"
#include "iobench/result.h"

enum { MACHINE_WIRE_WHY = 512 };

/* Of the session that a worker is in the middle of when nobody asks any more. */
#define MACHINE_WIRE_LEASE_NS (30 * INT64_C(1000000000))

/* The text of a result. The caller frees it; NULL: no memory. */
char *machine_wire_text(const struct result *r, size_t *bytes) __attribute__((warn_unused_result));

/* The other way; r is initialized and empty. 0, or -EINVAL and why. */
int machine_wire_result(const void *text, size_t bytes, struct result *r, char why[MACHINE_WIRE_WHY])
    __attribute__((warn_unused_result));

/* u64 each: count, sum, least, most; then number and count of every slot in use. */
enum { MACHINE_WIRE_HISTOGRAM = (4 + 2 * HISTOGRAM_SLOTS) * 8 };
size_t machine_wire_pack(const struct histogram *h, uint8_t packed[MACHINE_WIRE_HISTOGRAM]);

/* 0; -EINVAL when it is none: an odd length, no such slot, counts that do not add up. */
int machine_wire_unpack(const uint8_t *packed, size_t bytes, struct histogram *h) __attribute__((warn_unused_result));

#endif
