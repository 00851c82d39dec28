/* SPDX-License-Identifier: Apache-2.0
 *
 * All chunks by id: version, which file they belong to, and which servers have valid copies. Also the write leases
 * and unfinished version changes of those few chunks that have any. Does not know what a copy's server is doing now
 * (servers.h).
 *
 * Invariant: bytes of a chunk above its file's published length are zero, unless a lease on it is outstanding or it
 * is unsettled. A chunk is *unsettled* from the moment a change of state asks for a new version (a cut, a session
 * that ended with a lease, a failed write) until its copies are known to have it; nobody reads or leases it
 * meanwhile. Pure; one thread.
 */
#ifndef CALF_CHUNK_TABLE_H
#define CALF_CHUNK_TABLE_H

#include <stdbool.h>

#include "common/wire.h"
#include "master/id_table.h"
#include "master/ids.h"

struct chunk_op;
struct repair_job;
struct inode;
struct lease;

enum chunk_copy_bits {
    COPY_REPORTED = 1, /* volatile: its server said so in this registration, or acknowledged a write */
    COPY_DAMAGED = 2,  /* volatile: its server found a block or the header damaged */
    COPY_LOST = 4,     /* volatile: its server does not have it, or in another version */
    COPY_EQUAL = 8,    /* volatile: of a chunk that is CHUNK_UNEQUAL: it was made anew from the first copy */
};

struct chunk_copy {
    uint16_t server; /* server_id */
    uint8_t bits;
};

enum chunk_bits {
    CHUNK_MAYBE_ABSENT = 1, /* no write was acknowledged yet, so servers may not have made it */
    CHUNK_DIRTY = 2,        /* a lease ended without its holder's word on what was written above the length */
    CHUNK_SHARED = 8,       /* several sessions had leases at once: none of them knows the last number of blocks */
    CHUNK_UNEQUAL = 4,      /* a writer is gone in the middle: copies may differ in bytes that it was never told are written */
};

enum { CHUNK_COPIES_INSIDE = 2 };

/* What only few chunks have. */
struct chunk_activity {
    struct chunk *chunk;
    struct lease *leases;       /* linked by next_of_chunk */
    bool unsettled;
    uint32_t keep_bytes;        /* unsettled: what the next version keeps; WIRE_KEEP_ALL: all */
    uint32_t oldest_version;    /* unsettled: copies have this version or a later one */
    struct chunk_op *op;        /* volatile: the change that is on its way, or NULL */
    struct repair_job *repair;  /* volatile: the copy that is being made, or NULL */
    int64_t retry_ns;           /* volatile: after a failed one, the next not before */
    struct chunk_activity *next_unsettled, *previous_unsettled;
};

struct chunk {
    struct id_node node;
    struct inode *owner;
    struct chunk_activity *activity; /* NULL: nothing goes on */
    uint32_t version;
    uint32_t index; /* in the file */
    union {
        struct chunk_copy inside[CHUNK_COPIES_INSIDE];
        struct chunk_copy *outside; /* when there are more */
    } copies;
    uint8_t copy_count;
    uint8_t bits;
    bool queued; /* volatile: it stands in a queue of repair.h */
    uint32_t blocks; /* that were written, as far as it was told; the owner has the sum. See inode_set_blocks. */
};

/* A range of ids that may have been given by a master whose journal was lost; nothing is known about them. */
struct chunk_gap {
    chunk_id first, end;
};

struct chunk_table {
    struct id_table table;
    chunk_id next_id;
    struct chunk_activity *unsettled; /* list */
    size_t unsettled_count;
    struct chunk_gap *gaps;
    uint32_t gap_count;
};

void chunk_table_init(struct chunk_table *chunks);
void chunk_table_fini(struct chunk_table *chunks);

struct chunk *chunk_table_find(const struct chunk_table *chunks, chunk_id id);

/* A new chunk of that id, which rises next_id. The caller sets the rest. */
struct chunk *chunk_table_add(struct chunk_table *chunks, chunk_id id);

/* Removes and frees; its leases and its operation must be gone. */
void chunk_table_remove(struct chunk_table *chunks, struct chunk *chunk);

/* Never again give an id that a lost part of the journal may have given. */
void chunk_table_skip_ids(struct chunk_table *chunks);

/* True if a chunk of that id was made and removed for certain, so that what is left of it can go. */
bool chunk_table_was_removed(const struct chunk_table *chunks, chunk_id id);

struct chunk_copy *chunk_copies(struct chunk *chunk);
struct chunk_copy *chunk_find_copy(struct chunk *chunk, server_id server); /* NULL: not there */

/* Replaces the set of copies; bits of those that stay are kept. At most WIRE_COPIES_LIMIT. */
void chunk_set_copies(struct chunk *chunk, const uint16_t *servers, uint8_t count);

/* The activity record, made if there is none; chunk_rest frees it when nothing goes on any more. */
struct chunk_activity *chunk_activity_of(struct chunk *chunk);
void chunk_rest(struct chunk *chunk);

static inline bool chunk_is_unsettled(const struct chunk *chunk)
{
    return chunk->activity && chunk->activity->unsettled;
}

static inline bool chunk_is_leased(const struct chunk *chunk)
{
    return chunk->activity && chunk->activity->leases;
}

/* Marks it unsettled, or keeps the lesser of what both want kept. */
void chunk_table_unsettle(struct chunk_table *chunks, struct chunk *chunk, uint32_t keep_bytes);
void chunk_table_settle(struct chunk_table *chunks, struct chunk *chunk);

#endif
