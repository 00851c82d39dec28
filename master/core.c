/* SPDX-License-Identifier: Apache-2.0 */
#include "master/core.h"

#include <string.h>

#include "common/check.h"
#include "master/chunk_ops.h"
#include "master/core_apply.h"
#include "master/repair.h"

void core_init(struct core *core, uint64_t cluster, uint32_t chunk_bytes, int64_t time_ns)
{
    *core = (struct core){.cluster = cluster, .chunk_bytes = chunk_bytes};
    namespace_init(&core->names, time_ns);
    chunk_table_init(&core->chunks);
}

void core_fini(struct core *core)
{
    repair_fini(core);
    chunk_ops_fini(core);
    sessions_fini(&core->sessions);
    file_locks_fini(&core->locks);
    chunk_table_fini(&core->chunks);
    namespace_fini(&core->names);
    servers_fini(&core->servers);
}

uint64_t core_size_limit(const struct core *core)
{
    return (uint64_t)core->chunk_bytes * (UINT32_MAX - 1);
}

/* ---- dispatch ---- */

#define APPLY_query(name)
#define APPLY_derived(name)
#define APPLY_change(name)                                                                                           \
    case WIRE_TYPE_##name: {                                                                                         \
        struct wire_##name##_reply answer;                                                                           \
        memset(&answer, 0, sizeof answer);                                                                           \
        uint16_t status = core_apply_##name(core, change, &change->value->name, &answer);                            \
        if (status == WIRE_OK)                                                                                       \
            wire_put_##name##_reply(reply, &answer);                                                                 \
        return status;                                                                                               \
    }
#define APPLY_ROW(name, number, class, payload, reply_payload, meaning) APPLY_##class(name)
#define APPLY_JOURNAL_ROW(name, number, meaning)                                                                     \
    case WIRE_TYPE_##name:                                                                                           \
        return core_apply_##name(core, change, &change->value->name);

static uint16_t dispatch(struct core *core, const struct core_change *change, struct wire_out *reply)
{
    switch (change->type) {
        WIRE_MASTER_MESSAGES(APPLY_ROW)
        WIRE_JOURNAL_RECORDS(APPLY_JOURNAL_ROW)
    }
    return WIRE_BAD_MESSAGE;
}

static bool is_journal_only(uint16_t type)
{
    return type >= WIRE_TYPE_j_session;
}

uint16_t core_apply(struct core *core, const struct core_change *change, struct wire_out *reply)
{
    size_t before = reply->used;
    bool of_slot = change->session && !is_journal_only(change->type);
    if (of_slot && (!sessions_find(&core->sessions, change->session) || change->slot >= SESSION_SLOTS_LIMIT))
        return WIRE_NO_SESSION;
    uint16_t status = dispatch(core, change, reply);
    if (status != WIRE_OK)
        return status;
    CHECK(!reply->failed);
    if (of_slot) {
        struct session *session = sessions_find(&core->sessions, change->session);
        slot_save(session_slot(session, change->slot), change->type, change->sequence, reply->data + before,
                  reply->used - before);
    }
    if (core->record)
        core->record(core->record_context, change);
    return WIRE_OK;
}

uint16_t core_decide(struct core *core, uint16_t type, const union wire_any *value, int64_t time_ns)
{
    uint8_t body[8192];
    struct wire_out out = wire_out_on(body, sizeof body), reply = wire_out_on(NULL, 0);
    CHECK(wire_put_any(type, &out, value) == 0);
    struct core_change change = {
        .type = type, .time_ns = time_ns, .value = value, .body = body, .body_bytes = (uint32_t)out.used};
    return core_apply(core, &change, &reply);
}

/* ---- what several changes do ---- */

void core_free_chunk(struct core *core, struct chunk *chunk)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    while (chunk->activity && chunk->activity->leases)
        lease_drop(chunk->activity->leases);
    chunk_ops_cancel(core, chunk);
    repair_cancel(core, chunk);
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        struct server *server = servers_find(&core->servers, copies[i].server);
        if (server && (server->connected || server->registering))
            server_queue_delete(&core->servers, server, chunk->node.id, 0);
    }
    inode_remove_chunk(chunk->owner, chunk);
    chunk_table_remove(&core->chunks, chunk);
    core->wake = true;
}

