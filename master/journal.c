/* SPDX-License-Identifier: Apache-2.0 */
#include "master/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"
#include "master/journal_replay.h"

/* Half of the second that is promised: the sync itself takes time too. */
#define SYNC_DELAY_NS (500 * NS_PER_MS)

struct journal {
    struct journal_io io;
    struct journal_files files;
    enum journal_sync mode;
    uint64_t epoch;

    /* Of the owner's thread: the group that is being filled, behind others that are full. */
    uint8_t *buffer;
    size_t room, used;
    size_t group; /* where the open group's header is to stand in the buffer */
    uint32_t group_records;
    bool group_open;
    uint64_t last_index;         /* appended */
    uint64_t offset;             /* in the file, where buffer[0] goes */
    uint64_t identity, previous; /* of the file; checksum of the group before the open one */
    uint64_t mark;               /* that the last group in the file carries */

    pthread_t syncer;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;  /* to the syncer: there is something to sync, or stop */
    pthread_cond_t done;  /* a sync has ended */
    int fd;               /* changes only while nothing is being synced */
    uint64_t written_index, synced_index;
    int64_t unsynced_since; /* monotonic; counts while written_index > synced_index */
    int error;              /* negative: poisoned */
    bool syncing, stop;
};

static ssize_t system_pwrite(void *context, int fd, const void *data, size_t bytes, off_t offset)
{
    (void)context;
    return pwrite(fd, data, bytes, offset);
}

static int system_fdatasync(void *context, int fd)
{
    (void)context;
    return fdatasync(fd);
}

static int system_ftruncate(void *context, int fd, off_t bytes)
{
    (void)context;
    return ftruncate(fd, bytes);
}

static int system_rename(void *context, int dir_fd, const char *from, const char *to)
{
    (void)context;
    return renameat(dir_fd, from, dir_fd, to) < 0 ? -1 : fsync(dir_fd);
}

static const struct journal_io system_io = {system_pwrite, system_fdatasync, system_ftruncate, system_rename,
                                             NULL};

/* ---- syncing ---- */

/* Returns when everything written at the time of the call is synced. Gives the lock up meanwhile. One sync at a
 * time: the kernel tells a write error to one of them only, and whoever relies on the data must be the one who
 * hears it. */
static int sync_locked(struct journal *journal)
{
    uint64_t target = journal->written_index;
    while (journal->syncing && journal->synced_index < target)
        (void)pthread_cond_wait(&journal->done, &journal->lock);
    if (journal->error < 0 || journal->synced_index >= target)
        return journal->error;
    int fd = journal->fd;
    target = journal->written_index;
    journal->syncing = true;
    journal->unsynced_since = clock_mono_ns();
    (void)pthread_mutex_unlock(&journal->lock);
    int rc = journal->io.fdatasync(journal->io.context, fd) < 0 ? -errno : 0;
    (void)pthread_mutex_lock(&journal->lock);
    journal->syncing = false;
    if (rc < 0)
        journal->error = rc;
    else
        journal->synced_index = target;
    (void)pthread_cond_broadcast(&journal->done);
    return rc;
}

static void wait_until_locked(struct journal *journal, int64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = deadline_ns / NS_PER_S, .tv_nsec = deadline_ns % NS_PER_S};
    (void)pthread_cond_timedwait(&journal->wake, &journal->lock, &deadline);
}

static void *run_syncer(void *argument)
{
    struct journal *journal = argument;
    SCOPE_UNLOCK(&journal->lock);
    while (!journal->stop) {
        int64_t due = journal->unsynced_since + SYNC_DELAY_NS;
        if (journal->error < 0 || journal->synced_index == journal->written_index) {
            (void)pthread_cond_wait(&journal->wake, &journal->lock);
        } else if (clock_mono_ns() < due) {
            wait_until_locked(journal, due);
        } else {
            int rc = sync_locked(journal);
            if (rc < 0)
                log_error("%s: the journal cannot be synced: %s", journal->files.dir, strerror(-rc));
        }
    }
    return NULL;
}

/* ---- writing ---- */

static int poison(struct journal *journal, int error)
{
    SCOPE_UNLOCK(&journal->lock);
    if (journal->error == 0)
        journal->error = error;
    return journal->error;
}

static int write_all(struct journal *journal, const uint8_t *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = journal->io.pwrite(journal->io.context, journal->fd, data, bytes, (off_t)journal->offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        data += n;
        bytes -= (size_t)n;
        journal->offset += (uint64_t)n;
    }
    return 0;
}

