/* SPDX-License-Identifier: Apache-2.0 */
#include "master/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static void free_table(struct id_table *table)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(table, &walk); node; node = id_table_next(table, &walk))
        free(node);
    id_table_fini(table);
}

static void free_session(struct session *session)
{
    for (uint32_t i = 0; i < session->slot_count; i++)
        free(session->slots[i].reply);
    for (struct lease *lease = session->leases, *next; lease; lease = next) {
        next = lease->next_of_session;
        free(lease);
    }
    free(session->slots);
    free(session->name);
    free_table(&session->opens);
    free(session);
}

void sessions_fini(struct sessions *sessions)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(&sessions->table, &walk); node;
         node = id_table_next(&sessions->table, &walk))
        free_session((struct session *)node);
    id_table_fini(&sessions->table);
    free_table(&sessions->append_locks);
    *sessions = (struct sessions){0};
}

struct session *sessions_find(const struct sessions *sessions, session_id id)
{
    return (struct session *)id_table_find(&sessions->table, id);
}

struct session *sessions_add(struct sessions *sessions, session_id id, bool exclusive, struct wire_bytes name)
{
    struct session *session = check_alloc(calloc(1, sizeof *session));
    session->node.id = id;
    session->exclusive = exclusive;
    session->name = check_alloc(malloc(name.length + 1u));
    CHECK(wire_copy_text(name, session->name, name.length + 1u));
    id_table_add(&sessions->table, &session->node);
    sessions->exclusive_count += exclusive;
    return session;
}

void sessions_remove(struct sessions *sessions, struct session *session)
{
    CHECK(session->opens.count == 0 && !session->leases);
    CHECK(id_table_remove(&sessions->table, session->node.id) == &session->node);
    sessions->exclusive_count -= session->exclusive;
    free_session(session);
}

/* ---- slots ---- */

struct slot *session_slot(struct session *session, uint32_t number)
{
    CHECK(number < SESSION_SLOTS_LIMIT);
    if (number >= session->slot_count) {
        session->slots = check_alloc(realloc(session->slots, (number + 1) * sizeof *session->slots));
        memset(session->slots + session->slot_count, 0, (number + 1 - session->slot_count) * sizeof *session->slots);
        session->slot_count = number + 1;
    }
    return &session->slots[number];
}

void slot_save(struct slot *slot, uint16_t type, uint32_t sequence, const void *reply, size_t bytes)
{
    if (bytes > slot->reply_room) {
        free(slot->reply);
        slot->reply_room = bytes < 128 ? 128 : (uint32_t)bytes;
        slot->reply = check_alloc(malloc(slot->reply_room));
    }
    if (bytes)
        memcpy(slot->reply, reply, bytes);
    slot->reply_bytes = (uint32_t)bytes;
    slot->type = type;
    slot->sequence = sequence;
}

/* ---- opens ---- */

void session_open(struct session *session, struct inode *inode)
{
    struct open_count *open = (struct open_count *)id_table_find(&session->opens, inode->node.id);
    if (!open) {
        open = check_alloc(calloc(1, sizeof *open));
        open->node.id = inode->node.id;
        id_table_add(&session->opens, &open->node);
    }
    open->count++;
    inode->opens++;
}

void session_release(struct session *session, struct inode *inode, uint32_t count)
{
    struct open_count *open = (struct open_count *)id_table_find(&session->opens, inode->node.id);
    if (!open)
        return;
    if (count > open->count)
        count = open->count;
    CHECK(inode->opens >= count);
    open->count -= count;
    inode->opens -= count;
    if (open->count == 0) {
        (void)id_table_remove(&session->opens, inode->node.id);
        free(open);
    }
}

/* ---- leases ---- */

struct lease *session_find_lease(const struct session *session, const struct chunk *chunk)
{
    struct lease *lease = chunk->activity ? chunk->activity->leases : NULL;
    while (lease && lease->session != session)
        lease = lease->next_of_chunk;
    return lease;
}

void session_add_lease(struct session *session, struct chunk *chunk)
{
    struct chunk_activity *activity = chunk_activity_of(chunk);
    struct lease *lease = check_alloc(calloc(1, sizeof *lease));
    *lease = (struct lease){chunk, session, activity->leases, session->leases, &session->leases};
    if (session->leases)
        session->leases->link_of_session = &lease->next_of_session;
    session->leases = lease;
    session->lease_count++;
    activity->leases = lease;
}

void lease_drop(struct lease *lease)
{
    struct lease **link = &lease->chunk->activity->leases;
    while (*link != lease)
        link = &(*link)->next_of_chunk;
    *link = lease->next_of_chunk;
    *lease->link_of_session = lease->next_of_session;
    if (lease->next_of_session)
        lease->next_of_session->link_of_session = lease->link_of_session;
    lease->session->lease_count--;
    free(lease);
}

/* ---- append locks ---- */

session_id sessions_append_holder(const struct sessions *sessions, inode_id ino)
{
    const struct append_lock *lock = (struct append_lock *)id_table_find(&sessions->append_locks, ino);
    return lock ? lock->session : 0;
}

void sessions_append_take(struct sessions *sessions, inode_id ino, session_id session)
{
    struct append_lock *lock = (struct append_lock *)id_table_find(&sessions->append_locks, ino);
    if (lock) {
        CHECK(lock->session == session);
        return;
    }
    lock = check_alloc(calloc(1, sizeof *lock));
    lock->node.id = ino;
    lock->session = session;
    id_table_add(&sessions->append_locks, &lock->node);
}

bool sessions_append_give(struct sessions *sessions, inode_id ino, session_id session)
{
    if (sessions_append_holder(sessions, ino) != session)
        return false;
    free(id_table_remove(&sessions->append_locks, ino));
    return true;
}

void sessions_append_give_all(struct sessions *sessions, session_id session)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(&sessions->append_locks, &walk); node;
         node = id_table_next(&sessions->append_locks, &walk))
        (void)sessions_append_give(sessions, node->id, session);
}
