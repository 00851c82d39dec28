/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of clients about chunks: where to read, where to write, what to do when writing failed; and the end of a
 * session.
 */
#include <string.h>

#include "common/check.h"
#include "master/client_requests.h"
#include "master/placement.h"
#include "master/repair.h"

enum { LIST_ROOM = WIRE_COPIES_LIMIT * (WIRE_HOST_LIMIT + 16) };

/* The copies that can be reached; those that are damaged or lost come last, for want of a better one. */
static void list_copies(struct client_request *request, struct chunk *chunk, struct wire_list *list)
{
    const struct core *core = &request->master->core;
    const struct chunk_copy *copies = chunk_copies(chunk);
    struct wire_out room = wire_out_on(request->scratch, LIST_ROOM);
    for (int usable = 1; usable >= 0; usable--)
        for (uint8_t i = 0; i < chunk->copy_count; i++) {
            const struct server *server = servers_find(&core->servers, copies[i].server);
            struct wire_server where = server_where(server);
            if (server->connected && chunk_ops_is_usable(core, chunk, &copies[i]) == usable)
                CHECK(wire_append_server(&room, list, &where));
        }
}

/* True if everybody in the set of copies is there and well, so that the whole set can be written. */
static bool is_whole(const struct core *core, struct chunk *chunk)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    for (uint8_t i = 0; i < chunk->copy_count; i++)
        if (!chunk_ops_is_usable(core, chunk, &copies[i]))
            return false;
    return true;
}

/* Makes what it takes to settle the chunk happen. WIRE_OK: it is settled; WIRE_IO: it is lost; else parked. */
static uint16_t settle(struct client_request *request, struct chunk *chunk)
{
    struct core *core = &request->master->core;
    if (!chunk_is_unsettled(chunk))
        return WIRE_OK;
    if (chunk_ops_is_hopeless(core, chunk))
        return WIRE_IO;
    (void)chunk_ops_raise(core, chunk, NULL, 0, request->master->now);
    return CLIENT_REQUEST_PARKED;
}

bool client_request_must_wait_for_cut(struct client_request *request, inode_id ino)
{
    struct core *core = &request->master->core;
    struct inode *inode = namespace_find(&core->names, ino);
    if (!inode || !inode_is_file(inode))
        return false;
    bool wait = false;
    for (uint32_t i = inode_chunk_position(inode, (uint32_t)(inode->size / core->chunk_bytes));
         i < inode->file.chunk_count; i++)
        wait = settle(request, inode_chunks(inode)[i]) == CLIENT_REQUEST_PARKED || wait;
    return wait;
}

static uint16_t find_file(struct client_request *request, inode_id ino, uint32_t index, struct inode **inode)
{
    *inode = namespace_find(&request->master->core.names, ino);
    if (!*inode)
        return WIRE_STALE;
    return inode_is_file(*inode) && index < UINT32_MAX - 1 ? WIRE_OK : WIRE_INVALID;
}

uint16_t client_request_chunk_locate(struct client_request *request, const struct wire_chunk_locate *asked,
                                     struct wire_chunk_locate_reply *reply)
{
    struct inode *inode;
    uint16_t status = find_file(request, asked->ino, asked->index, &inode);
    struct chunk *chunk = status == WIRE_OK ? inode_find_chunk(inode, asked->index) : NULL;
    if (!chunk)
        return status;
    status = settle(request, chunk);
    if (status != WIRE_OK)
        return status;
    reply->chunk_id = chunk->node.id;
    reply->version = chunk->version;
    reply->absent_ok = (chunk->bits & CHUNK_MAYBE_ABSENT) != 0;
    list_copies(request, chunk, &reply->servers);
    return WIRE_OK;
}

/* ---- leases ---- */

static uint16_t record_lease(struct client_request *request, struct inode *inode, uint32_t index, chunk_id id,
                             uint32_t version, struct wire_list servers)
{
    union wire_any record = {.j_lease = {.ino = inode->node.id,
                                         .index = index,
                                         .session = request->session->node.id,
                                         .chunk_id = id,
                                         .version = version,
                                         .servers = servers}};
    return core_decide(&request->master->core, WIRE_TYPE_j_lease, &record, request->master->now.wall_ns);
}

