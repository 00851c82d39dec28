/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "client/fs_calls.h"
#include "client/fs_state.h"
#include "client/lock_records.h"
#include "client/publisher.h"
#include "common/scope.h"

static bool is_whole(const struct wire_lock_set *lock)
{
    return lock->start == 0 && lock->end >= INT64_MAX;
}

/* What the next holder reads must be what was written before. */
static int publish_before_giving(struct fs *fs, struct open_file *file, const struct wire_lock_set *lock)
{
    return lock->type == WIRE_LOCK_WRITE ? 0 : publisher_publish(fs, file, 0);
}

static int ask(struct fs *fs, struct open_file *file, uint32_t generation, const struct wire_lock_set *lock,
               bool *content_known)
{
    struct master_call call;
    union wire_any request = {.lock_set = *lock};
    request.lock_set.ino = file->ino;
    int rc = master_session_call(fs->session, generation, WIRE_TYPE_lock_set, &request, &call);
    if (rc < 0)
        return rc == -ENOTCONN ? -EIO : rc == -EALREADY ? -EAGAIN : rc;
    struct wire_attr attr = call.reply.lock_set_reply.attr;
    master_session_finish(fs->session, &call);
    if (lock->type == WIRE_LOCK_NONE)
        return 0;
    open_file_learn(file, &attr);
    *content_known = content_stamps_open(fs->stamps, file->ino, attr.change);
    return 0;
}

/* Gives back all that the owner has. What the master does not know any more is given back already. */
static int give_back(struct fs *fs, struct open_file *file, uint32_t generation, uint64_t owner, bool flock)
{
    const struct wire_lock_set all = {.owner = owner, .end = UINT64_MAX, .flock = flock};
    bool known;
    if (master_session_generation(fs->session) != generation)
        return 0;
    int published = publisher_publish(fs, file, 0), rc = ask(fs, file, generation, &all, &known);
    lock_waits_look(fs->lock_waits);
    return rc < 0 ? rc : published;
}

int fs_lock_set(struct fs *fs, struct fs_handle *handle, const struct wire_lock_set *lock, bool *content_known)
{
    struct open_file *file = handle->file;
    *content_known = true;
    if (lock->type == WIRE_LOCK_NONE && is_whole(lock)) {
        {
            SCOPE_UNLOCK(&file->lock);
            lock_records_remove(&file->lock_records, lock->owner, lock->flock != 0);
        }
        return give_back(fs, file, handle->generation, lock->owner, lock->flock != 0);
    }
    int rc = fs_handle_revive(fs, handle);
    if (rc == 0)
        rc = publish_before_giving(fs, file, lock);
    if (rc < 0)
        return rc;
    bool had;
    {
        SCOPE_UNLOCK(&file->lock);
        had = lock_records_has(file->lock_records, lock->owner, lock->flock != 0);
        if (lock->type != WIRE_LOCK_NONE)
            lock_records_add(&file->lock_records, handle, lock->owner, lock->flock != 0);
    }
    rc = ask(fs, file, handle->generation, lock, content_known);
    if (lock->type != WIRE_LOCK_WRITE && rc == 0)
        lock_waits_look(fs->lock_waits);
    if (rc == -EAGAIN && lock->flock && had) {
        /* flock(2) gives the old lock up before it asks for another kind, else two who both want to change theirs would
         * wait for each other. */
        int given = give_back(fs, file, handle->generation, lock->owner, true);
        if (given == 0)
            rc = ask(fs, file, handle->generation, lock, content_known);
    }
    return rc;
}

int fs_lock_get(struct fs *fs, struct fs_handle *handle, const struct wire_lock_get *lock, struct wire_lock_get_reply *found)
{
    struct master_call call;
    union wire_any request = {.lock_get = *lock};
    request.lock_get.ino = handle->file->ino;
    int rc = fs_calls_make(fs, WIRE_TYPE_lock_get, &request, &call);
    if (rc < 0)
        return rc;
    *found = call.reply.lock_get_reply;
    master_session_finish(fs->session, &call);
    return 0;
}

int fs_lock_close(struct fs *fs, struct fs_handle *handle, uint64_t owner)
{
    struct open_file *file = handle->file;
    {
        SCOPE_UNLOCK(&file->lock);
        if (!lock_records_has(file->lock_records, owner, false))
            return 0;
        lock_records_remove(&file->lock_records, owner, false);
    }
    return give_back(fs, file, handle->generation, owner, false);
}

void fs_lock_release(struct fs *fs, struct fs_handle *handle)
{
    for (;;) {
        struct lock_record record;
        {
            SCOPE_UNLOCK(&handle->file->lock);
            if (!lock_records_take(&handle->file->lock_records, handle, &record))
                return;
        }
        (void)give_back(fs, handle->file, handle->generation, record.owner, record.flock); /* else with the session */
    }
}

/* ---- waiting ---- */

void fs_lock_wait(struct fs *fs, struct fs_lock_wait *wait)
{
    lock_waits_add(fs->lock_waits, wait);
}

void fs_lock_interrupt(struct fs *fs, struct fs_lock_wait *wait)
{
    lock_waits_interrupt(fs->lock_waits, wait);
}

void fs_lock_end_waits(struct fs *fs)
{
    lock_waits_end(fs->lock_waits);
}
