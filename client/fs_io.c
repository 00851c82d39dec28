/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>

#include "client/fs_calls.h"
#include "client/fs_state.h"
#include "client/lock_records.h"
#include "client/publisher.h"
#include "client/read_path.h"
#include "client/retry.h"
#include "client/write_path.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"

/* ---- opening and closing ---- */

/* The master counted an open in that generation of the session. */
static void count_open(struct open_file *file, uint32_t generation)
{
    open_file_enter_generation(file, generation);
    SCOPE_UNLOCK(&file->lock);
    if (file->generation == generation)
        file->opens++;
}

/* Takes over the caller's reference to the file. */
static struct fs_handle *make_handle(struct open_file *file, uint32_t generation, uint32_t flags)
{
    struct fs_handle *handle = check_alloc(calloc(1, sizeof *handle));
    handle->file = file;
    handle->generation = generation;
    handle->read_only = (flags & WIRE_OPEN_READ_ONLY) != 0;
    SCOPE_UNLOCK(&file->lock);
    handle->errors_seen = file->error_count;
    handle->next = file->first_handle;
    if (handle->next)
        handle->next->previous = handle;
    file->first_handle = handle;
    file->handles++;
    file->writable_handles += !handle->read_only;
    return handle;
}

int fs_create(struct fs *fs, uint64_t parent, const char *name, uint32_t mode, uint32_t flags, struct fs_owner owner,
              struct wire_attr *attr, struct fs_handle **handle)
{
    struct master_call call;
    union wire_any request = {
        .create = {.parent = parent, .mode = mode, .flags = flags, .uid = owner.uid, .gid = owner.gid}};
    int rc = fs_calls_name(name, &request.create.name);
    if (rc == 0)
        rc = fs_calls_make(fs, WIRE_TYPE_create, &request, &call);
    if (rc < 0)
        return rc;
    *attr = call.reply.create_reply.attr;
    uint32_t generation = call.generation;
    master_session_finish(fs->session, &call);
    struct open_file *file = open_files_get(fs->files, attr->ino);
    count_open(file, generation);
    open_file_learn(file, attr);
    (void)content_stamps_open(fs->stamps, attr->ino, attr->change);
    *handle = make_handle(file, generation, flags);
    *attr = open_file_attr(file);
    return 0;
}

static int open_at_master(struct fs *fs, struct open_file *file, uint32_t flags, uint32_t *generation, uint64_t *change)
{
    struct master_call call;
    union wire_any request = {.open = {.ino = file->ino, .flags = flags}};
    int rc = fs_calls_make(fs, WIRE_TYPE_open, &request, &call);
    if (rc < 0)
        return rc;
    struct wire_attr attr = call.reply.open_reply.attr;
    *generation = call.generation;
    *change = attr.change;
    master_session_finish(fs->session, &call);
    count_open(file, *generation);
    open_file_learn(file, &attr);
    return 0;
}

/* With O_TRUNC: as for any other cut, see fs_attrs.c. */
static int open_and_cut(struct fs *fs, struct open_file *file, uint32_t flags, uint32_t *generation, uint64_t *change)
{
    open_file_enter_generation(file, master_session_generation(fs->session));
    (void)pthread_rwlock_wrlock(&file->cut);
    int rc = publisher_publish(fs, file, PUBLISHER_LEASES);
    if (rc == 0)
        rc = open_at_master(fs, file, flags, generation, change);
    if (rc == 0)
        open_file_length_was_set(file);
    (void)pthread_rwlock_unlock(&file->cut);
    return rc;
}

/* Each read comes by here, so the mark is not written again and no lock is taken. */
static void note_cached(struct open_file *file)
{
    if (!file->may_be_mapped)
        file->may_be_mapped = true;
}

