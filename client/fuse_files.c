/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "client/fuse_device.h"
#include "client/fuse_reply.h"

static struct fs_handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct fs_handle *)(uintptr_t)fi->fh;
}

/* Where others write to the same files, the end of a file is the master's to say, not the kernel's. */
static bool appends(const struct fuse_mount *mount, const struct fuse_file_info *fi)
{
    return fi->flags & O_APPEND && !mount->exclusive;
}

static void fill_info(const struct fuse_mount *mount, struct fuse_file_info *fi, struct fs_handle *handle, bool content_known)
{
    fi->fh = (uintptr_t)handle;
    fi->keep_cache = content_known;
    fi->direct_io = appends(mount, fi);
}

static uint32_t open_bits(const struct fuse_file_info *fi)
{
    return (fi->flags & O_EXCL ? WIRE_OPEN_EXCLUSIVE : 0u) | (fi->flags & O_TRUNC ? WIRE_OPEN_TRUNCATE : 0u) |
           ((fi->flags & O_ACCMODE) == O_RDONLY ? WIRE_OPEN_READ_ONLY : 0u);
}

/* For a request by somebody who may not keep set-user-id and set-group-id. The kernel has the old mode in its cache, and would
 * still honour it: it is told to forget it before it hears that the request is done. */
static int kill_suid(struct fuse_mount *mount, fuse_ino_t ino, struct fs_handle *handle)
{
    int rc = fuse_device_kills_suid() ? fs_kill_suid(mount->fs, handle) : 0;
    if (rc == 1)
        (void)fuse_lowlevel_notify_inval_inode(mount->session, ino, -1, 0); /* attributes alone: no page is waited for */
    return rc < 0 ? rc : 0;
}

static void on_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct wire_attr attr;
    struct fs_handle *handle;
    int rc = fs_create(mount->fs, parent, name, mode & 07777, open_bits(fi), fuse_reply_owner(req), &attr, &handle);
    if (rc < 0) {
        fuse_reply_rc(req, rc);
        return;
    }
    struct fuse_entry_param entry;
    fuse_reply_make_entry(mount, &attr, &entry);
    fill_info(mount, fi, handle, false);
    fuse_device_opens();
    if (fuse_reply_create(req, &entry, fi) < 0)
        fs_release(mount->fs, handle);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct fs_handle *handle;
    bool content_known;
    int rc = fs_open(mount->fs, ino, open_bits(fi), &handle, &content_known);
    if (rc < 0) {
        fuse_reply_rc(req, rc);
        return;
    }
    rc = kill_suid(mount, ino, handle);
    if (rc < 0) {
        fs_release(mount->fs, handle);
        fuse_reply_rc(req, rc);
        return;
    }
    fill_info(mount, fi, handle, content_known);
    fuse_device_opens();
    if (fuse_reply_open(req, fi) < 0)
        fs_release(mount->fs, handle);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    const uint8_t *data = NULL;
    (void)ino;
    if (size > WIRE_IO_LIMIT)
        size = WIRE_IO_LIMIT;
    int n = fs_read(mount->fs, handle_of(fi), (uint64_t)offset, size, &data);
    if (n < 0)
        fuse_reply_rc(req, n);
    else
        (void)fuse_reply_buf(req, (const char *)data, (size_t)n);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    data = fuse_device_write_data(data);
    int64_t n = kill_suid(mount, ino, handle_of(fi));
    if (n < 0) {
        fuse_reply_rc(req, (int)n);
        return;
    }
    if (appends(mount, fi)) {
        uint64_t at = (uint64_t)offset;
        n = fs_append(mount->fs, handle_of(fi), data, size, &at);
        /* The kernel may have these bytes in its cache where it thought the end was. */
        if (at != (uint64_t)offset)
            fs_forget_content(mount->fs, handle_of(fi));
    } else if (fi->writepage) {
        n = fs_write_pages(mount->fs, handle_of(fi), (uint64_t)offset, data, size);
    } else if (fi->flags & (O_DIRECT | O_SYNC | O_DSYNC)) {
        n = fs_write(mount->fs, handle_of(fi), (uint64_t)offset, data, size);
    } else {
        n = fs_write_behind(mount->fs, handle_of(fi), (uint64_t)offset, data, size);
    }
    if (n < 0)
        fuse_reply_rc(req, (int)n);
    else
        (void)fuse_reply_write(req, (size_t)n);
}

static void on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    (void)ino;
    int rc = fs_flush(mount->fs, handle_of(fi)), unlocked = fs_lock_close(mount->fs, handle_of(fi), fi->lock_owner);
    fuse_reply_rc(req, rc < 0 ? rc : unlocked);
}

static void on_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    (void)ino;
    (void)data_only;
    fuse_reply_rc(req, fs_fsync(mount->fs, handle_of(fi)));
}

static void on_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    (void)ino;
    fs_release(mount->fs, handle_of(fi));
    fuse_reply_rc(req, 0);
}

static void on_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    (void)ino;
    fuse_reply_rc(req, fs_fallocate(mount->fs, handle_of(fi), mode, (uint64_t)offset, (uint64_t)length));
}

/* Written back by the kernel when it likes, so the kernel alone knows what is a hole: it then takes everything for data. */
static void on_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    uint64_t found;
    (void)ino;
    int rc = mount->exclusive ? -ENOSYS : fs_seek(mount->fs, handle_of(fi), (uint64_t)offset, whence == SEEK_HOLE, &found);
    if (rc < 0)
        fuse_reply_rc(req, rc);
    else
        (void)fuse_reply_lseek(req, (off_t)found);
}

void fuse_files_fill(struct fuse_lowlevel_ops *ops)
{
    ops->create = on_create;
    ops->open = on_open;
    ops->read = on_read;
    ops->write = on_write;
    ops->flush = on_flush;
    ops->fsync = on_fsync;
    ops->release = on_release;
    ops->fallocate = on_fallocate;
    ops->lseek = on_lseek;
}
