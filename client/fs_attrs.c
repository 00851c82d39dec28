/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "client/fs_calls.h"
#include "client/fs_state.h"
#include "client/publisher.h"
#include "client/virtual_xattrs.h"
#include "common/scope.h"

/* Asked by the kernel before every write, to know whether there are capabilities to take away. */
#define CAPABILITY "security.capability"

int fs_getattr(struct fs *fs, uint64_t ino, struct wire_attr *attr)
{
    union wire_any request = {.getattr = {.ino = ino}};
    uint64_t before = xattr_absence_before(fs->no_xattrs);
    int rc = fs_calls_attr(fs, WIRE_TYPE_getattr, &request, attr);
    if (rc < 0)
        return rc;
    xattr_absence_note(fs->no_xattrs, before, attr);
    struct open_file *file = open_files_find(fs->files, ino);
    if (file) {
        open_file_learn(file, attr);
        *attr = open_file_attr(file);
        open_files_put(file);
    }
    return 0;
}

/* A new length: what was written before it comes before it at the master, too, and no write is under way meanwhile. */
static int set_size(struct fs *fs, const union wire_any *request, struct open_file *file, struct wire_attr *attr)
{
    open_file_enter_generation(file, master_session_generation(fs->session));
    (void)pthread_rwlock_wrlock(&file->cut);
    int rc = publisher_publish(fs, file, PUBLISHER_LEASES);
    if (rc == 0)
        rc = fs_calls_attr(fs, WIRE_TYPE_setattr, request, attr);
    if (rc == 0) {
        open_file_learn(file, attr);
        open_file_length_was_set(file);
    }
    (void)pthread_rwlock_unlock(&file->cut);
    return rc;
}

int fs_setattr(struct fs *fs, const struct wire_setattr *change, struct wire_attr *attr)
{
    union wire_any request = {.setattr = *change};
    bool cuts = change->valid & WIRE_SET_SIZE;
    struct open_file *file = cuts ? open_files_get(fs->files, change->ino) : open_files_find(fs->files, change->ino);
    int rc;
    if (cuts) {
        rc = set_size(fs, &request, file, attr);
    } else {
        /* A time set now must not give way to that of a write before it. */
        rc = file ? publisher_publish(fs, file, 0) : 0;
        if (rc == 0)
            rc = fs_calls_attr(fs, WIRE_TYPE_setattr, &request, attr);
        if (rc == 0 && file)
            open_file_learn(file, attr);
    }
    if (rc == 0) {
        content_stamps_own_change(fs->stamps, change->ino, attr->change);
        if (file)
            *attr = open_file_attr(file);
    }
    if (file)
        open_files_put(file);
    return rc;
}

int fs_kill_suid(struct fs *fs, struct fs_handle *handle)
{
    struct wire_attr attr = open_file_attr(handle->file);
    if (!(attr.mode & (S_ISUID | S_ISGID)))
        return 0;
    struct wire_setattr change = {.ino = attr.ino, .valid = WIRE_SET_KILL_SUID | WIRE_SET_KILL_SGID};
    int rc = fs_setattr(fs, &change, &attr);
    return rc < 0 ? rc : 1;
}

int fs_statfs(struct fs *fs, struct wire_statfs_reply *space)
{
    struct master_call call;
    union wire_any request = {.getattr = {0}}; /* the message has no fields */
    int rc = fs_calls_make(fs, WIRE_TYPE_statfs, &request, &call);
    if (rc < 0)
        return rc;
    *space = call.reply.statfs_reply;
    master_session_finish(fs->session, &call);
    return 0;
}

/* ---- extended attributes ---- */

/* Access control lists (system.*) are not kept, and there are no name spaces but these. */
static bool is_supported(const char *name)
{
    static const char *const spaces[] = {"user.", "trusted.", "security."};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
            return true;
    return false;
}

static int64_t hand_over(struct wire_bytes from, void *into, size_t room)
{
    if (room == 0)
        return from.length;
    if (from.length > room)
        return -ERANGE;
    memcpy(into, from.data, from.length);
    return from.length;
}

/* True if an open file is known to have no capabilities in its present state. */
static bool is_plain(struct open_file *file)
{
    SCOPE_UNLOCK(&file->lock);
    return file->plain_change != 0 && file->plain_change == file->attr.change;
}

