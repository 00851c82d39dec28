/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of `iobench sweep`, and the configuration that follows from it. Parsing touches no file but
 * the clock's entropy for a seed that was not given. Main thread.
 */
#ifndef CALF_IOBENCH_SWEEP_OPTIONS_H
#define CALF_IOBENCH_SWEEP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobench/result.h"
#include "iobench/sweep_axes.h"

/* What was written; texts point into argv, NULL where an option was not used. */
struct sweep_options {
    const char *directory; /* the positional argument */
    const char *scenarios, *tests, *blocks, *threads, *engine, *label, *out, *state, *until_width, *workers;
    unsigned preset, cache; /* enum plan_preset_number, enum cache_mode */
    uint64_t size_bytes, rounds, max_rounds, seed, chunkservers, chunkserver_bytes, clients;
    bool up, a_a, verify, resume, dry_run;
    bool preset_given, cache_given, seed_given, keep;
    struct sweep_axes axes;
};

enum { SWEEP_OPTIONS_WHY = 512, SWEEP_OPTIONS_STATE = 128 };

/* As options_parse: OPTIONS_GO_ON, OPTIONS_DONE or OPTIONS_WRONG. */
int sweep_options_parse(int argc, char **argv, struct sweep_options *options) __attribute__((warn_unused_result));

/* Fills the configuration of a result (everything but environment, samples and what inspecting the scenarios
 * finds). stored: NULL, or the result to go on with, whose settings hold where nothing was given. The result
 * owns nothing of either. 0; -EINVAL with one line in why. */
int sweep_options_configure(const struct sweep_options *options, const struct result *stored,
                            struct result *config, char why[SWEEP_OPTIONS_WHY])
    __attribute__((warn_unused_result));

#endif
