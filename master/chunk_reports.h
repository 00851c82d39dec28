/* SPDX-License-Identifier: Apache-2.0
 *
 * What chunkservers say they hold, compared with what they should. A copy is deleted only when its chunk was removed
 * for certain, or when a newer version is known to be good on a connected server; on doubt it stays. Pure; one
 * thread.
 */
#ifndef CALF_CHUNK_REPORTS_H
#define CALF_CHUNK_REPORTS_H

#include "master/chunk_ops.h"

/* A registration begins: nothing is known of the server's copies. */
void chunk_reports_begin(struct core *core, const struct server *server);

/* One reported chunk. */
void chunk_reports_take(struct core *core, struct server *server, const struct wire_chunk_report *report,
                        struct core_time now);

/* The server has reported all and is connected now. */
void chunk_reports_end(struct core *core, struct server *server, struct core_time now);

/* Has copies deleted that are known to be stale or unfinished, now that it can be certain. */
void chunk_reports_judge(struct core *core);

/* A chunk was found damaged later. */
void chunk_reports_damaged(struct core *core, struct server *server, const struct wire_chunk_report *report);

#endif
