/* SPDX-License-Identifier: Apache-2.0 */
#include "client/write_behind.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/fs_state.h"
#include "client/retry.h"
#include "client/write_memory.h"
#include "client/write_path.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"

enum {
    SEGMENT_BYTES = WRITE_MEMORY_SEGMENT_BYTES,
    FILE_LIMIT = 16,
    TOTAL_LIMIT = WRITE_MEMORY_SEGMENTS,
    SPARE_LIMIT = 32, /* kept when there is nothing to send: fresh memory costs page faults */
    HELD_LEAST = 32 * 1024, /* of a request's own memory: what is smaller is worth a copy, to be sent with what follows */
    STRAYS = 3, /* so many writes in a row that do not continue one another: the next will not either */
    SENDERS = 3,
    PAGE_BYTES = 4096,
};

#define INTERRUPT_STEP_NS (50 * NS_PER_MS)

enum state { GROWING, QUEUED, SENDING, DONE };

struct write_segment {
    struct open_file *file;     /* a reference */
    struct write_segment *next; /* of the file */
    struct write_segment *next_queued, *previous_queued;
    _Atomic enum state state; /* QUEUED and SENDING change under the lock of the queue, DONE under that of the file */
    int result;          /* DONE: 0 or a negative errno */
    uint32_t size_epoch; /* DONE */
    uint64_t number;     /* of the file's; rises */
    uint64_t offset;     /* in the file; lies in one chunk as a whole */
    uint32_t bytes, room;
    int64_t mtime_ns;
    uint8_t *data;
    bool held; /* data lies in a request's own memory (write_memory_hold) */
};

struct write_behind {
    struct fs *fs;
    pthread_mutex_t lock; /* the last of all locks but a table's; guards what follows */
    pthread_cond_t queued;
    struct write_segment *first_queued, *last_queued;
    struct write_segment *spare; /* by next */
    unsigned spare_count, total;
    bool stopped;
    pthread_t senders[SENDERS];
};

