/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "client/fs_calls.h"
#include "client/fs_state.h"

int fs_lookup(struct fs *fs, uint64_t parent, const char *name, struct wire_attr *attr)
{
    union wire_any request = {.lookup = {.parent = parent}};
    uint64_t before = xattr_absence_before(fs->no_xattrs);
    int rc = fs_calls_name(name, &request.lookup.name);
    if (rc == 0)
        rc = fs_calls_attr(fs, WIRE_TYPE_lookup, &request, attr);
    if (rc < 0)
        return rc;
    xattr_absence_note(fs->no_xattrs, before, attr);
    open_files_overlay(fs->files, attr);
    return 0;
}

int fs_mknod(struct fs *fs, uint64_t parent, const char *name, uint32_t mode, uint32_t rdev, struct fs_owner owner,
             struct wire_attr *attr)
{
    union wire_any request = {
        .mknod = {.parent = parent, .mode = mode, .rdev = rdev, .uid = owner.uid, .gid = owner.gid}};
    int rc = fs_calls_name(name, &request.mknod.name);
    return rc < 0 ? rc : fs_calls_attr(fs, WIRE_TYPE_mknod, &request, attr);
}

int fs_symlink(struct fs *fs, uint64_t parent, const char *name, const char *target, struct fs_owner owner,
               struct wire_attr *attr)
{
    union wire_any request = {
        .symlink = {.parent = parent, .target = wire_text(target), .uid = owner.uid, .gid = owner.gid}};
    if (request.symlink.target.length > WIRE_TARGET_LIMIT)
        return -ENAMETOOLONG;
    int rc = fs_calls_name(name, &request.symlink.name);
    return rc < 0 ? rc : fs_calls_attr(fs, WIRE_TYPE_symlink, &request, attr);
}

int fs_readlink(struct fs *fs, uint64_t ino, char target[WIRE_TARGET_LIMIT + 1])
{
    struct master_call call;
    union wire_any request = {.readlink = {.ino = ino}};
    int rc = fs_calls_make(fs, WIRE_TYPE_readlink, &request, &call);
    if (rc < 0)
        return rc;
    bool fits = wire_copy_text(call.reply.readlink_reply.target, target, WIRE_TARGET_LIMIT + 1);
    master_session_finish(fs->session, &call);
    return fits ? 0 : -EIO;
}

int fs_link(struct fs *fs, uint64_t ino, uint64_t parent, const char *name, struct wire_attr *attr)
{
    union wire_any request = {.link = {.ino = ino, .parent = parent}};
    int rc = fs_calls_name(name, &request.link.name);
    if (rc == 0)
        rc = fs_calls_attr(fs, WIRE_TYPE_link, &request, attr);
    if (rc < 0)
        return rc;
    content_stamps_own_change(fs->stamps, ino, attr->change);
    open_files_overlay(fs->files, attr);
    return 0;
}

int fs_unlink(struct fs *fs, uint64_t parent, const char *name)
{
    union wire_any request = {.unlink = {.parent = parent}};
    int rc = fs_calls_name(name, &request.unlink.name);
    if (rc < 0)
        return rc;
    late_releases_tell(fs->late_releases); /* what was closed before is to be freed with its name */
    return fs_calls_plain(fs, WIRE_TYPE_unlink, &request);
}

int fs_rmdir(struct fs *fs, uint64_t parent, const char *name)
{
    union wire_any request = {.rmdir = {.parent = parent}};
    int rc = fs_calls_name(name, &request.rmdir.name);
    return rc < 0 ? rc : fs_calls_plain(fs, WIRE_TYPE_rmdir, &request);
}

int fs_rename(struct fs *fs, uint64_t parent, const char *name, uint64_t new_parent, const char *new_name, uint32_t flags)
{
    union wire_any request = {.rename = {.parent = parent, .new_parent = new_parent, .flags = flags}};
    int rc = fs_calls_name(name, &request.rename.name);
    if (rc == 0)
        rc = fs_calls_name(new_name, &request.rename.new_name);
    return rc < 0 ? rc : fs_calls_plain(fs, WIRE_TYPE_rename, &request);
}