int fs_open(struct fs *fs, uint64_t ino, uint32_t flags, struct fs_handle **handle, bool *content_known)
{
    struct open_file *file = open_files_get(fs->files, ino);
    uint32_t generation = 0;
    uint64_t change = 0;
    int rc = flags & WIRE_OPEN_TRUNCATE ? open_and_cut(fs, file, flags, &generation, &change)
                                        : open_at_master(fs, file, flags, &generation, &change);
    if (rc < 0) {
        open_files_put(file);
        return rc;
    }
    bool known = content_stamps_open(fs->stamps, ino, change);
    if (known)
        note_cached(file);
    if (content_known)
        *content_known = known;
    *handle = make_handle(file, generation, flags);
    return 0;
}

/* After the loss of the session the master counts this open no more; it is counted anew, so that a handle that lost nothing
 * goes on. What was lost is reported as the file's error; whoever held a lock and does not any more must not go on as if
 * it did. */
int fs_handle_revive(struct fs *fs, struct fs_handle *handle)
{
    uint32_t generation = master_session_generation(fs->session);
    uint64_t change;
    if (handle->generation == generation)
        return 0;
    {
        SCOPE_UNLOCK(&handle->file->lock);
        if (lock_records_of_handle(handle->file->lock_records, handle))
            return -EIO;
    }
    int rc = open_at_master(fs, handle->file, 0, &generation, &change);
    if (rc == 0)
        handle->generation = generation;
    return rc;
}

/* True if the file has no other. */
static bool end_handle(struct open_file *file, struct fs_handle *handle)
{
    SCOPE_UNLOCK(&file->lock);
    if (handle->previous)
        handle->previous->next = handle->next;
    else
        file->first_handle = handle->next;
    if (handle->next)
        handle->next->previous = handle->previous;
    file->writable_handles -= !handle->read_only;
    free(handle);
    return --file->handles == 0;
}

void fs_release(struct fs *fs, struct fs_handle *handle)
{
    struct open_file *file = handle->file;
    uint32_t generation, opens = 0;
    fs_lock_release(fs, handle);
    bool last = end_handle(file, handle);
    if (last) {
        int rc = publisher_publish(fs, file, PUBLISHER_LEASES);
        if (rc < 0)
            log_error("the last writes to inode %llu could not be published (%d)", (unsigned long long)file->ino, rc);
        SCOPE_UNLOCK(&file->lock);
        generation = file->generation;
        if (file->handles == 0) {
            opens = file->opens;
            file->opens = 0;
        }
    }
    if (opens)
        late_releases_add(fs->late_releases, file->ino, opens, generation);
    open_files_put(file);
}

/* ---- data ---- */

void fs_forget_content(struct fs *fs, struct fs_handle *handle)
{
    content_stamps_forget(fs->stamps, handle->file->ino);
}

int fs_read(struct fs *fs, struct fs_handle *handle, uint64_t offset, size_t bytes, const uint8_t **data)
{
    int rc = fs_handle_revive(fs, handle);
    note_cached(handle->file);
    if (rc == 0 && offset <= INT64_MAX)
        rc = write_behind_settle(fs, handle->file, offset, offset + bytes);
    return rc < 0 ? rc : read_path_read(fs, handle->file, offset, bytes, data);
}

/* What has to be right before something is written. */
static int ready_to_write(struct fs *fs, struct fs_handle *handle)
{
    int rc = fs_handle_revive(fs, handle);
    return rc < 0 ? rc : open_file_take_error(handle->file, &handle->errors_seen);
}

int64_t fs_write(struct fs *fs, struct fs_handle *handle, uint64_t offset, const void *data, size_t bytes)
{
    int rc = ready_to_write(fs, handle);
    if (rc == 0)
        rc = write_behind_settle(fs, handle->file, 0, UINT64_MAX);
    return rc < 0 ? rc : write_path_write(fs, handle->file, offset, data, bytes);
}

int64_t fs_write_pages(struct fs *fs, struct fs_handle *handle, uint64_t offset, const void *data, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        int64_t n = fs_write(fs, handle, offset + done, (const uint8_t *)data + done, bytes - done);
        if (n <= 0)
            return n < 0 ? n : -EIO;
        done += (size_t)n;
    }
    return (int64_t)done;
}

