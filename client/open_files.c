/* SPDX-License-Identifier: Apache-2.0 */
#include "client/open_files.h"

#include <errno.h>
#include <stdlib.h>

#include "client/lock_records.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"

enum { BUCKETS = 4096 };

struct open_files {
    pthread_mutex_t lock;  /* taken after a file's lock, or alone */
    pthread_cond_t wakeup; /* monotonic clock */
    bool stopped;
    struct open_file *first_dirty, *last_dirty; /* oldest first; the list holds references */
    uint32_t count;
    struct open_file *buckets[BUCKETS];
};

/* ---- the table ---- */

struct open_files *open_files_create(void)
{
    struct open_files *table = check_alloc(calloc(1, sizeof *table));
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&table->lock, NULL);
    (void)pthread_cond_init(&table->wakeup, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return table;
}

static struct open_file **bucket_of(struct open_files *table, uint64_t ino)
{
    return &table->buckets[(ino * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

static struct open_file *find_locked(struct open_files *table, uint64_t ino)
{
    struct open_file *file = *bucket_of(table, ino);
    while (file && file->ino != ino)
        file = file->next_in_bucket;
    return file;
}

static struct open_file *make_locked(struct open_files *table, uint64_t ino)
{
    struct open_file *file = check_alloc(calloc(1, sizeof *file));
    pthread_rwlockattr_t prefer_writer;
    file->ino = ino;
    file->table = table;
    file->unsynced = true; /* by somebody before us, for all we know */
    (void)pthread_mutex_init(&file->append, NULL);
    (void)pthread_mutex_init(&file->publish, NULL);
    (void)pthread_mutex_init(&file->lease, NULL);
    (void)pthread_mutex_init(&file->lock, NULL);
    write_behind_init_file(&file->pending);
    /* Else a stream of writes would keep a truncation out for ever. */
    (void)pthread_rwlockattr_init(&prefer_writer);
    (void)pthread_rwlockattr_setkind_np(&prefer_writer, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_rwlock_init(&file->cut, &prefer_writer);
    (void)pthread_rwlockattr_destroy(&prefer_writer);
    struct open_file **bucket = bucket_of(table, ino);
    file->next_in_bucket = *bucket;
    *bucket = file;
    table->count++;
    return file;
}

struct open_file *open_files_get(struct open_files *table, uint64_t ino)
{
    SCOPE_UNLOCK(&table->lock);
    struct open_file *file = find_locked(table, ino);
    if (!file)
        file = make_locked(table, ino);
    file->references++;
    return file;
}

struct open_file *open_files_find(struct open_files *table, uint64_t ino)
{
    SCOPE_UNLOCK(&table->lock);
    struct open_file *file = find_locked(table, ino);
    if (file)
        file->references++;
    return file;
}

struct open_file *open_files_hold(struct open_file *file)
{
    SCOPE_UNLOCK(&file->table->lock);
    CHECK(file->references > 0);
    file->references++;
    return file;
}

static void destroy_file(struct open_file *file)
{
    chunk_locations_fini(&file->locations);
    lock_records_free(&file->lock_records);
    write_behind_fini_file(&file->pending);
    (void)pthread_mutex_destroy(&file->append);
    (void)pthread_mutex_destroy(&file->publish);
    (void)pthread_mutex_destroy(&file->lease);
    (void)pthread_mutex_destroy(&file->lock);
    (void)pthread_rwlock_destroy(&file->cut);
    free(file);
}

void open_files_put(struct open_file *file)
{
    struct open_files *table = file->table;
    {
        SCOPE_UNLOCK(&table->lock);
        CHECK(file->references > 0);
        if (--file->references)
            return;
        struct open_file **at = bucket_of(table, file->ino);
        while (*at != file)
            at = &(*at)->next_in_bucket;
        *at = file->next_in_bucket;
        table->count--;
    }
    destroy_file(file);
}

void open_files_destroy(struct open_files *table)
{
    if (!table)
        return;
    CHECK(table->count == 0);
    (void)pthread_cond_destroy(&table->wakeup);
    (void)pthread_mutex_destroy(&table->lock);
    free(table);
}

uint32_t open_files_take_all(struct open_files *table, struct open_file ***files)
{
    SCOPE_UNLOCK(&table->lock);
    uint32_t count = 0;
    *files = check_alloc(calloc(table->count ? table->count : 1, sizeof **files));
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (struct open_file *file = table->buckets[i]; file; file = file->next_in_bucket) {
            file->references++;
            (*files)[count++] = file;
        }
    }
    return count;
}

/* ---- attributes ---- */

static uint64_t length_locked(const struct open_file *file)
{
    uint64_t length = file->length_local > file->attr.size ? file->length_local : file->attr.size;
    return file->length_pending > length ? file->length_pending : length;
}

/* Some programs take a file without blocks for one hole, and do not read it. */
static uint64_t used_locked(const struct open_file *file, uint64_t known)
{
    return known == 0 && (file->dirty || file->length_pending) ? WIRE_BLOCK_BYTES : known;
}

static struct wire_attr attr_locked(const struct open_file *file)
{
    struct wire_attr attr = file->attr;
    attr.size = length_locked(file);
    attr.used_bytes = used_locked(file, attr.used_bytes);
    if (file->mtime_local) {
        attr.mtime = file->mtime_local;
        if (attr.ctime < attr.mtime)
            attr.ctime = attr.mtime;
    }
    return attr;
}

void open_files_overlay(struct open_files *table, struct wire_attr *attr)
{
    struct open_file *file = open_files_find(table, attr->ino);
    if (!file)
        return;
    {
        SCOPE_UNLOCK(&file->lock);
        if (file->attr.ino && file->attr.change >= attr->change) {
            *attr = attr_locked(file);
        } else if (file->attr.ino && file->attr.size_epoch == attr->size_epoch) {
            if (length_locked(file) > attr->size)
                attr->size = length_locked(file);
            attr->used_bytes = used_locked(file, attr->used_bytes);
            if (file->mtime_local)
                attr->mtime = file->mtime_local;
        }
    }
    open_files_put(file);
}

void open_file_enter_generation(struct open_file *file, uint32_t generation)
{
    SCOPE_UNLOCK(&file->lock);
    if (generation <= file->generation)
        return;
    if (file->generation != 0) {
        chunk_locations_clear(&file->locations);
        if (file->dirty) {
            file->error = -EIO;
            file->error_count++;
        }
        file->length_local = 0;
        file->mtime_local = 0;
        file->dirty = false;
        file->opens = 0;
    }
    file->generation = generation;
}

void open_file_learn(struct open_file *file, const struct wire_attr *attr)
{
    SCOPE_UNLOCK(&file->lock);
    if (file->attr.ino && attr->change < file->attr.change)
        return;
    if (file->attr.ino && attr->size_epoch != file->attr.size_epoch) {
        file->length_local = 0;
        chunk_locations_all_outdated(&file->locations);
    }
    file->attr = *attr;
}

void open_file_length_was_set(struct open_file *file)
{
    SCOPE_UNLOCK(&file->lock);
    file->length_local = 0;
}

struct wire_attr open_file_attr(struct open_file *file)
{
    SCOPE_UNLOCK(&file->lock);
    return attr_locked(file);
}

uint64_t open_file_length(struct open_file *file)
{
    SCOPE_UNLOCK(&file->lock);
    return length_locked(file);
}

/* ---- writes and errors ---- */

static void list_dirty(struct open_file *file)
{
    struct open_files *table = file->table;
    SCOPE_UNLOCK(&table->lock);
    if (file->listed_ns)
        return;
    file->references++;
    file->listed_ns = clock_mono_ns();
    file->next_dirty = NULL;
    if (table->first_dirty) { /* whoever waits, waits for that one, which is older */
        table->last_dirty->next_dirty = file;
    } else {
        table->first_dirty = file;
        (void)pthread_cond_signal(&table->wakeup);
    }
    table->last_dirty = file;
}

void open_file_wrote(struct open_file *file, uint64_t end, uint32_t size_epoch, int64_t mtime_ns)
{
    bool was_dirty;
    {
        SCOPE_UNLOCK(&file->lock);
        if (size_epoch == file->attr.size_epoch && end > file->length_local)
            file->length_local = end;
        if (mtime_ns > file->mtime_local)
            file->mtime_local = mtime_ns;
        was_dirty = file->dirty;
        file->dirty = true;
    }
    if (!was_dirty)
        list_dirty(file);
}

void open_file_accepted(struct open_file *file, uint64_t end, int64_t mtime_ns, bool begins)
{
    {
        SCOPE_UNLOCK(&file->lock);
        if (end > file->length_pending)
            file->length_pending = end;
        if (mtime_ns > file->mtime_local)
            file->mtime_local = mtime_ns;
        file->dirty = true;
    }
    if (begins)
        list_dirty(file);
}

void open_file_set_pending_length(struct open_file *file, uint64_t end)
{
    SCOPE_UNLOCK(&file->lock);
    file->length_pending = end;
}

void open_file_fail(struct open_file *file, int error)
{
    SCOPE_UNLOCK(&file->lock);
    file->error = error;
    file->error_count++;
}

int open_file_take_error(struct open_file *file, uint32_t *seen)
{
    SCOPE_UNLOCK(&file->lock);
    if (*seen == file->error_count)
        return 0;
    *seen = file->error_count;
    return file->error;
}

/* ---- publishing in the background ---- */

struct open_file *open_files_wait_dirty(struct open_files *table, int64_t age_ns)
{
    SCOPE_UNLOCK(&table->lock);
    while (!table->stopped) {
        struct open_file *file = table->first_dirty;
        if (!file) {
            (void)pthread_cond_wait(&table->wakeup, &table->lock);
            continue;
        }
        int64_t due = file->listed_ns + age_ns;
        if (clock_mono_ns() < due) {
            struct timespec at = {.tv_sec = due / NS_PER_S, .tv_nsec = due % NS_PER_S};
            (void)pthread_cond_timedwait(&table->wakeup, &table->lock, &at);
            continue;
        }
        table->first_dirty = file->next_dirty;
        file->listed_ns = 0;
        return file;
    }
    return NULL;
}

void open_files_stop(struct open_files *table)
{
    struct open_file *left;
    {
        SCOPE_UNLOCK(&table->lock);
        table->stopped = true;
        left = table->first_dirty;
        table->first_dirty = NULL;
        (void)pthread_cond_broadcast(&table->wakeup);
    }
    while (left) {
        struct open_file *file = left;
        left = file->next_dirty;
        open_files_put(file);
    }
}