static int64_t get_stored(struct fs *fs, uint64_t ino, const char *name, void *value, size_t room)
{
    struct master_call call;
    union wire_any request = {.getxattr = {.ino = ino}};
    int rc = fs_calls_name(name, &request.getxattr.name);
    if (rc == 0 && xattr_absence_is_known(fs->no_xattrs, ino))
        rc = -ENODATA;
    if (rc == 0)
        rc = fs_calls_make(fs, WIRE_TYPE_getxattr, &request, &call);
    if (rc < 0)
        return rc;
    int64_t bytes = hand_over(call.reply.getxattr_reply.value, value, room);
    master_session_finish(fs->session, &call);
    return bytes;
}

static int64_t get_capability(struct fs *fs, uint64_t ino, void *value, size_t room)
{
    struct open_file *file = open_files_find(fs->files, ino);
    if (!file)
        return get_stored(fs, ino, CAPABILITY, value, room);
    if (is_plain(file)) {
        open_files_put(file);
        return -ENODATA;
    }
    uint64_t change = open_file_attr(file).change;
    int64_t bytes = get_stored(fs, ino, CAPABILITY, value, room);
    if (bytes == -ENODATA) {
        SCOPE_UNLOCK(&file->lock);
        file->plain_change = change;
    }
    open_files_put(file);
    return bytes;
}

int64_t fs_getxattr(struct fs *fs, uint64_t ino, const char *name, void *value, size_t room)
{
    if (!is_supported(name))
        return -EOPNOTSUPP;
    if (strcmp(name, CAPABILITY) == 0)
        return get_capability(fs, ino, value, room);
    if (!virtual_xattrs_has(name))
        return get_stored(fs, ino, name, value, room);
    char *text = NULL;
    size_t bytes = 0;
    int rc = virtual_xattrs_get(fs, ino, name, &text, &bytes);
    if (rc < 0)
        return rc;
    int64_t result = bytes > WIRE_XATTR_LIMIT ? -E2BIG : hand_over(wire_bytes_of(text, bytes), value, room);
    free(text);
    return result;
}

int64_t fs_listxattr(struct fs *fs, uint64_t ino, char *names, size_t room)
{
    struct master_call call;
    union wire_any request = {.listxattr = {.ino = ino}};
    if (xattr_absence_is_known(fs->no_xattrs, ino))
        return 0;
    int rc = fs_calls_make(fs, WIRE_TYPE_listxattr, &request, &call);
    if (rc < 0)
        return rc;
    int64_t bytes = hand_over(call.reply.listxattr_reply.names, names, room);
    master_session_finish(fs->session, &call);
    return bytes;
}

/* Attributes count as a change of the file, which open files have to know of before the next write asks. */
static void forget_plain(struct fs *fs, uint64_t ino)
{
    struct open_file *file = open_files_find(fs->files, ino);
    if (!file)
        return;
    {
        SCOPE_UNLOCK(&file->lock);
        file->plain_change = 0;
    }
    open_files_put(file);
}

int fs_setxattr(struct fs *fs, uint64_t ino, const char *name, const void *value, size_t bytes, uint32_t flags)
{
    if (!is_supported(name))
        return -EOPNOTSUPP;
    if (virtual_xattrs_has(name))
        return virtual_xattrs_set(fs, ino, name, value, bytes);
    if (bytes > WIRE_XATTR_LIMIT)
        return -E2BIG;
    union wire_any request = {.setxattr = {.ino = ino, .value = wire_bytes_of(value, bytes), .flags = flags}};
    int rc = fs_calls_name(name, &request.setxattr.name);
    xattr_absence_end(fs->no_xattrs, ino);
    if (rc == 0)
        rc = fs_calls_plain(fs, WIRE_TYPE_setxattr, &request);
    xattr_absence_end(fs->no_xattrs, ino);
    forget_plain(fs, ino);
    return rc;
}

int fs_removexattr(struct fs *fs, uint64_t ino, const char *name)
{
    if (!is_supported(name))
        return -EOPNOTSUPP;
    if (virtual_xattrs_has(name))
        return -ENODATA;
    union wire_any request = {.removexattr = {.ino = ino}};
    int rc = fs_calls_name(name, &request.removexattr.name);
    return rc < 0 ? rc : fs_calls_plain(fs, WIRE_TYPE_removexattr, &request);
}
