/* SPDX-License-Identifier: Apache-2.0
 *
 * When and how snapshots are taken: a forked child writes the state as it was at the fork, while the master goes on.
 * The journal begins a new file at that moment; older ones are dropped when the snapshot is on the disk and not
 * before.
 */
#ifndef CALF_SNAPSHOT_TASK_H
#define CALF_SNAPSHOT_TASK_H

#include "master/master.h"

/* Begins one if the journal has grown enough, or is old. About once a second. */
void snapshot_task_consider(struct master *master);

/* SIGCHLD: the child may be done. */
void snapshot_task_child(struct master *master);

/* Writes one in this process, for a new directory. 0 or negative errno. */
int snapshot_task_write(const struct core *core, const char *dir, uint64_t index) __attribute__((warn_unused_result));

#endif