/* From the last one, so that nothing moves in the array. */
static void free_chunks_from(struct core *core, struct inode *inode, uint32_t position)
{
    while (inode->file.chunk_count > position)
        core_free_chunk(core, inode_chunks(inode)[inode->file.chunk_count - 1]);
}

/* Until the copies have it, no more blocks are known to be left than there is room for. */
static void unsettle(struct core *core, struct chunk *chunk, uint32_t keep_bytes)
{
    uint32_t room = (uint32_t)(((uint64_t)keep_bytes + WIRE_BLOCK_BYTES - 1) / WIRE_BLOCK_BYTES);
    if (keep_bytes != WIRE_KEEP_ALL && chunk->blocks > room)
        inode_set_blocks(chunk, room);
    chunk_table_unsettle(&core->chunks, chunk, keep_bytes);
}

/* What lies wholly beyond a new length. A chunk on which somebody holds a lease stays, emptied under a new version:
 * a write under way to a chunk that is no more would be acknowledged and lost. It goes with its last lease. */
static void cut_chunks_from(struct core *core, struct inode *inode, uint32_t position)
{
    for (uint32_t i = inode->file.chunk_count; i > position; i--) {
        struct chunk *chunk = inode_chunks(inode)[i - 1];
        if (chunk_is_leased(chunk))
            unsettle(core, chunk, 0);
        else
            core_free_chunk(core, chunk);
    }
}

void core_let_go(struct core *core, struct inode *inode)
{
    if (inode->nlink || inode->opens || inode->kept)
        return;
    core_forget_locks(core, inode->node.id);
    if (inode_is_file(inode)) {
        free_chunks_from(core, inode, 0);
        session_id holder = sessions_append_holder(&core->sessions, inode->node.id);
        if (holder)
            (void)sessions_append_give(&core->sessions, inode->node.id, holder);
    }
    namespace_free(&core->names, inode);
}

void core_cut(struct core *core, struct inode *inode, uint64_t size)
{
    if (size < inode->size) {
        uint64_t whole = size / core->chunk_bytes;
        uint32_t keep = (uint32_t)(size % core->chunk_bytes);
        CHECK(whole < UINT32_MAX);
        uint32_t index = (uint32_t)whole;
        inode->size_epoch++;
        cut_chunks_from(core, inode, inode_chunk_position(inode, keep ? index + 1 : index));
        struct chunk *last = keep ? inode_find_chunk(inode, index) : NULL;
        if (last && (!(last->bits & CHUNK_MAYBE_ABSENT) || chunk_is_leased(last) || chunk_is_unsettled(last)))
            unsettle(core, last, keep);
    }
    inode->size = size;
}

/* With the last lease gone, nothing written may be left above the length. */
static void clear_tail(struct core *core, struct chunk *chunk)
{
    uint64_t start = (uint64_t)chunk->index * core->chunk_bytes, size = chunk->owner->size;
    bool dirty = chunk->bits & CHUNK_DIRTY;
    chunk->bits &= (uint8_t)~CHUNK_DIRTY;
    if (start >= size) {
        core_free_chunk(core, chunk);
        return;
    }
    chunk->bits &= (uint8_t)~CHUNK_SHARED;
    if (dirty)
        unsettle(core, chunk,
                 size - start < core->chunk_bytes ? (uint32_t)(size - start) : WIRE_KEEP_ALL);
    if (chunk->bits & CHUNK_UNEQUAL || chunk->copy_count < chunk->owner->goal)
        repair_note(core, chunk); /* repair passed it by while it was leased, or before it was written */
    chunk_rest(chunk);
}

void core_mark_unequal(struct chunk *chunk)
{
    if (chunk->copy_count > 1)
        chunk->bits |= CHUNK_UNEQUAL;
}

void core_end_lease(struct core *core, struct lease *lease, bool clean)
{
    struct chunk *chunk = lease->chunk;
    lease_drop(lease);
    if (!clean)
        chunk->bits |= CHUNK_DIRTY;
    if (!chunk_is_leased(chunk))
        clear_tail(core, chunk);
}
