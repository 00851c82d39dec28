/* SPDX-License-Identifier: Apache-2.0
 *
 * The running master: the core, what is around it, and its time. One thread runs everything (the journal and nng
 * have threads of their own, which touch nothing here).
 *
 * All that one round of events changes goes to the journal as one group; replies and commands leave after that.
 */
#ifndef CALF_MASTER_H
#define CALF_MASTER_H

#include <stdbool.h>

#include "common/control.h"
#include "master/chunk_ops.h"
#include "master/core.h"
#include "master/journal.h"

struct client_connections;
struct server_control;

struct master {
    struct core core;
    const char *dir;
    struct journal *journal;
    enum journal_sync sync;
    struct core_time now;    /* of this round */
    int64_t started_ns;      /* monotonic */
    uint32_t session_timeout_ms;
    /* A second session is let in only when nothing that the first was told to believe is believed any more. */
    int64_t sharing_since_ns;    /* monotonic: when somebody else came to the one session; 0: nobody */
    int64_t sharing_asked_ns;    /* when he last asked */
    bool changed, need_sync; /* in this round: records were appended; one of them must be on the disk */
    struct client_connections *clients;
    struct server_control *control;

    /* snapshots, see snapshot_task.c */
    int snapshot_pid;            /* of the process that writes one now, or 0 */
    uint32_t snapshot_failures;  /* since the last that was written */
    uint64_t snapshot_index;     /* last record in the newest that is on the disk */
    int64_t snapshot_ns;         /* wall clock: when that was */
    int64_t snapshot_retry_ns;   /* monotonic: after a failure, not before */
    uint64_t snapshot_journal_bytes; /* size of the journal right after it */
    uint64_t snapshot_next_index;    /* of the one being written */
};

static inline const char *master_sync_name(const struct master *master)
{
    return master->sync == JOURNAL_SYNC_ALWAYS ? "always" : "interval";
}

#endif
