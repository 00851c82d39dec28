/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>

#include "client/fuse_reply.h"
#include "client/thread_buffer.h"

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

/* Only names, numbers and types: attributes would be asked for again anyway while the kernel may not keep them, and the
 * ones here may be older than a write that the kernel has seen since. */
static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    uint8_t *buffer = thread_buffer_get();
    uint64_t cookie = (uint64_t)offset;
    size_t used = 0;
    struct fs_entry entry;
    int rc;
    (void)ino;
    if (size > THREAD_BUFFER_BYTES)
        size = THREAD_BUFFER_BYTES;
    while ((rc = fs_readdir(mount->fs, dir_of(fi), cookie, &entry)) == 1) {
        struct stat st = {.st_ino = entry.attr.ino, .st_mode = entry.attr.mode};
        size_t n = fuse_add_direntry(req, (char *)buffer + used, size - used, entry.name, &st, (off_t)entry.cookie);
        if (n > size - used)
            break;
        used += n;
        cookie = entry.cookie;
    }
    if (rc < 0 && used == 0)
        fuse_reply_rc(req, rc == -ESTALE ? -ENOENT : rc); /* removed while it is open: as anywhere */
    else
        (void)fuse_reply_buf(req, (const char *)buffer, used);
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
    ops->releasedir = on_releasedir;
    ops->fsyncdir = on_fsyncdir;
}