/* A chunk for a hole. */
static uint16_t make_chunk(struct client_request *request, struct inode *inode, uint32_t index)
{
    struct core *core = &request->master->core;
    struct server *chosen[WIRE_COPIES_LIMIT];
    uint8_t data[WIRE_COPIES_LIMIT * 16];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_list list = {0};
    uint32_t count;
    uint16_t status = placement_choose(&core->servers, inode->goal, core->chunk_bytes, chosen, &count);
    if (status == WIRE_NO_SPACE && repair_expects_room(core, request->master->now))
        return WIRE_NO_SERVERS;
    if (status != WIRE_OK)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        struct wire_server server = {.id = chosen[i]->id};
        CHECK(wire_append_server(&room, &list, &server));
    }
    return record_lease(request, inode, index, core->chunks.next_id, 1, list);
}

/* The lease on a chunk all of whose copies can be written; a version change for one that has lost some. */
static uint16_t lease_chunk(struct client_request *request, struct inode *inode, struct chunk *chunk)
{
    struct core *core = &request->master->core;
    uint16_t status = settle(request, chunk);
    if (status != WIRE_OK)
        return status;
    if (repair_keeps_writers(chunk))
        return CLIENT_REQUEST_PARKED;
    if (!is_whole(core, chunk) || repair_is_copying(chunk)) {
        if (chunk_ops_is_hopeless(core, chunk))
            return WIRE_IO;
        (void)chunk_ops_raise(core, chunk, NULL, 0, request->master->now);
        return CLIENT_REQUEST_PARKED;
    }
    if (session_find_lease(request->session, chunk))
        return WIRE_OK;
    return record_lease(request, inode, chunk->index, chunk->node.id, chunk->version, (struct wire_list){0});
}

uint16_t client_request_chunk_lease(struct client_request *request, const struct wire_chunk_lease *asked,
                                    struct wire_chunk_lease_reply *reply)
{
    struct inode *inode;
    uint16_t status = find_file(request, asked->ino, asked->index, &inode);
    if (status != WIRE_OK)
        return status;
    struct chunk *chunk = inode_find_chunk(inode, asked->index);
    status = chunk ? lease_chunk(request, inode, chunk) : make_chunk(request, inode, asked->index);
    if (status != WIRE_OK)
        return status;
    chunk = inode_find_chunk(inode, asked->index);
    reply->chunk_id = chunk->node.id;
    reply->version = chunk->version;
    reply->create = (chunk->bits & CHUNK_MAYBE_ABSENT) != 0;
    reply->size_epoch = inode->size_epoch;
    list_copies(request, chunk, &reply->servers);
    return WIRE_OK;
}

/* If the chunk is still the one that failed, it goes on without the servers that did; else the asker is behind, and
 * gets a lease as on any chunk. */
uint16_t client_request_chunk_recover(struct client_request *request, const struct wire_chunk_recover *asked,
                                      struct wire_chunk_recover_reply *reply)
{
    struct inode *inode;
    struct wire_chunk_lease lease = {.ino = asked->ino, .index = asked->index};
    struct wire_chunk_lease_reply leased = {0};
    struct wire_failed_server failed;
    struct wire_list list = asked->failed;
    uint16_t without[WIRE_COPIES_LIMIT];
    int count = 0;
    uint16_t status = find_file(request, asked->ino, asked->index, &inode);
    struct chunk *chunk = status == WIRE_OK ? inode_find_chunk(inode, asked->index) : NULL;
    if (chunk && chunk->node.id == asked->chunk_id && chunk->version == asked->version && !chunk_is_unsettled(chunk)) {
        while (wire_next_failed_server(&list, &failed)) {
            if (failed.status == WIRE_NO_SPACE)
                return repair_full(&request->master->core, chunk, failed.id,
                                   asked->written || !(chunk->bits & CHUNK_MAYBE_ABSENT), request->master->now)
                           ? CLIENT_REQUEST_PARKED
                           : WIRE_NO_SPACE;
            if (failed.id <= UINT16_MAX)
                without[count++] = (uint16_t)failed.id;
        }
        (void)chunk_ops_raise(&request->master->core, chunk, without, count, request->master->now);
        return CLIENT_REQUEST_PARKED;
    }
    status = client_request_chunk_lease(request, &lease, &leased);
    *reply = (struct wire_chunk_recover_reply){leased.chunk_id, leased.version, leased.create, leased.size_epoch,
                                               leased.servers};
    return status;
}

uint16_t client_request_session_end(struct client_request *request, const struct wire_session_end *asked,
                                    struct wire_session_end_reply *reply)
{
    union wire_any record = {.j_session_end = {.session = request->session->node.id}};
    (void)asked;
    (void)reply;
    return core_decide(&request->master->core, WIRE_TYPE_j_session_end, &record, request->master->now.wall_ns);
}