static uint8_t *reserve(struct journal *journal, size_t bytes)
{
    if (journal->used + bytes > journal->room) {
        while (journal->used + bytes > journal->room)
            journal->room = journal->room ? 2 * journal->room : 64 << 10;
        journal->buffer = check_alloc(realloc(journal->buffer, journal->room));
    }
    uint8_t *at = journal->buffer + journal->used;
    journal->used += bytes;
    return at;
}

static void open_group(struct journal *journal)
{
    journal->group = journal->used;
    journal->group_records = 0;
    journal->group_open = true;
    (void)reserve(journal, sizeof(struct journal_group_header));
}

static void close_group(struct journal *journal)
{
    const uint8_t *records = journal->buffer + journal->group + sizeof(struct journal_group_header);
    (void)pthread_mutex_lock(&journal->lock);
    uint64_t synced = journal->synced_index;
    (void)pthread_mutex_unlock(&journal->lock);
    struct journal_group_header header = {
        .magic = JOURNAL_GROUP_MAGIC,
        .offset = journal->offset + journal->group,
        .first_index = journal->last_index + 1 - journal->group_records,
        .records = journal->group_records,
        .bytes = (uint32_t)(journal->used - journal->group - sizeof header),
        .epoch = journal->epoch,
        .synced_index = synced,
        .previous = journal->previous,
    };
    header.checksum = journal_group_checksum(journal->identity, &header, records);
    memcpy(journal->buffer + journal->group, &header, sizeof header);
    journal->previous = header.checksum;
    journal->mark = synced;
    journal->group_open = false;
}

void journal_append(struct journal *journal, const struct journal_record *record)
{
    CHECK(record->body_bytes <= JOURNAL_BODY_LIMIT);
    if (journal->group_open && journal->used - journal->group > JOURNAL_GROUP_LIMIT)
        close_group(journal);
    if (!journal->group_open)
        open_group(journal);
    struct journal_record_header header = {
        .body_bytes = record->body_bytes, .type = record->type, .session = record->session, .slot = record->slot,
        .sequence = record->sequence, .time_ns = record->time_ns,
    };
    uint32_t bytes = journal_record_bytes(record->body_bytes);
    uint8_t *at = reserve(journal, bytes);
    memset(at + bytes - 8, 0, 8);
    memcpy(at, &header, sizeof header);
    if (record->body_bytes)
        memcpy(at + sizeof header, record->body, record->body_bytes);
    journal->group_records++;
    journal->last_index++;
}

/* Writes the closed groups; the caller holds no lock. */
static int write_groups(struct journal *journal)
{
    int rc = write_all(journal, journal->buffer, journal->used);
    journal->files.rows[journal->files.count - 1].bytes = journal->offset;
    journal->used = 0;
    return rc < 0 ? poison(journal, rc) : 0;
}

static int commit(struct journal *journal, bool sync)
{
    (void)pthread_mutex_lock(&journal->lock);
    int rc = journal->error;
    (void)pthread_mutex_unlock(&journal->lock);
    if (rc < 0)
        return rc;
    if (journal->group_open)
        close_group(journal);
    if (journal->used && (rc = write_groups(journal)) < 0)
        return rc;
    SCOPE_UNLOCK(&journal->lock);
    bool was_synced = journal->synced_index == journal->written_index;
    if (was_synced)
        journal->unsynced_since = clock_mono_ns();
    journal->written_index = journal->last_index;
    if (sync)
        return sync_locked(journal);
    if (was_synced && journal->synced_index < journal->written_index)
        (void)pthread_cond_signal(&journal->wake);
    return journal->error;
}

int journal_commit(struct journal *journal, bool need_sync)
{
    return commit(journal, need_sync && journal->mode == JOURNAL_SYNC_ALWAYS);
}

/* ---- opening, files, closing ---- */

static int start_file(struct journal *journal)
{
    struct journal_file_header header;
    bool named;
    int fd = journal_files_create(&journal->files, &journal->io, journal->last_index + 1, journal->epoch, &header,
                                  &named);
    if (fd < 0)
        return named ? poison(journal, fd) : fd;
    SCOPE_UNLOCK(&journal->lock);
    CHECK(!journal->syncing && journal->synced_index == journal->last_index);
    if (journal->fd >= 0)
        (void)close(journal->fd);
    journal->fd = fd;
    journal->offset = sizeof header;
    journal->identity = header.identity;
    journal->previous = header.checksum;
    journal->mark = journal->last_index;
    return 0;
}

/* Goes on behind what was replayed. That survived a crash of the program, perhaps in the page cache only, so it
 * is synced before anything relies on it. */
