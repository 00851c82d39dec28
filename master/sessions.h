/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of clients, and what lasts as long as they do: slots with the last change done on each and its reply (so
 * that a change asked for twice is done once), opens, write leases and append locks. State, rebuilt by replay, but
 * for what is marked volatile.
 *
 * A slot's number is small and its table grows to the highest used. Pure; one thread.
 */
#ifndef CALF_SESSIONS_H
#define CALF_SESSIONS_H

#include <stdbool.h>

#include "common/wire.h"
#include "master/chunk_table.h"
#include "master/id_table.h"
#include "master/ids.h"
#include "master/namespace.h"

enum { SESSION_SLOTS_LIMIT = 1024, SESSIONS_LIMIT = 4096 };

struct slot {
    uint32_t sequence; /* of the last change that was done */
    uint16_t type;     /* its message; 0: none was done */
    uint32_t reply_bytes, reply_room;
    uint8_t *reply;    /* its reply's body */
    void *connection;  /* volatile: who serves the slot now */
};

struct open_count {
    struct id_node node; /* inode_id */
    uint32_t count;
};

struct session {
    struct id_node node;
    bool exclusive;
    char *name; /* for people */
    struct slot *slots;
    uint32_t slot_count;
    struct id_table opens; /* struct open_count */
    struct lease *leases;
    uint32_t lease_count;
    int64_t last_heard_ns; /* volatile, monotonic */
    uint32_t connections;  /* volatile */
    uint64_t lock_events;  /* volatile: how often something was freed that it was refused */
};

/* The right of a session to write to a chunk. */
struct lease {
    struct chunk *chunk;
    struct session *session;
    struct lease *next_of_chunk;
    struct lease *next_of_session, **link_of_session;
};

struct append_lock {
    struct id_node node; /* inode_id */
    session_id session;
};

struct sessions {
    struct id_table table;
    struct id_table append_locks;
    uint32_t exclusive_count;
};

void sessions_fini(struct sessions *sessions); /* the chunks must be gone or not be used any more */

struct session *sessions_find(const struct sessions *sessions, session_id id);

/* A new session; its id is not there yet. */
struct session *sessions_add(struct sessions *sessions, session_id id, bool exclusive, struct wire_bytes name);

/* Frees it; it has no opens and no leases any more. */
void sessions_remove(struct sessions *sessions, struct session *session);

/* The slot, made if need be; number below SESSION_SLOTS_LIMIT. Valid until another slot is made. */
struct slot *session_slot(struct session *session, uint32_t number);

/* Remembers what a change answered. */
void slot_save(struct slot *slot, uint16_t type, uint32_t sequence, const void *reply, size_t bytes);

/* Counts opens of the inode, also in the inode; takes back as many as there are, at most count. */
void session_open(struct session *session, struct inode *inode);
void session_release(struct session *session, struct inode *inode, uint32_t count);

struct lease *session_find_lease(const struct session *session, const struct chunk *chunk);
void session_add_lease(struct session *session, struct chunk *chunk);
void lease_drop(struct lease *lease); /* frees it; the caller lets the chunk rest */

/* Who holds the file's append lock; 0: nobody. */
session_id sessions_append_holder(const struct sessions *sessions, inode_id ino);
void sessions_append_take(struct sessions *sessions, inode_id ino, session_id session);
/* Gives it back if that session holds it; true if so. */
bool sessions_append_give(struct sessions *sessions, inode_id ino, session_id session);
/* Gives all of the session's locks back. */
void sessions_append_give_all(struct sessions *sessions, session_id session);

#endif
