/* SPDX-License-Identifier: Apache-2.0
 *
 * This client's session at the master, and the calls made in it. A call takes a slot, a connection of its own with one
 * request outstanding, for as long as it runs: as many calls run at once as there are threads in calls. The slot given back last is
 * taken first, so that few connections stay hot.
 *
 * A call survives the loss of its connection and a restart of the master: it connects again and repeats the request
 * under the same slot and sequence number, by which the master knows what it has done already. It gives up at the
 * retry limit. A session that the master does not know any more is replaced by a new one, which is told by its generation:
 * what was bound to the old one (opens, leases, append locks) is gone.
 *
 * Any thread may call any function here; create and destroy come first and last.
 */
#ifndef CALF_MASTER_SESSION_H
#define CALF_MASTER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/units.h"
#include "common/wire.h"

struct master_session;
struct master_slot;

struct master_session_options {
    struct address master;
    bool exclusive;      /* ask to be the only writing session */
    int64_t retry_ns;    /* how long one call tries before -EIO */
    int64_t wait_ns;     /* how long master_session_create waits for a master that is away; 0: for ever */
    const char *node;    /* this client's name, for people; copied */
};

/* What the master said of its cluster. */
struct master_welcome {
    uint64_t cluster;
    uint32_t chunk_bytes, block_bytes;
    char journal[17]; /* "always" or "interval" */
};

struct master_call {
    struct master_slot *slot; /* held until master_session_finish */
    uint32_t generation;      /* of the session in which the call was carried out */
    union wire_any reply;     /* bytes, texts and lists point into the slot's buffer */
};

enum { MASTER_ANY_GENERATION = 0 };

/* Opens a session; blocks until the master answers, with a log line every ten seconds, or until retry_stop_all() (-EINTR).
 * -EUSERS: exclusive use was refused; -EPROTONOSUPPORT, -EXDEV, ...: refused for another reason (logged). */
int master_session_create(const struct master_session_options *options, struct master_session **session)
    __attribute__((warn_unused_result));

/* Ends the session at the master if it can be reached at once. No call may be running. NULL is allowed. */
void master_session_destroy(struct master_session *session);

const struct master_welcome *master_session_welcome(const struct master_session *session);
uint64_t master_session_id(struct master_session *session);

/* 1 for the first session; rises each time a new one had to be begun. */
uint32_t master_session_generation(struct master_session *session);

/* Carries out one request (type without WIRE_REPLY). generation: the call is only of use in that generation of the session,
 * -ENOTCONN in a later one; MASTER_ANY_GENERATION: in any.
 * 0: call->reply is the decoded reply; give the call back with master_session_finish. Else a negative errno, nothing to give back:
 * what the master answered; -EIO: the retry limit was reached; -EINTR: interrupted. Blocks. */
int master_session_call(struct master_session *session, uint32_t generation, uint16_t type, const union wire_any *request,
                        struct master_call *call) __attribute__((warn_unused_result));

/* After this nothing in call->reply may be used. */
void master_session_finish(struct master_session *session, struct master_call *call);

#endif
