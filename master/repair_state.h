/* SPDX-License-Identifier: Apache-2.0
 *
 * What repair.h keeps in the core: which chunks wait for what, and the copies being made now. All of it is volatile: a
 * master that starts looks at all chunks anew. Zeroed memory is a valid start. Data only.
 */
#ifndef CALF_REPAIR_STATE_H
#define CALF_REPAIR_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "master/ids.h"

struct chunk;

/* In the order in which they get their turn. */
enum repair_class {
    REPAIR_LAST,    /* one valid copy is left of a chunk that should have more */
    REPAIR_BELOW,   /* fewer copies than wanted */
    REPAIR_UNEQUAL, /* copies that a dead writer may have left different */
    REPAIR_DRAIN,   /* enough copies, but on servers that are being emptied */
    REPAIR_SURPLUS, /* more than wanted, or a bad copy beside enough good ones: one goes */
    REPAIR_NEW,     /* not looked at yet */
    REPAIR_CLASSES,
    REPAIR_NOTHING = REPAIR_CLASSES,
    REPAIR_BALANCE, /* a job's reason only */
};

enum repair_job_state { REPAIR_FENCING, REPAIR_COPYING };

/* A copy being made. While FENCING, a new version is on its way to the copies there are, so that no writer can reach
 * them with what he knows; who asks for a lease waits until the job is over. */
struct repair_job {
    struct repair_job *next, *previous;
    struct chunk *chunk;
    server_id source, target;
    uint64_t number; /* of the command to the target */
    int64_t started_ns;
    uint8_t state, why; /* enum repair_job_state, repair_class */
    bool fenced;
};

struct repair_queue {
    chunk_id *ids; /* a ring */
    size_t first, count, room;
};

struct repair_state {
    bool started;
    bool look;          /* all chunks are to be looked at */
    int64_t look_ns;    /* not later than this, too; 0: no such time */
    int64_t patience_ns;
    bool passing;       /* a pass over all chunks goes on at: */
    size_t bucket, buckets;
    uint64_t unmet, unmet_last; /* chunks that want a copy and there is no place: in this pass, in the last one */
    struct repair_queue queues[REPAIR_CLASSES];
    struct repair_job *jobs;
    uint32_t job_count;
    uint64_t copies_made, copies_failed, copies_said; /* said: in the log */

    /* repair_balance.c */
    bool balancing;
    size_t balance_bucket;
    uint32_t balance_moves;  /* in this round */
    int64_t balance_rest_ns; /* not before */
};

#endif