static int go_on(struct journal *journal, const struct journal_end *end, uint64_t after_index)
{
    journal->epoch = end->epoch + 1;
    journal->fd = end->fd;
    journal->last_index = end->last_index > after_index ? end->last_index : after_index;
    journal->written_index = journal->synced_index = journal->last_index;
    if (end->fd >= 0 && journal->io.fdatasync(journal->io.context, end->fd) < 0)
        return -errno;
    if (end->fd < 0 || end->last_index < after_index)
        return start_file(journal);
    journal->offset = end->offset;
    journal->identity = end->identity;
    journal->previous = end->previous;
    journal->mark = end->mark;
    return 0;
}

static void init_locks(struct journal *journal)
{
    pthread_condattr_t monotonic;
    (void)pthread_mutex_init(&journal->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&journal->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_cond_init(&journal->done, NULL);
}

static void destroy(struct journal *journal)
{
    if (journal->fd >= 0)
        (void)close(journal->fd);
    journal_files_close(&journal->files);
    (void)pthread_cond_destroy(&journal->done);
    (void)pthread_cond_destroy(&journal->wake);
    (void)pthread_mutex_destroy(&journal->lock);
    free(journal->buffer);
    free(journal);
}

int journal_open_with(const struct journal_io *io, const char *dir, enum journal_sync sync, uint64_t after_index,
                      int (*replay)(void *context, const struct journal_record *record), void *context, char *why,
                      size_t why_bytes, struct journal **journal)
{
    const struct journal_replay taker = {after_index, replay, context, why, why_bytes};
    struct journal_end end;
    struct journal *j = check_alloc(calloc(1, sizeof *j));
    j->io = io ? *io : system_io;
    j->mode = sync;
    j->fd = -1;
    init_locks(j);
    why[0] = '\0';
    int rc = journal_files_open(&j->files, dir, why, why_bytes);
    if (rc == 0)
        rc = journal_replay_all(&j->files, &j->io, &taker, &end);
    if (rc == 0)
        rc = go_on(j, &end, after_index);
    if (rc == 0)
        rc = -pthread_create(&j->syncer, NULL, run_syncer, j);
    if (rc < 0) {
        if (why[0] == '\0')
            (void)snprintf(why, why_bytes, "%s: the journal cannot be opened: %s", dir, strerror(-rc));
        destroy(j);
        return rc;
    }
    *journal = j;
    return 0;
}

int journal_open(const char *dir, enum journal_sync sync, uint64_t after_index,
                 int (*replay)(void *context, const struct journal_record *record), void *context, char *why,
                 size_t why_bytes, struct journal **journal)
{
    return journal_open_with(NULL, dir, sync, after_index, replay, context, why, why_bytes, journal);
}

int journal_rotate(struct journal *journal)
{
    int rc = commit(journal, true);
    if (rc < 0 || journal->files.rows[journal->files.count - 1].first_index == journal->last_index + 1)
        return rc;
    return start_file(journal);
}

int journal_drop_before(struct journal *journal, uint64_t index)
{
    size_t count = 0;
    while (count + 1 < journal->files.count && journal->files.rows[count + 1].first_index <= index)
        count++;
    return journal_files_remove(&journal->files, count);
}

uint64_t journal_last_index(const struct journal *journal)
{
    return journal->last_index;
}

uint64_t journal_synced_index(struct journal *journal)
{
    SCOPE_UNLOCK(&journal->lock);
    return journal->synced_index;
}

uint64_t journal_epoch(const struct journal *journal)
{
    return journal->epoch;
}

uint64_t journal_bytes(const struct journal *journal)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < journal->files.count; i++)
        sum += journal->files.rows[i].bytes;
    return sum;
}

/* An empty group whose mark covers all records, so that damage to them is told from a lost tail. */
static int write_mark(struct journal *journal)
{
    if (journal->mark == journal->last_index)
        return 0;
    open_group(journal);
    close_group(journal);
    int rc = write_groups(journal);
    if (rc == 0 && journal->io.fdatasync(journal->io.context, journal->fd) < 0)
        rc = -errno;
    return rc;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    int rc = commit(journal, true);
    (void)pthread_mutex_lock(&journal->lock);
    journal->stop = true;
    (void)pthread_cond_signal(&journal->wake);
    (void)pthread_mutex_unlock(&journal->lock);
    (void)pthread_join(journal->syncer, NULL);
    if (rc == 0)
        rc = write_mark(journal);
    if (rc < 0)
        log_error("%s: the end of the journal could not be written: %s", journal->files.dir, strerror(-rc));
    destroy(journal);
}
