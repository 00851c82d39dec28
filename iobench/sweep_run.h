/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop over rounds, cells and scenarios, and saving on the way: about once a second, so that a sweep that is
 * killed leaves a result that parses and can be gone on with. Main thread.
 */
#ifndef CALF_IOBENCH_SWEEP_RUN_H
#define CALF_IOBENCH_SWEEP_RUN_H

#include "iobench/sweep.h"

/* Runs what the result does not have yet. Ends early on an interrupt (s->interrupted). Failures are counted
 * in s and said on stderr. */
void sweep_run(struct sweep *s);

/* Writes the result now. A failure is said once and remembered in s->save_failed. */
void sweep_run_save(struct sweep *s);

#endif
