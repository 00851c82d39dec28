/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of chunks, decided elsewhere: leases, versions, copies; and the servers that hold them.
 */
#include "common/check.h"
#include "master/core_apply.h"
#include "master/repair.h"

/* The ids in a list; their number, or -1 if one is not a server's or comes twice. */
static int read_servers(const struct core *core, struct wire_list list, uint16_t ids[WIRE_COPIES_LIMIT])
{
    struct wire_server server;
    int count = 0;
    while (wire_next_server(&list, &server)) {
        if (!servers_find(&core->servers, server.id))
            return -1;
        for (int i = 0; i < count; i++)
            if (ids[i] == server.id)
                return -1;
        ids[count++] = (uint16_t)server.id;
    }
    return count;
}

uint16_t core_apply_j_lease(struct core *core, const struct core_change *change, const struct wire_j_lease *record)
{
    struct inode *inode = namespace_find(&core->names, record->ino);
    struct session *session = sessions_find(&core->sessions, record->session);
    uint16_t ids[WIRE_COPIES_LIMIT];
    int count = read_servers(core, record->servers, ids);
    (void)change;
    if (!inode || !session)
        return inode ? WIRE_NO_SESSION : WIRE_STALE;
    if (!inode_is_file(inode) || count < 0)
        return WIRE_INVALID;
    struct chunk *chunk = inode_find_chunk(inode, record->index);
    if (chunk ? count > 0 || chunk->node.id != record->chunk_id || chunk->version != record->version
              : count == 0 || record->chunk_id < core->chunks.next_id)
        return WIRE_INVALID;
    if (!chunk) {
        chunk = chunk_table_add(&core->chunks, record->chunk_id);
        chunk->version = record->version;
        chunk->index = record->index;
        chunk->bits = CHUNK_MAYBE_ABSENT;
        chunk_set_copies(chunk, ids, (uint8_t)count);
        inode_add_chunk(inode, chunk);
        if (count < inode->goal)
            repair_note(core, chunk); /* there were not enough servers with room */
    }
    if (!session_find_lease(session, chunk)) {
        if (chunk_is_leased(chunk))
            chunk->bits |= CHUNK_SHARED;
        session_add_lease(session, chunk);
    }
    return WIRE_OK;
}

uint16_t core_apply_j_version(struct core *core, const struct core_change *change, const struct wire_j_version *record)
{
    struct chunk *chunk = chunk_table_find(&core->chunks, record->chunk_id);
    (void)change;
    if (!chunk || record->version <= chunk->version)
        return WIRE_INVALID;
    chunk_table_unsettle(&core->chunks, chunk, record->keep_bytes);
    chunk->version = record->version;
    return WIRE_OK;
}

/* Of a settled chunk what is known of copies that stay goes on to hold: one came or went. Under a new version all are
 * as their servers have just said. */
static void note_copies(struct chunk *chunk, const uint16_t *ids, int count, bool settled)
{
    uint16_t came[WIRE_COPIES_LIMIT];
    int coming = 0;
    for (int i = 0; i < count; i++)
        if (!settled || !chunk_find_copy(chunk, ids[i]))
            came[coming++] = ids[i];
    chunk_set_copies(chunk, ids, (uint8_t)count);
    for (int i = 0; i < coming; i++)
        chunk_find_copy(chunk, came[i])->bits = COPY_REPORTED;
    for (int i = 0; i < count; i++)
        chunk_copies(chunk)[i].bits &= (uint8_t)~COPY_EQUAL;
}

/* A version above the known one is a chunkserver's: it knows more than a journal that lost its end. What was to be
 * cut stays to be cut. */
uint16_t core_apply_j_copies(struct core *core, const struct core_change *change, const struct wire_j_copies *record)
{
    struct chunk *chunk = chunk_table_find(&core->chunks, record->chunk_id);
    uint16_t ids[WIRE_COPIES_LIMIT];
    int count = read_servers(core, record->servers, ids);
    (void)change;
    if (!chunk || record->version < chunk->version || count < 1)
        return WIRE_INVALID;
    bool same = chunk->version == record->version, settled = same && !chunk_is_unsettled(chunk);
    chunk->version = record->version;
    note_copies(chunk, ids, count, settled);
    if (record->blocks <= core->chunk_bytes / WIRE_BLOCK_BYTES)
        inode_set_blocks(chunk, record->blocks);
    chunk->bits &= (uint8_t)~CHUNK_MAYBE_ABSENT;
    if (settled || count == 1)
        chunk->bits &= (uint8_t)~CHUNK_UNEQUAL;
    if (same && chunk_is_unsettled(chunk))
        chunk_table_settle(&core->chunks, chunk);
    else if (chunk_is_unsettled(chunk))
        chunk->activity->oldest_version = record->version;
    core->wake = true;
    return WIRE_OK;
}

uint16_t core_apply_j_server(struct core *core, const struct core_change *change, const struct wire_j_server *record)
{
    (void)change;
    if (core->servers.count >= SERVERS_LIMIT || record->server_id != core->servers.count + 1 ||
        servers_find_node(&core->servers, record->node))
        return WIRE_INVALID;
    (void)servers_add(&core->servers, record->node);
    return WIRE_OK;
}

uint16_t core_apply_j_drain(struct core *core, const struct core_change *change, const struct wire_j_drain *record)
{
    struct server *server = servers_find(&core->servers, record->server_id);
    (void)change;
    if (!server)
        return WIRE_NO_ENTRY;
    server->draining = record->drain != 0;
    core->repair.look = true;
    return WIRE_OK;
}

uint16_t core_apply_j_epoch(struct core *core, const struct core_change *change, const struct wire_j_epoch *record)
{
    struct id_walk walk;
    (void)change;
    if (record->epoch <= core->epoch)
        return WIRE_INVALID;
    core->epoch = record->epoch;
    /* The journal may have lost its last second: no number that was given in it is given again, and who has seen attributes
     * that are lost takes those that are left for newer ones. */
    chunk_table_skip_ids(&core->chunks);
    core->names.next_ino += UINT64_C(1) << 20;
    for (struct id_node *node = id_table_first(&core->names.inodes, &walk); node;
         node = id_table_next(&core->names.inodes, &walk))
        ((struct inode *)node)->change += UINT64_C(1) << 32;
    return WIRE_OK;
}
