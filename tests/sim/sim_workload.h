/* SPDX-License-Identifier: Apache-2.0
 *
 * What the clients do: each works at random on files of its own, which the others read, and all append to one file. What
 * they are told goes to the ledger and what they read is judged by it.
 */
#ifndef CALF_SIM_WORKLOAD_H
#define CALF_SIM_WORKLOAD_H

#include <stdbool.h>

/* Makes what the clients start from: directories, the shared file, the goal. A fiber's function; sets workload_ready. */
void *workload_set_up(void *argument);
extern bool workload_ready;

/* A client's life: mounts, works until workload_stopping, closes everything, unmounts. A fiber's function. */
void *workload_run(void *argument);
extern bool workload_stopping;

/* True when the client on that node has unmounted. */
bool workload_is_done(unsigned node);

/* Where the client on that node is: for the report about one that is stuck. */
const char *workload_doing(unsigned node);

/* The client on that node was killed: what it had under way may have happened or not. */
void workload_was_killed(unsigned node);

/* Operations may fail from now on: nobody promises that they succeed under what is to come. */
void workload_excuse_errors(void);

#endif