void write_behind_init_file(struct pending_writes *pending)
{
    pthread_condattr_t monotonic;
    (void)pthread_mutex_init(&pending->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pending->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

void write_behind_fini_file(struct pending_writes *pending)
{
    CHECK(!pending->first);
    (void)pthread_cond_destroy(&pending->changed);
    (void)pthread_mutex_destroy(&pending->lock);
}

/* ---- segments ---- */

/* For data that is held, or for a copy (NULL). NULL: there are too many. */
static struct write_segment *take_segment(struct write_behind *behind, uint8_t *data)
{
    {
        SCOPE_UNLOCK(&behind->lock);
        struct write_segment *segment = data ? NULL : behind->spare;
        if (!segment && behind->total == TOTAL_LIMIT)
            return NULL;
        if (segment) {
            behind->spare = segment->next;
            behind->spare_count--;
            return segment;
        }
        behind->total++;
    }
    struct write_segment *segment = check_alloc(calloc(1, sizeof *segment));
    segment->held = data != NULL;
    segment->data = data ? data : write_memory_take_segment();
    if (!segment->data)
        segment->data = check_alloc(aligned_alloc(PAGE_BYTES, SEGMENT_BYTES));
    return segment;
}

static void free_segment(struct write_segment *segment)
{
    if (segment->held)
        write_memory_drop(segment->data);
    else if (write_memory_place(segment->data, SEGMENT_BYTES) >= 0)
        write_memory_give_segment(segment->data);
    else
        free(segment->data);
    free(segment);
}

static void give_segment(struct write_behind *behind, struct write_segment *segment)
{
    {
        SCOPE_UNLOCK(&behind->lock);
        if (!segment->held && behind->spare_count < SPARE_LIMIT) {
            segment->next = behind->spare;
            behind->spare = segment;
            behind->spare_count++;
            return;
        }
        behind->total--;
    }
    free_segment(segment);
}

static void enqueue(struct write_behind *behind, struct write_segment *segment)
{
    SCOPE_UNLOCK(&behind->lock);
    segment->state = QUEUED;
    segment->next_queued = NULL;
    segment->previous_queued = behind->last_queued;
    if (behind->last_queued)
        behind->last_queued->next_queued = segment;
    else
        behind->first_queued = segment;
    behind->last_queued = segment;
    (void)pthread_cond_signal(&behind->queued);
}

static void unlink_queued_locked(struct write_behind *behind, struct write_segment *segment)
{
    *(segment->previous_queued ? &segment->previous_queued->next_queued : &behind->first_queued) = segment->next_queued;
    *(segment->next_queued ? &segment->next_queued->previous_queued : &behind->last_queued) = segment->previous_queued;
    segment->state = SENDING;
}

/* True: the segment was queued and is the caller's to send. */
static bool dequeue(struct write_behind *behind, struct write_segment *segment)
{
    SCOPE_UNLOCK(&behind->lock);
    if (segment->state != QUEUED)
        return false;
    unlink_queued_locked(behind, segment);
    return true;
}

/* ---- sending ---- */

/* Takes those that are done off the list, up to the oldest that is not: the length rises in the order of the writes. Returns
 * them by next. */
static struct write_segment *take_done_locked(struct open_file *file)
{
    struct pending_writes *pending = &file->pending;
    struct write_segment *taken = NULL, **end = &taken;
    uint32_t count = 0;
    while (pending->first && pending->first->state == DONE) {
        struct write_segment *segment = pending->first;
        pending->first = segment->next;
        if (segment->result == 0)
            open_file_wrote(file, segment->offset + segment->bytes, segment->size_epoch, segment->mtime_ns);
        *end = segment;
        end = &segment->next;
        count++;
    }
    *end = NULL;
    if (!pending->first)
        pending->last = NULL;
    pending->count -= count;
    uint64_t length = 0;
    for (const struct write_segment *left = pending->first; left; left = left->next)
        if (left->offset + left->bytes > length)
            length = left->offset + left->bytes;
    if (count)
        open_file_set_pending_length(file, length);
    return taken;
}

static void finish(struct fs *fs, struct write_segment *segment, int result)
{
    struct open_file *file = segment->file;
    if (result < 0) {
        log_error("a delayed write to inode %llu failed: %s", (unsigned long long)file->ino, strerror(-result));
        content_stamps_forget(fs->stamps, file->ino); /* the kernel's pages have what the cluster has not */
        open_file_fail(file, result);
    }
    struct write_segment *done;
    {
        SCOPE_UNLOCK(&file->pending.lock);
        segment->result = result;
        segment->state = DONE;
        done = take_done_locked(file);
        (void)pthread_cond_broadcast(&file->pending.changed);
    }
    while (done) {
        struct write_segment *next = done->next;
        give_segment(fs->behind, done);
        open_files_put(file);
        done = next;
    }
}

/* Sends a segment that is SENDING. If the program of this thread's request is being killed, somebody else's data may not go with it. */
static int send_segment(struct fs *fs, struct write_segment *segment, bool may_leave)
{
    int rc = write_path_send(fs, segment->file, segment->offset, segment->data, segment->bytes, &segment->size_epoch);
    if (rc == -EINTR && may_leave) {
        enqueue(fs->behind, segment);
        return rc;
    }
    finish(fs, segment, rc == -EINTR ? -EIO : rc);
    return 0;
}

static void *send_queued(void *argument)
{
    struct write_behind *behind = argument;
    for (;;) {
        struct write_segment *segment;
        {
            SCOPE_UNLOCK(&behind->lock);
            while (!behind->first_queued && !behind->stopped)
                (void)pthread_cond_wait(&behind->queued, &behind->lock);
            segment = behind->first_queued;
            if (!segment)
                return NULL;
            unlink_queued_locked(behind, segment);
        }
        (void)send_segment(behind->fs, segment, false);
    }
}

/* ---- waiting ---- */

static void stop_growing_locked(struct fs *fs, struct open_file *file)
{
    if (file->pending.growing)
        enqueue(fs->behind, file->pending.growing);
    file->pending.growing = NULL;
}

/* Sends the segment if nobody does yet, else waits until something has changed. The lock is let go meanwhile. 0; -EINTR. */
static int help_locked(struct fs *fs, struct open_file *file, struct write_segment *segment)
{
    struct pending_writes *pending = &file->pending;
    if (segment == pending->growing) {
        pending->growing = NULL;
        segment->state = SENDING;
    } else if (!dequeue(fs->behind, segment)) {
        int64_t until = clock_mono_ns() + INTERRUPT_STEP_NS;
        struct timespec at = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
        if (pthread_cond_timedwait(&pending->changed, &pending->lock, &at) == ETIMEDOUT && retry_is_let_go())
            return -EINTR;
        return 0;
    }
    (void)pthread_mutex_unlock(&pending->lock);
    int rc = send_segment(fs, segment, true);
    (void)pthread_mutex_lock(&pending->lock);
    return rc;
}

/* One with a number up to `newest` that is not acknowledged and meets the range, but not `except`; the oldest that nobody
 * is sending, if there is one. */
static struct write_segment *find_locked(const struct pending_writes *pending, uint64_t from, uint64_t end, uint64_t newest,
                                         const struct write_segment *except)
{
    struct write_segment *found = NULL;
    for (struct write_segment *segment = pending->first; segment && segment->number <= newest; segment = segment->next) {
        if (segment->state == DONE || segment == except || segment->offset >= end || from >= segment->offset + segment->bytes)
            continue;
        if (segment->state != SENDING)
            return segment;
        if (!found)
            found = segment;
    }
    return found;
}

int write_behind_settle(struct fs *fs, struct open_file *file, uint64_t from, uint64_t end)
{
    struct pending_writes *pending = &file->pending;
    struct write_segment *segment;
    if (pending->count == 0)
        return 0;
    SCOPE_UNLOCK(&pending->lock);
    uint64_t newest = pending->last_number;
    while ((segment = find_locked(pending, from, end, newest, NULL)) != NULL) {
        int rc = help_locked(fs, file, segment);
        if (rc < 0) {
            stop_growing_locked(fs, file); /* nobody else may come for it, at the end of the mount */
            return rc;
        }
    }
    return 0;
}

/* ---- taking over ---- */

/* How much a segment that begins there may hold. */
static uint32_t room_at(const struct fs *fs, uint64_t at)
{
    uint64_t room = SEGMENT_BYTES - at % SEGMENT_BYTES, in_chunk = fs->chunk_bytes - at % fs->chunk_bytes;
    return (uint32_t)(room < in_chunk ? room : in_chunk);
}

/* For a copy of the data, or, if the data would fill it, with the data itself, held. NULL: there are too many. */
static struct write_segment *begin_segment_locked(struct fs *fs, struct open_file *file, uint64_t at, const uint8_t *data,
                                                  size_t bytes)
{
    struct pending_writes *pending = &file->pending;
    uint32_t room = room_at(fs, at);
    /* Nothing is going to continue this one, so it need not wait for that. */
    if (pending->strays >= STRAYS && bytes >= HELD_LEAST && bytes <= SEGMENT_BYTES && bytes <= fs->chunk_bytes - at % fs->chunk_bytes)
        room = (uint32_t)bytes;
    bool hold = room >= HELD_LEAST && bytes >= room && write_memory_hold(data);
    if (!hold)
        room = room_at(fs, at);
    struct write_segment *segment = hold ? take_segment(fs->behind, (uint8_t *)(uintptr_t)data) : NULL;
    if (hold && !segment)
        write_memory_drop(data);
    if (!segment)
        segment = take_segment(fs->behind, NULL);
    if (!segment)
        return NULL;
    *segment = (struct write_segment){.file = open_files_hold(file),
                                      .number = ++pending->last_number,
                                      .offset = at,
                                      .room = room,
                                      .data = segment->data,
                                      .held = segment->held};
    *(pending->last ? &pending->last->next : &pending->first) = segment;
    pending->last = segment;
    pending->growing = segment;
    pending->count++;
    return segment;
}

static bool continues(const struct write_segment *segment, uint64_t at)
{
    return segment && at >= segment->offset && at <= segment->offset + segment->bytes && at < segment->offset + segment->room;
}

/* Copies, or holds, as much as fits. Returns how much; 0: there is no memory for it, write through; -EINTR. */
static int64_t put_some_locked(struct fs *fs, struct open_file *file, uint64_t at, const uint8_t *data, size_t bytes)
{
    struct pending_writes *pending = &file->pending;
    for (;;) {
        struct write_segment *segment = pending->growing;
        bool fits = continues(segment, at);
        /* One that grows but that this does not continue is sent beside this one, and may arrive after it. */
        struct write_segment *in_the_way = find_locked(pending, at, at + bytes, UINT64_MAX, fits ? segment : NULL);
        if (!in_the_way && !fits && pending->count >= FILE_LIMIT) {
            stop_growing_locked(fs, file);
            in_the_way = find_locked(pending, 0, UINT64_MAX, UINT64_MAX, NULL);
            CHECK(in_the_way); /* the oldest of the list is not done */
        }
        if (in_the_way) {
            int rc = help_locked(fs, file, in_the_way);
            if (rc < 0)
                return rc;
            continue;
        }
        if (!fits) {
            stop_growing_locked(fs, file);
            segment = begin_segment_locked(fs, file, at, data, bytes);
            if (!segment)
                return 0;
        }
        uint32_t inside = (uint32_t)(at - segment->offset), room = segment->room - inside;
        uint32_t n = bytes < room ? (uint32_t)bytes : room;
        if (!segment->held)
            memcpy(segment->data + inside, data, n);
        if (segment->bytes < inside + n)
            segment->bytes = inside + n;
        segment->mtime_ns = clock_wall_ns();
        open_file_accepted(file, at + n, segment->mtime_ns, !fits);
        if (segment->bytes == segment->room)
            stop_growing_locked(fs, file);
        return n;
    }
}

/* The caller holds the cut lock. */
static int64_t put(struct fs *fs, struct open_file *file, uint64_t offset, const uint8_t *data, size_t bytes)
{
    size_t done = 0;
    struct pending_writes *pending = &file->pending;
    SCOPE_UNLOCK(&pending->lock);
    pending->strays = offset == pending->next_offset ? 0 : pending->strays + 1;
    pending->next_offset = offset + bytes;
    while (done < bytes) {
        int64_t n = put_some_locked(fs, file, offset + done, data + done, bytes - done);
        if (n <= 0)
            return done ? (int64_t)done : n;
        done += (size_t)n;
    }
    return (int64_t)done;
}

int64_t write_behind_write(struct fs *fs, struct open_file *file, uint64_t offset, const void *data, size_t bytes)
{
    if (!write_path_fits(fs, offset, bytes))
        return -EFBIG;
    (void)pthread_rwlock_rdlock(&file->cut);
    int64_t done = put(fs, file, offset, data, bytes);
    (void)pthread_rwlock_unlock(&file->cut);
    return done == 0 && bytes ? write_path_write(fs, file, offset, data, bytes) : done;
}

/* ---- life ---- */

struct write_behind *write_behind_create(struct fs *fs)
{
    struct write_behind *behind = check_alloc(calloc(1, sizeof *behind));
    sigset_t all, before;
    behind->fs = fs;
    (void)pthread_mutex_init(&behind->lock, NULL);
    (void)pthread_cond_init(&behind->queued, NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < SENDERS; i++)
        CHECK(pthread_create(&behind->senders[i], NULL, send_queued, behind) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return behind;
}

void write_behind_destroy(struct write_behind *behind)
{
    {
        SCOPE_UNLOCK(&behind->lock);
        behind->stopped = true;
        (void)pthread_cond_broadcast(&behind->queued);
    }
    for (unsigned i = 0; i < SENDERS; i++)
        (void)pthread_join(behind->senders[i], NULL);
    while (behind->spare) {
        struct write_segment *segment = behind->spare;
        behind->spare = segment->next;
        free_segment(segment);
    }
    (void)pthread_cond_destroy(&behind->queued);
    (void)pthread_mutex_destroy(&behind->lock);
    free(behind);
}
