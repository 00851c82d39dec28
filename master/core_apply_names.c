/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of the tree: making, linking, removing and renaming entries.
 */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "master/core_apply.h"

enum { LINKS_LIMIT = 1 << 30, FLAG_NOREPLACE = 1, FLAG_EXCHANGE = 2 }; /* flags of renameat2(2) */

static bool is_dots(struct wire_bytes name)
{
    return name.length <= 2 && memcmp(name.data, "..", name.length) == 0;
}

/* The directory in which a name is to be found or made. */
static uint16_t find_parent(struct core *core, inode_id ino, struct wire_bytes name, struct inode **parent)
{
    struct inode *dir = namespace_find(&core->names, ino);
    if (!dir)
        return WIRE_NO_ENTRY;
    if (!inode_is_dir(dir))
        return WIRE_NOT_DIRECTORY;
    if (name.length == 0 || is_dots(name) || memchr(name.data, '/', name.length))
        return WIRE_INVALID;
    *parent = dir;
    return WIRE_OK;
}

/* The same for a name that must be free, in a directory that was not removed. */
static uint16_t find_free(struct core *core, inode_id ino, struct wire_bytes name, struct inode **parent)
{
    uint16_t status = find_parent(core, ino, name, parent);
    if (status != WIRE_OK)
        return status;
    if (!(*parent)->dir.parent)
        return WIRE_NO_ENTRY;
    return directory_find((*parent)->dir.entries, name) ? WIRE_EXISTS : WIRE_OK;
}

static uint16_t find_entry(struct core *core, inode_id ino, struct wire_bytes name, struct inode **parent,
                           struct entry **entry)
{
    uint16_t status = find_parent(core, ino, name, parent);
    if (status != WIRE_OK)
        return status;
    *entry = directory_find((*parent)->dir.entries, name);
    return *entry ? WIRE_OK : WIRE_NO_ENTRY;
}

static void touch_dir(struct inode *dir, int64_t time_ns)
{
    dir->mtime = time_ns;
    core_touch(dir, time_ns);
}

/* A new inode under a name that is free. In a set-group-id directory it gets the directory's group, and a directory
 * the bit. */
static struct inode *make_inode(struct core *core, struct inode *parent, struct wire_bytes name, uint32_t mode,
                                uint32_t uid, uint32_t gid, int64_t time_ns)
{
    struct inode *inode = namespace_make(&core->names, 0, mode, time_ns);
    inode->uid = uid;
    inode->gid = gid;
    inode->goal = parent->goal;
    if (parent->mode & S_ISGID) {
        inode->gid = parent->gid;
        if (inode_is_dir(inode))
            inode->mode |= S_ISGID;
    }
    namespace_link(parent, name, inode, 0);
    touch_dir(parent, time_ns);
    return inode;
}

