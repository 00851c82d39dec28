/* SPDX-License-Identifier: Apache-2.0 */
#include "client/publisher.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "client/fs_state.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"

enum { RELEASED_LIMIT = 1024, RELEASED_BYTES = 16 * RELEASED_LIMIT };

#define AGE_NS (1 * NS_PER_S)

/* What one request says, taken from the file. */
struct publication {
    uint32_t generation;
    union wire_any request;
    bool was_dirty;
    bool more_leases; /* they did not all fit */
    struct wire_released_lease released[RELEASED_LIMIT];
    uint8_t encoded[RELEASED_BYTES];
};

static void take_leases_locked(struct open_file *file, bool all, struct publication *p)
{
    uint32_t count = all ? chunk_locations_take_leases(&file->locations, p->released, RELEASED_LIMIT)
                         : chunk_locations_take_blocks(&file->locations, p->released, RELEASED_LIMIT);
    struct wire_out room = wire_out_on(p->encoded, sizeof p->encoded);
    for (uint32_t i = 0; i < count; i++)
        CHECK(wire_append_released_lease(&room, &p->request.publish.released, &p->released[i]));
    p->more_leases = count == RELEASED_LIMIT;
}

/* False: there is nothing to say. */
static bool prepare(struct open_file *file, unsigned bits, struct publication *p)
{
    SCOPE_UNLOCK(&file->lock);
    p->generation = file->generation;
    p->was_dirty = file->dirty;
    p->more_leases = false;
    /* What was published without a sync may have been lost with the power of the master's machine. */
    bool again = bits & PUBLISHER_SYNC && file->unsynced;
    p->request.publish = (struct wire_publish){
        .ino = file->ino,
        .size_epoch = file->attr.size_epoch,
        .length = file->dirty || again ? file->length_local : 0,
        .mtime = file->dirty ? file->mtime_local : 0,
        .sync = (bits & PUBLISHER_SYNC) != 0,
        .append_end = (bits & PUBLISHER_APPEND_END) != 0,
    };
    take_leases_locked(file, (bits & PUBLISHER_LEASES) != 0, p);
    if (!p->was_dirty && p->request.publish.released.count == 0 && !(bits & PUBLISHER_APPEND_END) &&
        !again)
        return false;
    file->dirty = false;
    file->unsynced = true;
    return true;
}

static void succeeded(struct fs *fs, struct open_file *file, const struct publication *p, const struct wire_attr *attr)
{
    {
        SCOPE_UNLOCK(&file->lock);
        if (file->plain_change && file->plain_change == file->attr.change && attr->change == file->attr.change + 1)
            file->plain_change = attr->change;
    }
    open_file_learn(file, attr);
    if (p->was_dirty)
        content_stamps_own_change(fs->stamps, file->ino, attr->change);
    SCOPE_UNLOCK(&file->lock);
    if (file->mtime_local == p->request.publish.mtime)
        file->mtime_local = 0;
    file->unsynced = file->unsynced && !p->request.publish.sync;
}

/* Leases that were taken off the table and could not be given back are lost to this client; the master takes them at the
 * end of the session. */
static void failed(struct fs *fs, struct open_file *file, const struct publication *p, int error)
{
    if (p->was_dirty)
        open_file_wrote(file, 0, 0, 0); /* still to be published */
    if (error == -ENOTCONN)
        open_file_enter_generation(file, master_session_generation(fs->session));
}

static int publish_once(struct fs *fs, struct open_file *file, unsigned bits, struct publication *p)
{
    if (!prepare(file, bits, p))
        return 0;
    struct master_call call;
    int rc = master_session_call(fs->session, p->generation, WIRE_TYPE_publish, &p->request, &call);
    if (rc < 0) {
        failed(fs, file, p, rc);
        return rc == -ENOTCONN ? -EIO : rc;
    }
    struct wire_attr attr = call.reply.publish_reply.attr;
    master_session_finish(fs->session, &call);
    succeeded(fs, file, p, &attr);
    return 0;
}

int publisher_publish(struct fs *fs, struct open_file *file, unsigned bits)
{
    struct publication p;
    /* A length may be told when the data below it is there. */
    int rc = write_behind_settle(fs, file, 0, UINT64_MAX);
    if (rc < 0)
        return rc;
    /* One after the other: who finds nothing to publish may rely on its having arrived. */
    SCOPE_UNLOCK(&file->publish);
    if (!(bits & PUBLISHER_LEASES))
        return publish_once(fs, file, bits, &p);
    SCOPE_UNLOCK(&file->lease);
    do {
        rc = publish_once(fs, file, bits, &p);
    } while (rc == 0 && p.more_leases);
    return rc;
}

static void *publish_in_background(void *argument)
{
    struct fs *fs = argument;
    struct open_file *file;
    while ((file = open_files_wait_dirty(fs->files, AGE_NS)) != NULL) {
        int rc = publisher_publish(fs, file, 0);
        if (rc < 0) {
            log_error("the new length of inode %llu could not be published: %s", (unsigned long long)file->ino,
                      strerror(-rc));
            open_file_fail(file, rc == -EINTR ? -EIO : rc);
        }
        open_files_put(file);
    }
    return NULL;
}

void publisher_start(struct fs *fs)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&fs->publisher, NULL, publish_in_background, fs) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void publisher_stop(struct fs *fs)
{
    open_files_stop(fs->files);
    (void)pthread_join(fs->publisher, NULL);
}
