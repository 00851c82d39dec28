/* SPDX-License-Identifier: Apache-2.0
 *
 * The leading end of `iobench sweep --workers`: every cell is run by the `iobench worker` of each machine at once. They prepare it,
 * wait at their gates, are released at one moment (each by its own clock, whose difference from ours is measured just before, to
 * half of the quickest round trip), and their figures are merged (machine_merge.h).
 *
 * A worker that does not answer for MACHINES_SILENT_MS is lost: the cell fails and names it. Later cells run on those that are left
 * and are marked "worker-missing", since they are another load; a worker that is started again takes part again. Main
 * thread; blocks.
 */
#ifndef CALF_IOBENCH_MACHINES_H
#define CALF_IOBENCH_MACHINES_H

#include <stddef.h>
#include <stdint.h>

#include "iobench/plan.h"
#include "iobench/progress.h"
#include "iobench/result.h"

enum { MACHINES_WHY = 1536, MACHINES_SILENT_MS = 5000 };

struct machines;

/* From "HOST:PORT[=DIR],...". 0, and *machines is the caller's; -EINVAL and why. Talks to nobody yet. */
int machines_create(const char *list, const struct result *config, struct machines **machines, char why[MACHINES_WHY])
    __attribute__((warn_unused_result));

/* Has every worker look at its directories and make its own in them; fills the scenarios of *config with what the first one found,
 * and its machines.
 * 0; -EINVAL and why names the worker. */
int machines_open(struct machines *machines, struct result *config, uint64_t space_bytes, char why[MACHINES_WHY])
    __attribute__((warn_unused_result));

/* As cell_run. */
int machines_run(struct machines *machines, const struct result *config, struct progress *progress, uint32_t scenario,
                 const struct plan_cell *cell, uint64_t order_seed, struct sample *sample) __attribute__((warn_unused_result));

/* The workers remove their files. 0; -EBUSY and why: which could not, or did not answer. */
int machines_close(struct machines *machines, char why[MACHINES_WHY]) __attribute__((warn_unused_result));
void machines_destroy(struct machines *machines);

#endif