uint16_t core_apply_mknod(struct core *core, const struct core_change *change, const struct wire_mknod *request,
                          struct wire_mknod_reply *reply)
{
    struct inode *parent;
    uint32_t type = request->mode & S_IFMT;
    uint16_t status = find_free(core, request->parent, request->name, &parent);
    if (status != WIRE_OK)
        return status;
    if (type == 0)
        type = S_IFREG;
    if (type != S_IFREG && type != S_IFDIR && type != S_IFIFO && type != S_IFSOCK && type != S_IFBLK && type != S_IFCHR)
        return WIRE_INVALID;
    struct inode *inode = make_inode(core, parent, request->name, type | (request->mode & 07777), request->uid,
                                     request->gid, change->time_ns);
    if (type == S_IFBLK || type == S_IFCHR)
        inode->rdev = request->rdev;
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

uint16_t core_apply_create(struct core *core, const struct core_change *change, const struct wire_create *request,
                           struct wire_create_reply *reply)
{
    struct inode *parent, *inode;
    struct session *session = sessions_find(&core->sessions, change->session);
    uint16_t status = find_free(core, request->parent, request->name, &parent);
    if (!session)
        return WIRE_NO_SESSION;
    if (status == WIRE_OK) {
        inode = make_inode(core, parent, request->name, S_IFREG | (request->mode & 07777), request->uid, request->gid,
                           change->time_ns);
    } else if (status == WIRE_EXISTS && !(request->flags & WIRE_OPEN_EXCLUSIVE)) {
        inode = directory_find(parent->dir.entries, request->name)->inode;
        if (inode_is_dir(inode))
            return WIRE_IS_DIRECTORY;
        if (!inode_is_file(inode))
            return WIRE_STALE; /* the asker did not know of it: it looks again and follows it */
        if (request->flags & WIRE_OPEN_TRUNCATE) {
            core_cut(core, inode, 0);
            inode->mtime = change->time_ns;
            core_touch(inode, change->time_ns);
        }
    } else {
        return status;
    }
    session_open(session, inode);
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

uint16_t core_apply_symlink(struct core *core, const struct core_change *change, const struct wire_symlink *request,
                            struct wire_symlink_reply *reply)
{
    struct inode *parent;
    uint16_t status = find_free(core, request->parent, request->name, &parent);
    if (status != WIRE_OK)
        return status;
    if (request->target.length == 0)
        return WIRE_NO_ENTRY;
    struct inode *inode = make_inode(core, parent, request->name, S_IFLNK | 0777, request->uid, request->gid,
                                     change->time_ns);
    inode->target = check_alloc(malloc(request->target.length));
    memcpy(inode->target, request->target.data, request->target.length);
    inode->size = request->target.length;
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

uint16_t core_apply_link(struct core *core, const struct core_change *change, const struct wire_link *request,
                         struct wire_link_reply *reply)
{
    struct inode *parent, *inode = namespace_find(&core->names, request->ino);
    uint16_t status = find_free(core, request->parent, request->name, &parent);
    if (status != WIRE_OK)
        return status;
    if (!inode || inode->nlink == 0)
        return WIRE_NO_ENTRY;
    if (inode_is_dir(inode))
        return WIRE_NOT_PERMITTED;
    if (inode->nlink >= LINKS_LIMIT)
        return WIRE_TOO_MANY_LINKS;
    namespace_link(parent, request->name, inode, 0);
    touch_dir(parent, change->time_ns);
    core_touch(inode, change->time_ns);
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

/* The entry goes, and the inode too if that was its last use. */
static void remove_entry(struct core *core, struct inode *parent, struct entry *entry, int64_t time_ns)
{
    struct inode *inode = entry->inode;
    namespace_unlink(parent, entry);
    if (inode_is_dir(inode))
        inode->nlink = 0;
    touch_dir(parent, time_ns);
    core_touch(inode, time_ns);
    removed_files_keep(core, inode, time_ns);
    core_let_go(core, inode);
}

uint16_t core_apply_unlink(struct core *core, const struct core_change *change, const struct wire_unlink *request,
                           struct wire_unlink_reply *reply)
{
    struct inode *parent;
    struct entry *entry;
    (void)reply;
    uint16_t status = find_entry(core, request->parent, request->name, &parent, &entry);
    if (status != WIRE_OK)
        return status;
    if (inode_is_dir(entry->inode))
        return WIRE_IS_DIRECTORY;
    remove_entry(core, parent, entry, change->time_ns);
    return WIRE_OK;
}

uint16_t core_apply_rmdir(struct core *core, const struct core_change *change, const struct wire_rmdir *request,
                          struct wire_rmdir_reply *reply)
{
    struct inode *parent;
    struct entry *entry;
    (void)reply;
    uint16_t status = find_entry(core, request->parent, request->name, &parent, &entry);
    if (status != WIRE_OK)
        return status;
    if (!inode_is_dir(entry->inode))
        return WIRE_NOT_DIRECTORY;
    if (entry->inode->dir.entries->count)
        return WIRE_NOT_EMPTY;
    remove_entry(core, parent, entry, change->time_ns);
    return WIRE_OK;
}

/* ---- rename ---- */

/* Both names stay, and lead to the other's inode. */
static void exchange(struct inode *from, struct entry *source, struct inode *to, struct entry *target, int64_t time_ns)
{
    struct inode *one = source->inode, *other = target->inode;
    source->inode = other;
    target->inode = one;
    if (inode_is_dir(one)) {
        one->dir.parent = to;
        from->nlink--;
        to->nlink++;
    }
    if (inode_is_dir(other)) {
        other->dir.parent = from;
        to->nlink--;
        from->nlink++;
    }
    core_touch(one, time_ns);
    core_touch(other, time_ns);
}

static void move(struct core *core, struct inode *from, struct entry *source, struct inode *to,
                 struct wire_bytes new_name, struct entry *target, int64_t time_ns)
{
    struct inode *inode = source->inode;
    if (target)
        remove_entry(core, to, target, time_ns);
    if (!inode_is_dir(inode))
        inode->nlink++; /* so that it never looks unused */
    namespace_unlink(from, source);
    namespace_link(to, new_name, inode, 0);
    if (!inode_is_dir(inode))
        inode->nlink--;
    core_touch(inode, time_ns);
}

/* What may replace what. */
static uint16_t check_target(const struct inode *inode, const struct inode *target)
{
    if (inode_is_dir(inode)) {
        if (!inode_is_dir(target))
            return WIRE_NOT_DIRECTORY;
        return target->dir.entries->count ? WIRE_NOT_EMPTY : WIRE_OK;
    }
    return inode_is_dir(target) ? WIRE_IS_DIRECTORY : WIRE_OK;
}

uint16_t core_apply_rename(struct core *core, const struct core_change *change, const struct wire_rename *request,
                           struct wire_rename_reply *reply)
{
    struct inode *from, *to;
    struct entry *source;
    (void)reply;
    uint16_t status = find_entry(core, request->parent, request->name, &from, &source);
    if (status != WIRE_OK)
        return status;
    status = find_free(core, request->new_parent, request->new_name, &to);
    if (status != WIRE_OK && status != WIRE_EXISTS)
        return status;
    struct entry *target = status == WIRE_EXISTS ? directory_find(to->dir.entries, request->new_name) : NULL;
    if (request->flags & ~(uint32_t)(FLAG_NOREPLACE | FLAG_EXCHANGE) ||
        request->flags == (FLAG_NOREPLACE | FLAG_EXCHANGE))
        return WIRE_INVALID;
    if (target && request->flags & FLAG_NOREPLACE)
        return WIRE_EXISTS;
    if (!target && request->flags & FLAG_EXCHANGE)
        return WIRE_NO_ENTRY;
    if (inode_is_dir(source->inode) && namespace_is_above(source->inode, to))
        return WIRE_INVALID;
    if (target && target->inode == source->inode)
        return WIRE_OK;
    if (target && request->flags & FLAG_EXCHANGE) {
        if (inode_is_dir(target->inode) && namespace_is_above(target->inode, from))
            return WIRE_INVALID;
        exchange(from, source, to, target, change->time_ns);
    } else {
        status = target ? check_target(source->inode, target->inode) : WIRE_OK;
        if (status != WIRE_OK)
            return status;
        move(core, from, source, to, request->new_name, target, change->time_ns);
    }
    touch_dir(from, change->time_ns);
    if (to != from)
        touch_dir(to, change->time_ns);
    return WIRE_OK;
}
