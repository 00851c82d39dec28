/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies being made, from their beginning to the record that they count, or to their end without it; and copies that go.
 * For repair.c and repair_balance.c. Pure; one thread.
 */
#ifndef CALF_REPAIR_JOBS_H
#define CALF_REPAIR_JOBS_H

#include "master/repair.h"

/* Does what the chunk needs, or begins it. False: not now. */
bool repair_jobs_begin(struct core *core, struct chunk *chunk, const struct repair_need *need, struct core_time now)
    __attribute__((warn_unused_result));

/* Begins a copy of a settled chunk that nobody writes. */
void repair_jobs_copy(struct core *core, struct chunk *chunk, server_id source, server_id target, uint8_t why,
                      struct core_time now);

/* Ends jobs that take too long. */
void repair_jobs_tick(struct core *core, struct core_time now);

void repair_jobs_fini(struct core *core);

#endif
