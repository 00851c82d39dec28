/* SPDX-License-Identifier: Apache-2.0
 *
 * The master's commands: executes them and keeps their results until the master has heard of them. Quick ones run in the
 * caller's thread, copies in a thread of their own, one after the other, so that polls go on meanwhile. All commands may come
 * twice. Any thread.
 */
#ifndef CALF_MASTER_COMMANDS_H
#define CALF_MASTER_COMMANDS_H

#include "chunkserver/store.h"
#include "common/wire.h"

struct master_commands;

/* The store must outlive it. *result is the caller's, for master_commands_destroy, which waits for a copy to stop. */
struct master_commands *master_commands_create(struct store *store);
void master_commands_destroy(struct master_commands *commands);

/* What the list points to need not stay. */
void master_commands_take(struct master_commands *commands, const struct wire_list *list);

/* The oldest results into room; how many. They stay until master_commands_told(), which drops as many of the oldest. */
unsigned master_commands_peek(struct master_commands *commands, struct wire_out *room, struct wire_list *results);
void master_commands_told(struct master_commands *commands, unsigned count);

/* A new registration numbers its commands anew: old results are void, and so are copies; one that is being made is given
 * up before this returns (seconds, if its source does not answer), so that nothing appears in the store after what is
 * reported. */
void master_commands_forget(struct master_commands *commands);

#endif
