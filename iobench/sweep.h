/* SPDX-License-Identifier: Apache-2.0
 *
 * `iobench sweep`: sets the scenarios up (sweep_setup.c), runs the plan (sweep_run.c), saves, cleans up and
 * prints the table. The structure is shared by these files alone. Main thread.
 */
#ifndef CALF_IOBENCH_SWEEP_H
#define CALF_IOBENCH_SWEEP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "iobench/cell.h"
#include "iobench/fill_data.h"
#include "iobench/machines.h"
#include "iobench/plan.h"
#include "iobench/progress.h"
#include "iobench/result.h"
#include "iobench/scenario.h"
#include "iobench/sweep_options.h"

enum sweep_exit { SWEEP_DONE = 0, SWEEP_FAILED = 1, SWEEP_WRONG = 2 };

struct sweep {
    struct sweep_options options;
    struct result result;
    struct plan plan;
    struct progress progress;
    struct cell_context context;
    struct load load;
    struct fill_pattern pattern;
    struct machines *machines; /* owned; NULL: this machine runs the cells itself */
    struct scenario scenarios[RESULT_SCENARIOS]; /* in the order of the result's */
    uint8_t *have;                               /* owned; one per run of the plan: an earlier sweep has it */
    char out[PATH_MAX];
    uint64_t failed_runs, marked_runs, new_runs;
    bool interrupted;
    bool save_failed;
    int64_t saved_ns, save_took_ns;
};

/* argv[0] is "sweep". Returns the exit status. */
int sweep_command(int argc, char **argv) __attribute__((warn_unused_result));

#endif
