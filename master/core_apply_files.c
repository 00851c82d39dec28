/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of what an inode holds: attributes, length, extended attributes, opens, goals.
 */
#include <string.h>

#include "master/core_apply.h"
#include "master/xattrs.h"

static uint32_t without_set_ids(uint32_t mode)
{
    mode &= ~(uint32_t)S_ISUID;
    return mode & S_IXGRP ? mode & ~(uint32_t)S_ISGID : mode;
}

static uint16_t check_size(const struct core *core, const struct inode *inode, uint64_t size)
{
    if (inode_is_dir(inode))
        return WIRE_IS_DIRECTORY;
    if (!inode_is_file(inode))
        return WIRE_INVALID;
    return size > core_size_limit(core) ? WIRE_TOO_BIG : WIRE_OK;
}

uint16_t core_apply_setattr(struct core *core, const struct core_change *change, const struct wire_setattr *request,
                            struct wire_setattr_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    uint32_t valid = request->valid;
    if (!inode)
        return WIRE_STALE;
    uint16_t status = valid & WIRE_SET_SIZE ? check_size(core, inode, request->size) : WIRE_OK;
    if (status != WIRE_OK)
        return status;
    if (valid & WIRE_SET_SIZE) {
        core_cut(core, inode, request->size);
        inode->mtime = change->time_ns;
    }
    if (valid & WIRE_SET_MODE)
        inode->mode = (inode->mode & S_IFMT) | (request->mode & 07777);
    if (valid & WIRE_SET_KILL_SUID && !inode_is_dir(inode))
        inode->mode = without_set_ids(inode->mode);
    if (valid & WIRE_SET_KILL_SGID && !inode_is_dir(inode))
        inode->mode &= ~(uint32_t)S_ISGID;
    if (valid & WIRE_SET_UID)
        inode->uid = request->uid;
    if (valid & WIRE_SET_GID)
        inode->gid = request->gid;
    if (valid & WIRE_SET_ATIME)
        inode->atime = request->atime;
    if (valid & WIRE_SET_MTIME)
        inode->mtime = request->mtime;
    if (valid & WIRE_SET_ATIME_NOW)
        inode->atime = change->time_ns;
    if (valid & WIRE_SET_MTIME_NOW)
        inode->mtime = change->time_ns;
    core_touch(inode, change->time_ns);
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

uint16_t core_apply_open(struct core *core, const struct core_change *change, const struct wire_open *request,
                         struct wire_open_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    struct session *session = sessions_find(&core->sessions, change->session);
    if (!session)
        return WIRE_NO_SESSION;
    if (!inode)
        return WIRE_STALE;
    if (request->flags & WIRE_OPEN_TRUNCATE) {
        uint16_t status = check_size(core, inode, 0);
        if (status != WIRE_OK)
            return status;
        core_cut(core, inode, 0);
        inode->mtime = change->time_ns;
        core_touch(inode, change->time_ns);
    }
    session_open(session, inode);
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

uint16_t core_apply_release(struct core *core, const struct core_change *change, const struct wire_release *request,
                            struct wire_release_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    struct session *session = sessions_find(&core->sessions, change->session);
    (void)reply;
    if (!session)
        return WIRE_NO_SESSION;
    if (!inode)
        return WIRE_STALE;
    session_release(session, inode, request->count);
    core_let_go(core, inode);
    return WIRE_OK;
}

uint16_t core_apply_releases(struct core *core, const struct core_change *change, const struct wire_releases *request,
                             struct wire_releases_reply *reply)
{
    struct session *session = sessions_find(&core->sessions, change->session);
    struct wire_list list = request->opens;
    struct wire_ended_open ended;
    (void)reply;
    if (!session)
        return WIRE_NO_SESSION;
    while (wire_next_ended_open(&list, &ended)) {
        struct inode *inode = namespace_find(&core->names, ended.ino);
        if (!inode)
            continue;
        session_release(session, inode, ended.count);
        core_let_go(core, inode);
    }
    return WIRE_OK;
}

/* What the kernel keeps for itself is not stored, so that nobody believes it had an effect. */
static bool is_foreign(struct wire_bytes name)
{
    return name.length >= 7 && memcmp(name.data, "system.", 7) == 0;
}

uint16_t core_apply_setxattr(struct core *core, const struct core_change *change, const struct wire_setxattr *request,
                             struct wire_setxattr_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    (void)reply;
    if (!inode)
        return WIRE_STALE;
    if (is_foreign(request->name))
        return WIRE_NOT_SUPPORTED;
    uint16_t status = xattrs_set(&inode->xattrs, request->name, request->value, request->flags);
    if (status == WIRE_OK)
        core_touch(inode, change->time_ns);
    return status;
}

uint16_t core_apply_removexattr(struct core *core, const struct core_change *change,
                                const struct wire_removexattr *request, struct wire_removexattr_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    (void)reply;
    if (!inode)
        return WIRE_STALE;
    if (is_foreign(request->name))
        return WIRE_NOT_SUPPORTED;
    uint16_t status = xattrs_remove(&inode->xattrs, request->name);
    if (status == WIRE_OK)
        core_touch(inode, change->time_ns);
    return status;
}

uint16_t core_apply_set_goal(struct core *core, const struct core_change *change, const struct wire_set_goal *request,
                             struct wire_set_goal_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    (void)reply;
    if (!inode)
        return WIRE_STALE;
    if (request->goal < 1 || request->goal > WIRE_COPIES_LIMIT || !(inode_is_file(inode) || inode_is_dir(inode)))
        return WIRE_INVALID;
    inode->goal = request->goal;
    core->repair.look = true;
    core_touch(inode, change->time_ns);
    return WIRE_OK;
}

uint16_t core_apply_append_begin(struct core *core, const struct core_change *change,
                                 const struct wire_append_begin *request, struct wire_append_begin_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    if (!sessions_find(&core->sessions, change->session))
        return WIRE_NO_SESSION;
    if (!inode)
        return WIRE_STALE;
    if (!inode_is_file(inode))
        return WIRE_INVALID;
    session_id holder = sessions_append_holder(&core->sessions, request->ino);
    if (holder && holder != change->session)
        return WIRE_BUSY;
    sessions_append_take(&core->sessions, request->ino, change->session);
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

/* What a session says of a chunk that others write, too, may be older than what one of them has said. */
static void note_blocks(const struct core *core, struct chunk *chunk, const struct wire_released_lease *told)
{
    if (told->version != chunk->version || told->blocks > core->chunk_bytes / WIRE_BLOCK_BYTES)
        return;
    if (!(chunk->bits & CHUNK_SHARED) || told->blocks > chunk->blocks)
        inode_set_blocks(chunk, told->blocks);
}

/* Gives one lease back. What the length does not cover is not the file's: it was refused, or the writing failed. */
static void give_lease(struct core *core, struct inode *inode, struct session *session,
                       const struct wire_released_lease *released, bool length_counts)
{
    struct chunk *chunk = inode_find_chunk(inode, released->index);
    struct lease *lease = chunk ? session_find_lease(session, chunk) : NULL;
    if (!lease)
        return;
    note_blocks(core, chunk, released);
    if (released->kept)
        return;
    if (released->written) {
        struct chunk_copy *copies = chunk_copies(chunk);
        chunk->bits &= (uint8_t)~CHUNK_MAYBE_ABSENT;
        for (uint8_t i = 0; i < chunk->copy_count; i++)
            copies[i].bits |= COPY_REPORTED;
    } else {
        core_mark_unequal(chunk);
    }
    core_end_lease(core, lease, released->written && length_counts);
}

uint16_t core_apply_publish(struct core *core, const struct core_change *change, const struct wire_publish *request,
                            struct wire_publish_reply *reply)
{
    struct inode *inode = namespace_find(&core->names, request->ino);
    struct session *session = sessions_find(&core->sessions, change->session);
    struct wire_list released = request->released;
    struct wire_released_lease lease;
    if (!session)
        return WIRE_NO_SESSION;
    if (!inode)
        return WIRE_STALE;
    if (!inode_is_file(inode) || request->length > core_size_limit(core))
        return WIRE_INVALID;
    bool length_counts = request->size_epoch == inode->size_epoch;
    bool longer = length_counts && request->length > inode->size;
    if (longer)
        inode->size = request->length;
    if (request->mtime)
        inode->mtime = request->mtime;
    if (longer || request->mtime)
        core_touch(inode, change->time_ns);
    while (wire_next_released_lease(&released, &lease))
        give_lease(core, inode, session, &lease, length_counts);
    if (request->append_end && sessions_append_give(&core->sessions, request->ino, change->session))
        core->wake = true;
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}
