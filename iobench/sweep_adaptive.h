/* SPDX-License-Identifier: Apache-2.0
 *
 * When an adaptive sweep (--until-width) has measured enough: by how wide the intervals are, never by what they say. A sweep
 * that stopped when a difference shows would find differences that are not there; the width of an interval says nothing of its place.
 * Pure.
 */
#ifndef CALF_IOBENCH_SWEEP_ADAPTIVE_H
#define CALF_IOBENCH_SWEEP_ADAPTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "iobench/result.h"

struct sweep_adaptive {
    size_t cells, narrow;   /* intervals against the baseline in all, and those that are narrow enough */
    double widest_percent;  /* of the baseline: high - low; infinite while one has too few rounds for an interval */
};

/* Looks at every cell of every deployment that is compared, the A/A arm too. Failed and marked cells are left out: no round makes
 * them narrower. */
struct sweep_adaptive sweep_adaptive_look(const struct result *r);

/* Takes over what --until-width ("3" or "3%", down to hundredths; NULL: not given) and --max-rounds (0: not given) say, and sees
 * that config, whose rounds and scenarios are there, goes with them. 0; -EINVAL with one line in why. */
int sweep_adaptive_configure(const char *until_width, uint32_t max_rounds, struct result *config, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

/* True if all are narrow enough for result.until_width. */
bool sweep_adaptive_enough(const struct sweep_adaptive *look);

#endif
