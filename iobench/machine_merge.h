/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of one cell from several machines that were released together, as one sample: bytes and operations add up, the time
 * is that of the last one, latencies come from the merged histogram. What belongs to a whole machine (its busy time, its memory, its
 * pressure) counts once for workers in several containers of one machine. Pure.
 */
#ifndef CALF_IOBENCH_MACHINE_MERGE_H
#define CALF_IOBENCH_MACHINE_MERGE_H

#include "iobench/histogram.h"
#include "iobench/result.h"

enum { MACHINE_LIMIT = RESULT_MACHINES };

struct machine_part {
    const struct sample *sample; /* not failed */
    const struct histogram *latency;
    const char *boot_id; /* the same for parts on one machine; "": unknown, one of its own */
};

/* Fills the figures of *sample; which cell it is, and what was served, stays as it was. 1 to MACHINE_LIMIT parts. The bytes until
 * the first worker was done count, for the other machines, as if their rate up to their own first one had been even. */
void machine_merge(const struct machine_part *parts, uint32_t count, struct sample *sample);

#endif
