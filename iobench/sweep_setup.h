/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens before the first run of a sweep and after its last: configuration and plan, the result to go on
 * with, starting scenarios, inspecting and attaching them, and taking all of that back. Errors are said here, on
 * stderr, in one line. Main thread.
 */
#ifndef CALF_IOBENCH_SWEEP_SETUP_H
#define CALF_IOBENCH_SWEEP_SETUP_H

#include "iobench/sweep.h"

/* Configuration, plan, and with --resume the samples that are there. Touches no scenario. An exit status. */
int sweep_setup_plan(struct sweep *s) __attribute__((warn_unused_result));

/* Starts (with --up), inspects and attaches the scenarios, makes the result directory. An exit status;
 * whatever it is, sweep_setup_undo is due. */
int sweep_setup_scenarios(struct sweep *s) __attribute__((warn_unused_result));

/* Removes test files and stops what was started. False if something stayed, which was then said. */
bool sweep_setup_undo(struct sweep *s);

#endif
