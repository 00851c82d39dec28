/* SPDX-License-Identifier: Apache-2.0
 *
 * The master's state as a whole, and the only way to change it: core_apply, which takes one request or journal
 * record and does all of it or, when it returns another status than WIRE_OK, nothing. Replaying the records of all
 * changes into a new core gives the same state, for nothing in here looks at a clock, a socket or chance: times,
 * random ids and placements come in with the change.
 *
 * Beside the state there is volatile knowledge (which servers are connected, commands on their way), marked so in
 * each header, which apply may note but never decides by. One thread.
 */
#ifndef CALF_CORE_H
#define CALF_CORE_H

#include "common/wire.h"
#include "master/chunk_table.h"
#include "master/file_locks.h"
#include "master/namespace.h"
#include "master/removed_files.h"
#include "master/repair_state.h"
#include "master/servers.h"
#include "master/sessions.h"

/* One change: a message of class change, or a journal record. */
struct core_change {
    uint16_t type; /* enum wire_type */
    session_id session; /* 0: nobody's */
    uint32_t slot, sequence;
    int64_t time_ns; /* wall clock */
    const union wire_any *value;
    const void *body; /* value in its encoded form */
    uint32_t body_bytes;
};

struct core {
    uint64_t cluster;
    uint32_t chunk_bytes;
    uint64_t epoch; /* of the last master that took the journal over */
    struct namespace names;
    struct chunk_table chunks;
    struct servers servers;
    struct sessions sessions;
    struct file_locks locks;
    struct removed_files removed;

    /* Gets each change that was done, for the journal; NULL in replay. */
    void (*record)(void *context, const struct core_change *change);
    void *record_context;

    /* volatile */
    bool wake;                /* something happened that requests may be waiting for */
    struct chunk_op *ops;     /* list, see chunk_ops.h */
    struct repair_state repair;
    int64_t all_known_ns;     /* monotonic: until then servers may still be on their way here after a start */
};

enum { CORE_CHUNK_BYTES_NORMAL = 64 << 20, CORE_CHUNK_BYTES_SMALL = 64 << 10 };

/* An empty file system. */
void core_init(struct core *core, uint64_t cluster, uint32_t chunk_bytes, int64_t time_ns);
void core_fini(struct core *core);

/* Does the change. The reply's body (if any) is written to `reply`, which has room for WIRE_BODY_LIMIT bytes; for a
 * session's change it is also kept in its slot. WIRE_OK, or why not: then nothing is changed. */
uint16_t core_apply(struct core *core, const struct core_change *change, struct wire_out *reply)
    __attribute__((warn_unused_result));

/* The same for a record that the master itself makes. */
uint16_t core_decide(struct core *core, uint16_t type, const union wire_any *value, int64_t time_ns)
    __attribute__((warn_unused_result));

/* The longest a file can be. */
uint64_t core_size_limit(const struct core *core);

/* ---- for what is in core_apply_*.c ---- */

/* Frees the inode if nothing needs it any more. */
void core_let_go(struct core *core, struct inode *inode);

/* Frees a chunk with its leases, and has its copies deleted. */
void core_free_chunk(struct core *core, struct chunk *chunk);

/* Sets a file's length: chunks beyond are freed, and what a shorter length leaves in the last chunk is cut (it is
 * unsettled). */
void core_cut(struct core *core, struct inode *inode, uint64_t size);

/* What a writer under a lease sent may have reached some copies and not the others. */
void core_mark_unequal(struct chunk *chunk);

/* A lease is over; clean: its holder said that what was written lies below the length. What may be left above it is
 * cut. */
void core_end_lease(struct core *core, struct lease *lease, bool clean);

/* Takes away a session's locks, or those of a file that is no more. */
void core_end_locks(struct core *core, session_id session);
void core_forget_locks(struct core *core, inode_id ino);

/* A change of attributes or content: ctime and the change counter. */
static inline void core_touch(struct inode *inode, int64_t time_ns)
{
    inode->ctime = time_ns;
    inode->change++;
}

#endif
