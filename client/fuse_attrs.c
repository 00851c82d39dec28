/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/statvfs.h>

#include "client/fuse_device.h"
#include "client/fuse_reply.h"
#include "client/thread_buffer.h"
#include "common/clock.h"

enum {
    STATFS_BLOCK_BYTES = WIRE_BLOCK_BYTES,
    /* Inodes are limited by the master's memory only; programs take 0 for full. */
    FREE_INODES_SAID = 1 << 30,
};

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_attr attr;
    (void)fi;
    fuse_reply_attr_or(req, fuse_reply_gone(req, ino, fs_getattr(mount->fs, ino, &attr)), &attr);
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static uint32_t valid_bits(int to_set)
{
    static const struct {
        int kernel;
        uint32_t wire;
    } bits[] = {
        {FUSE_SET_ATTR_MODE, WIRE_SET_MODE},           {FUSE_SET_ATTR_UID, WIRE_SET_UID},
        {FUSE_SET_ATTR_GID, WIRE_SET_GID},             {FUSE_SET_ATTR_SIZE, WIRE_SET_SIZE},
        {FUSE_SET_ATTR_ATIME, WIRE_SET_ATIME},         {FUSE_SET_ATTR_MTIME, WIRE_SET_MTIME},
        {FUSE_SET_ATTR_ATIME_NOW, WIRE_SET_ATIME_NOW}, {FUSE_SET_ATTR_MTIME_NOW, WIRE_SET_MTIME_NOW},
        /* The kernel's one bit for both, set in truncations by somebody who may not keep them. */
        {FUSE_SET_ATTR_KILL_SUID, WIRE_SET_KILL_SUID | WIRE_SET_KILL_SGID},
    };
    uint32_t valid = 0;
    for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++)
        if (to_set & bits[i].kernel)
            valid |= bits[i].wire;
    /* The kernel sets both bits when it means now. */
    if (valid & WIRE_SET_ATIME_NOW)
        valid &= ~(uint32_t)WIRE_SET_ATIME;
    if (valid & WIRE_SET_MTIME_NOW)
        valid &= ~(uint32_t)WIRE_SET_MTIME;
    return valid;
}

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_attr attr;
    struct wire_setattr change = {
        .ino = ino,
        .valid = valid_bits(to_set),
        .mode = st->st_mode & 07777,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .size = (uint64_t)st->st_size,
        .atime = ns_of(st->st_atim),
        .mtime = ns_of(st->st_mtim),
    };
    (void)fi;
    if (change.valid & (WIRE_SET_UID | WIRE_SET_GID) && fuse_device_leaves_suid())
        change.valid |= WIRE_SET_KILL_SUID;
    /* With nothing left to set (a change time alone, which follows by itself) it is a getattr. */
    int rc = change.valid ? fs_setattr(mount->fs, &change, &attr) : fs_getattr(mount->fs, ino, &attr);
    fuse_reply_attr_or(req, fuse_reply_gone(req, ino, rc), &attr);
}

static void on_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_statfs_reply space;
    (void)ino;
    int rc = fs_statfs(mount->fs, &space);
    if (rc < 0) {
        fuse_reply_rc(req, rc);
        return;
    }
    struct statvfs st = {
        .f_bsize = STATFS_BLOCK_BYTES,
        .f_frsize = STATFS_BLOCK_BYTES,
        .f_blocks = space.total_bytes / STATFS_BLOCK_BYTES,
        .f_bfree = space.free_bytes / STATFS_BLOCK_BYTES,
        .f_bavail = space.free_bytes / STATFS_BLOCK_BYTES,
        .f_files = space.files + FREE_INODES_SAID,
        .f_ffree = FREE_INODES_SAID,
        .f_favail = FREE_INODES_SAID,
        .f_namemax = WIRE_NAME_LIMIT,
    };
    (void)fuse_reply_statfs(req, &st);
}

/* ---- extended attributes ---- */

/* size 0 asks for the size alone. */
static void reply_bytes(fuse_req_t req, fuse_ino_t ino, int64_t bytes, const uint8_t *from, size_t size)
{
    if (bytes < 0)
        fuse_reply_rc(req, fuse_reply_gone(req, ino, (int)bytes));
    else if (size == 0)
        (void)fuse_reply_xattr(req, (size_t)bytes);
    else
        (void)fuse_reply_buf(req, (const char *)from, (size_t)bytes);
}

static size_t room_for(size_t size)
{
    return size < WIRE_XATTR_LIMIT ? size : WIRE_XATTR_LIMIT;
}

static void on_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    uint8_t *buffer = thread_buffer_get();
    reply_bytes(req, ino, fs_getxattr(mount->fs, ino, name, buffer, room_for(size)), buffer, size);
}

static void on_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    uint8_t *buffer = thread_buffer_get();
    reply_bytes(req, ino, fs_listxattr(mount->fs, ino, (char *)buffer, room_for(size)), buffer, size);
}

static void on_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    fuse_reply_rc(req, fuse_reply_gone(req, ino, fs_setxattr(mount->fs, ino, name, value, size, (uint32_t)flags)));
}

static void on_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    fuse_reply_rc(req, fuse_reply_gone(req, ino, fs_removexattr(mount->fs, ino, name)));
}

void fuse_attrs_fill(struct fuse_lowlevel_ops *ops)
{
    ops->getattr = on_getattr;
    ops->setattr = on_setattr;
    ops->statfs = on_statfs;
    ops->getxattr = on_getxattr;
    ops->listxattr = on_listxattr;
    ops->setxattr = on_setxattr;
    ops->removexattr = on_removexattr;
}
