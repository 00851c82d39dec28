/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of clients that only look.
 */
#include <string.h>

#include "common/clock.h"
#include "master/client_requests.h"
#include "master/repair.h"
#include "master/xattrs.h"

static struct inode *find_inode(const struct client_request *request, inode_id ino)
{
    return namespace_find(&request->master->core.names, ino);
}

uint16_t client_request_keepalive(struct client_request *request, const struct wire_keepalive *asked,
                                  struct wire_keepalive_reply *reply)
{
    (void)request;
    (void)asked;
    (void)reply;
    return WIRE_OK;
}

uint16_t client_request_lookup(struct client_request *request, const struct wire_lookup *asked,
                               struct wire_lookup_reply *reply)
{
    const struct inode *dir = find_inode(request, asked->parent);
    if (!dir)
        return WIRE_NO_ENTRY;
    if (!inode_is_dir(dir))
        return WIRE_NOT_DIRECTORY;
    const struct entry *entry = directory_find(dir->dir.entries, asked->name);
    if (!entry)
        return WIRE_NO_ENTRY;
    inode_attr(entry->inode, &reply->attr);
    return WIRE_OK;
}

uint16_t client_request_getattr(struct client_request *request, const struct wire_getattr *asked,
                                struct wire_getattr_reply *reply)
{
    const struct inode *inode = find_inode(request, asked->ino);
    if (!inode)
        return WIRE_STALE;
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

uint16_t client_request_readlink(struct client_request *request, const struct wire_readlink *asked,
                                 struct wire_readlink_reply *reply)
{
    const struct inode *inode = find_inode(request, asked->ino);
    if (!inode)
        return WIRE_STALE;
    if (!S_ISLNK(inode->mode))
        return WIRE_INVALID;
    reply->target = wire_bytes_of(inode->target, inode->size);
    return WIRE_OK;
}

uint16_t client_request_readdir(struct client_request *request, const struct wire_readdir *asked,
                                struct wire_readdir_reply *reply)
{
    const struct inode *inode = find_inode(request, asked->ino);
    struct wire_out room = wire_out_on(request->scratch, WIRE_BODY_LIMIT - 64);
    uint32_t limit = asked->max_entries < WIRE_DIRENTS_LIMIT ? asked->max_entries : WIRE_DIRENTS_LIMIT;
    if (!inode)
        return WIRE_STALE;
    if (!inode_is_dir(inode))
        return WIRE_NOT_DIRECTORY;
    const struct directory *directory = inode->dir.entries;
    uint32_t position = directory_position_after(directory, asked->cookie);
    const struct entry *entry = directory_next(directory, &position);
    while (entry && reply->entries.count < limit) {
        struct wire_dirent dirent = {.cookie = entry->cookie, .name = wire_bytes_of(entry->name, entry->name_length)};
        inode_attr(entry->inode, &dirent.attr);
        if (!wire_append_dirent(&room, &reply->entries, &dirent))
            break;
        entry = directory_next(directory, &position);
    }
    reply->end = !entry;
    reply->parent = inode->dir.parent ? inode->dir.parent->node.id : asked->ino;
    return WIRE_OK;
}

uint16_t client_request_statfs(struct client_request *request, const struct wire_statfs *asked,
                               struct wire_statfs_reply *reply)
{
    const struct core *core = &request->master->core;
    (void)asked;
    for (uint32_t i = 0; i < core->servers.count; i++) {
        const struct server *server = core->servers.list[i];
        if (!server->connected)
            continue;
        /* what is free on one that is being emptied nobody gets */
        reply->total_bytes += server->draining ? server->used_bytes : server->total_bytes;
        reply->free_bytes += server->draining ? 0 : server_free_bytes(server);
    }
    reply->more_expected = repair_expects_room(core, request->master->now);
    reply->files = core->names.inodes.count;
    return WIRE_OK;
}

uint16_t client_request_getxattr(struct client_request *request, const struct wire_getxattr *asked,
                                 struct wire_getxattr_reply *reply)
{
    const struct inode *inode = find_inode(request, asked->ino);
    if (!inode)
        return WIRE_STALE;
    if (asked->name.length >= 7 && memcmp(asked->name.data, "system.", 7) == 0)
        return WIRE_NOT_SUPPORTED;
    const struct xattr *xattr = xattrs_find(inode->xattrs, asked->name);
    if (!xattr)
        return WIRE_NO_ATTRIBUTE;
    reply->value = xattr_value(xattr);
    return WIRE_OK;
}

uint16_t client_request_listxattr(struct client_request *request, const struct wire_listxattr *asked,
                                  struct wire_listxattr_reply *reply)
{
    const struct inode *inode = find_inode(request, asked->ino);
    if (!inode)
        return WIRE_STALE;
    reply->names = wire_bytes_of(request->scratch, xattrs_list(inode->xattrs, request->scratch));
    return WIRE_OK;
}

uint16_t client_request_server_list(struct client_request *request, const struct wire_server_list *asked,
                                    struct wire_server_list_reply *reply)
{
    const struct servers *servers = &request->master->core.servers;
    struct wire_out room = wire_out_on(request->scratch, WIRE_BODY_LIMIT - 64);
    (void)asked;
    for (uint32_t i = 0; i < servers->count; i++) {
        struct wire_server_state state = server_state(servers->list[i], request->master->now.mono_ns);
        if (!wire_append_server_state(&room, &reply->servers, &state))
            break;
    }
    return WIRE_OK;
}

/* ---- locks ---- */

uint16_t client_request_lock_get(struct client_request *request, const struct wire_lock_get *asked,
                                 struct wire_lock_get_reply *reply)
{
    if (!request->session)
        return WIRE_NO_SESSION;
    if (asked->start > asked->end || asked->type > WIRE_LOCK_WRITE)
        return WIRE_INVALID;
    struct file_lock wanted = {.session = request->session->node.id,
                               .owner = asked->owner,
                               .start = asked->start,
                               .end = asked->end,
                               .type = asked->type,
                               .flock = asked->flock != 0};
    const struct file_lock *lock = file_locks_conflict(&request->master->core.locks, asked->ino, &wanted);
    if (lock)
        *reply = (struct wire_lock_get_reply){lock->type, lock->start, lock->end, lock->pid};
    return WIRE_OK;
}

/* A count of this master's life: who saw one of another life is answered at once. */
uint16_t client_request_lock_events(struct client_request *request, const struct wire_lock_events *asked,
                                    struct wire_lock_events_reply *reply)
{
    if (!request->session)
        return WIRE_NO_SESSION;
    reply->count = (uint64_t)request->master->started_ns + 1 + request->session->lock_events;
    bool nothing_new = reply->count == asked->seen;
    return nothing_new && request->waited_ns < asked->wait_ms * NS_PER_MS ? CLIENT_REQUEST_PARKED : WIRE_OK;
}

/* ---- the copies of a file's chunks ---- */

static uint8_t copy_state(const struct server *server, const struct chunk *chunk, const struct chunk_copy *copy)
{
    if (!server->connected)
        return WIRE_COPY_AWAY;
    if (copy->bits & (COPY_DAMAGED | COPY_LOST))
        return WIRE_COPY_DAMAGED;
    return chunk_is_unsettled(chunk) ? WIRE_COPY_PENDING : WIRE_COPY_VALID;
}

/* All of a chunk's copies, or none if they do not fit. */
static bool append_copies(const struct core *core, struct chunk *chunk, struct wire_out *room, struct wire_list *list)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    struct wire_chunk_copy row = {.index = chunk->index, .chunk_id = chunk->node.id, .version = chunk->version};
    struct wire_out room_before = *room;
    struct wire_list list_before = *list;
    bool fits = list->count + chunk->copy_count <= 1024;
    if (fits && chunk->copy_count == 0)
        fits = wire_append_chunk_copy(room, list, &row);
    for (uint8_t i = 0; fits && i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&core->servers, copies[i].server);
        row.server = server_where(server);
        row.state = copy_state(server, chunk, &copies[i]);
        fits = wire_append_chunk_copy(room, list, &row);
    }
    if (!fits) {
        *room = room_before;
        *list = list_before;
    }
    return fits;
}

uint16_t client_request_file_chunks(struct client_request *request, const struct wire_file_chunks *asked,
                                    struct wire_file_chunks_reply *reply)
{
    struct inode *inode = find_inode(request, asked->ino);
    struct wire_out room = wire_out_on(request->scratch, WIRE_BODY_LIMIT - 64);
    if (!inode)
        return WIRE_STALE;
    if (!inode_is_file(inode))
        return WIRE_INVALID;
    struct chunk **chunks = inode_chunks(inode);
    for (uint32_t i = inode_chunk_position(inode, asked->first); i < inode->file.chunk_count; i++)
        if (!append_copies(&request->master->core, chunks[i], &room, &reply->copies)) {
            reply->next = chunks[i]->index;
            break;
        }
    return WIRE_OK;
}
