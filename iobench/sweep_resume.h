/* SPDX-License-Identifier: Apache-2.0
 *
 * Going on with an interrupted result: what is there counts only if it was taken with the same settings, on the
 * same machine, from the same programs. Pure.
 */
#ifndef CALF_IOBENCH_SWEEP_RESUME_H
#define CALF_IOBENCH_SWEEP_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobench/plan.h"
#include "iobench/result.h"

/* True if the settings asked for are not those of the stored result; why says which, what it was and what it
 * is now. */
bool sweep_resume_settings_differ(const struct result *stored, const struct result *now, char *why,
                                  size_t why_bytes);

/* The same for what was found of one scenario, and for machine and program. */
bool sweep_resume_scenario_differs(const struct scenario_info *stored, const struct scenario_info *now, char *why,
                                   size_t why_bytes);
bool sweep_resume_machine_differs(const struct result *stored, const struct result *now, char *why,
                                  size_t why_bytes);

/* The place of a run in the plan: below plan->runs. */
uint64_t sweep_resume_run_number(const struct plan *plan, uint32_t round, uint32_t cell, uint32_t scenario);

/* Copies the samples that need not be taken again (all but the failed ones) and marks their runs in have. */
void sweep_resume_take(const struct result *stored, const struct plan *plan, struct result *now, uint8_t *have);

#endif
