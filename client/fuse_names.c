/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "client/fuse_reply.h"

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_attr attr;
    int rc = fs_lookup(mount->fs, parent, name, &attr);
    if (rc == -ENOENT)
        fuse_reply_no_entry(req);
    else
        fuse_reply_entry_or(req, rc, &attr);
}

/* Inodes are numbers that need no memory here, so there is nothing to forget. */
static void on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
    (void)ino;
    (void)lookups;
    fuse_reply_none(req);
}

static void on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    (void)count;
    (void)forgets;
    fuse_reply_none(req);
}

static void on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_attr attr;
    int rc = fs_mknod(mount->fs, parent, name, mode, (uint32_t)rdev, fuse_reply_owner(req), &attr);
    fuse_reply_entry_or(req, rc, &attr);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    on_mknod(req, parent, name, (mode & ~(mode_t)S_IFMT) | S_IFDIR, 0);
}

static void on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_attr attr;
    int rc = fs_symlink(mount->fs, parent, name, target, fuse_reply_owner(req), &attr);
    fuse_reply_entry_or(req, rc, &attr);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    char target[WIRE_TARGET_LIMIT + 1];
    int rc = fs_readlink(mount->fs, ino, target);
    if (rc < 0)
        fuse_reply_rc(req, rc);
    else
        (void)fuse_reply_readlink(req, target);
}

static void on_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_attr attr;
    fuse_reply_entry_or(req, fs_link(mount->fs, ino, parent, name, &attr), &attr);
}

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    fuse_reply_rc(req, fs_unlink(mount->fs, parent, name));
}

static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    fuse_reply_rc(req, fs_rmdir(mount->fs, parent, name));
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
                      unsigned flags)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    fuse_reply_rc(req, fs_rename(mount->fs, parent, name, new_parent, new_name, flags));
}

void fuse_names_fill(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = on_lookup;
    ops->forget = on_forget;
    ops->forget_multi = on_forget_multi;
    ops->mknod = on_mknod;
    ops->mkdir = on_mkdir;
    ops->symlink = on_symlink;
    ops->readlink = on_readlink;
    ops->link = on_link;
    ops->unlink = on_unlink;
    ops->rmdir = on_rmdir;
    ops->rename = on_rename;
}