int64_t fs_write_behind(struct fs *fs, struct fs_handle *handle, uint64_t offset, const void *data, size_t bytes)
{
    int rc = ready_to_write(fs, handle);
    return rc < 0 ? rc : write_behind_write(fs, handle->file, offset, data, bytes);
}

int64_t fs_append(struct fs *fs, struct fs_handle *handle, const void *data, size_t bytes, uint64_t *at)
{
    int rc = ready_to_write(fs, handle);
    return rc < 0 ? rc : write_path_append(fs, handle->file, data, bytes, at);
}

/* Publishes, and reports what was to be reported to this handle; once, whichever of the two it is. */
static int publish_and_report(struct fs *fs, struct fs_handle *handle, unsigned bits)
{
    int rc = publisher_publish(fs, handle->file, bits);
    int before = open_file_take_error(handle->file, &handle->errors_seen);
    return before < 0 ? before : rc;
}

int fs_flush(struct fs *fs, struct fs_handle *handle)
{
    bool alone;
    if (handle->read_only)
        return 0; /* it has nothing to publish or report */
    {
        SCOPE_UNLOCK(&handle->file->lock);
        alone = handle->file->handles == 1;
    }
    /* Most often the file is closed now, and its leases need no message of their own. */
    return publish_and_report(fs, handle, alone ? PUBLISHER_LEASES : 0);
}

int fs_fsync(struct fs *fs, struct fs_handle *handle)
{
    int rc = fs_handle_revive(fs, handle);
    return rc < 0 ? rc : publish_and_report(fs, handle, PUBLISHER_SYNC);
}

/* Makes the file at least that long, for everybody. Published rather than set: that never cuts what others have written
 * meanwhile. */
static int extend(struct fs *fs, struct open_file *file, uint64_t length)
{
    struct wire_attr attr = open_file_attr(file);
    if (attr.size >= length)
        return 0;
    open_file_wrote(file, length, attr.size_epoch, clock_wall_ns());
    return publisher_publish(fs, file, 0);
}

/* Space is given when it is written. What cannot be there at all is refused at once, though. */
static int check_space(struct fs *fs, struct open_file *file, uint64_t end)
{
    struct wire_statfs_reply space;
    struct wire_attr attr = open_file_attr(file);
    struct retry retry;
    if (end <= attr.size || end - attr.size < fs->chunk_bytes)
        return 0;
    retry_start(&retry, fs->retry_ns);
    for (;;) {
        int rc = fs_statfs(fs, &space);
        if (rc < 0 || end - attr.size <= space.free_bytes / (attr.goal ? attr.goal : 1u))
            return rc;
        if (!space.more_expected)
            return -ENOSPC;
        rc = retry_wait(&retry);
        if (rc < 0)
            return rc == -EIO ? -ENOSPC : rc;
    }
}

int fs_fallocate(struct fs *fs, struct fs_handle *handle, int mode, uint64_t offset, uint64_t bytes)
{
    struct open_file *file = handle->file;
    int rc = ready_to_write(fs, handle);
    if (rc < 0)
        return rc;
    if (bytes == 0 || offset > INT64_MAX || bytes > INT64_MAX - offset)
        return bytes == 0 ? -EINVAL : -EFBIG;
    rc = write_behind_settle(fs, file, 0, UINT64_MAX);
    if (rc < 0)
        return rc;
    switch (mode) {
    case 0:
        rc = check_space(fs, file, offset + bytes);
        return rc < 0 ? rc : extend(fs, file, offset + bytes);
    case FALLOC_FL_KEEP_SIZE:
        return check_space(fs, file, offset + bytes);
    case FALLOC_FL_ZERO_RANGE:
        rc = write_path_zero(fs, file, offset, bytes);
        return rc < 0 ? rc : extend(fs, file, offset + bytes);
    case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
    case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
        return write_path_zero(fs, file, offset, bytes);
    }
    return -EOPNOTSUPP;
}
