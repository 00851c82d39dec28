/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "client/believable.h"
#include "client/fuse_reply.h"
#include "client/thread_buffer.h"

enum { ENTRY_BYTES = 160 }; /* of the shortest entry with attributes */

static struct fs_dir *dir_of(const struct fuse_file_info *fi)
{
    return (struct fs_dir *)(uintptr_t)fi->fh;
}

static void on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct fs_dir *dir;
    int rc = fs_opendir(mount->fs, ino, &dir);
    if (rc < 0) {
        fuse_reply_rc(req, rc);
        return;
    }
    fi->fh = (uintptr_t)dir;
    if (fuse_reply_open(req, fi) < 0)
        fs_releasedir(dir);
}

/* Room for replies: this thread's own, or as much of it as the kernel has. */
struct room {
    fuse_req_t req;
    char *buffer;
    size_t bytes, used;
};

/* Puts one entry behind the others; false: it does not fit. */
typedef bool add_function(struct room *room, const struct fs_entry *entry);

/* Only name, number and type. */
static bool add_name(struct room *room, const struct fs_entry *entry)
{
    struct stat st = {.st_ino = entry->attr.ino, .st_mode = entry->attr.mode};
    size_t left = room->bytes - room->used;
    size_t n = fuse_add_direntry(room->req, room->buffer + room->used, left, entry->name, &st, (off_t)entry->cookie);
    room->used += n <= left ? n : 0;
    return n <= left;
}

/* The same in a reply that has room for more. The kernel takes nothing from an entry without an inode but what add_name says. */
static bool add_bare(struct room *room, const struct fs_entry *entry)
{
    struct fuse_entry_param bare = {.attr = {.st_ino = entry->attr.ino, .st_mode = entry->attr.mode}};
    size_t left = room->bytes - room->used;
    size_t n = fuse_add_direntry_plus(room->req, room->buffer + room->used, left, entry->name, &bare, (off_t)entry->cookie);
    room->used += n <= left ? n : 0;
    return n <= left;
}

/* As the answer to a lookup, unless nothing of it may be believed. */
static bool add_whole(struct room *room, const struct fs_entry *entry)
{
    struct fuse_entry_param whole;
    fuse_reply_make_entry(fuse_req_userdata(room->req), &entry->attr, &whole);
    if (entry->name[0] == '.' && (entry->name[1] == '\0' || strcmp(entry->name, "..") == 0))
        return add_bare(room, entry); /* what we have of these two is no more */
    if (whole.entry_timeout <= 0)
        return add_bare(room, entry);
    size_t left = room->bytes - room->used;
    size_t n = fuse_add_direntry_plus(room->req, room->buffer + room->used, left, entry->name, &whole, (off_t)entry->cookie);
    room->used += n <= left ? n : 0;
    return n <= left;
}

static void reply_entries(fuse_req_t req, struct fs_dir *dir, size_t size, off_t offset, add_function *add)
{
    struct fuse_mount *mount = fuse_req_userdata(req);
    struct room room = {req, (char *)thread_buffer_get(), size < THREAD_BUFFER_BYTES ? size : THREAD_BUFFER_BYTES, 0};
    uint64_t cookie = (uint64_t)offset;
    struct fs_entry entry;
    int rc;
    while ((rc = fs_readdir(mount->fs, dir, cookie, &entry)) == 1 && add(&room, &entry))
        cookie = entry.cookie;
    if (rc < 0 && room.used == 0)
        fuse_reply_rc(req, rc == -ESTALE ? -ENOENT : rc); /* removed while it is open: as anywhere */
    else
        (void)fuse_reply_buf(req, room.buffer, room.used);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)ino;
    (void)fuse_reply_begin(req);
    reply_entries(req, dir_of(fi), size, offset, add_name);
}

/* The kernel asks for attributes, too, when somebody looks at the files of a directory while he reads it. They are asked for with each
 * request: what came with an earlier one may be older than a change that this mount has made since. While others share the
 * cluster the kernel may keep none, will ask for each file in any case, and gets the names alone. */
static void on_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    static atomic_bool shared; /* the last that was heard */
    struct fuse_mount *mount = fuse_reply_begin(req);
    bool ask = mount->exclusive || offset == 0 || !atomic_load_explicit(&shared, memory_order_relaxed);
    (void)ino;
    if (ask)
        fs_readdir_anew(dir_of(fi), (uint32_t)(size / ENTRY_BYTES) + 1);
    reply_entries(req, dir_of(fi), size, offset, ask ? add_whole : add_bare);
    if (ask)
        atomic_store_explicit(&shared, !mount->exclusive && believable_left_ns() == 0, memory_order_relaxed);
}

static void on_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    fs_releasedir(dir_of(fi));
    fuse_reply_rc(req, 0);
}

/* Names are in the master's journal before a request that changes them is answered. */
static void on_fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    (void)ino;
    (void)data_only;
    (void)fi;
    fuse_reply_rc(req, 0);
}

void fuse_dirs_fill(struct fuse_lowlevel_ops *ops)
{
    ops->opendir = on_opendir;
    ops->readdir = on_readdir;
    ops->readdirplus = on_readdirplus;
    ops->releasedir = on_releasedir;
    ops->fsyncdir = on_fsyncdir;
}
