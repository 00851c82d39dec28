/* SPDX-License-Identifier: Apache-2.0
 *
 * Which chunks there are: a hash table in shards, so that lookups of different chunks do not meet; and the clock of open
 * files, so that a million chunks can be served with fewer descriptors and mappings.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/log.h"

enum {
    SHARD_BUCKETS = 64,
    UNSAVED_TURNS = 8, /* of the clock, in which files with unsaved checksums are left open */
};

/* Ids count up; the low bits choose the shard, a mix of all the bucket. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

static void init_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attr;
    CHECK(pthread_rwlockattr_init(&attr) == 0);
    /* A steady stream of readers must not keep a writer waiting for ever. */
    CHECK(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
    CHECK(pthread_rwlock_init(lock, &attr) == 0);
    (void)pthread_rwlockattr_destroy(&attr);
}

void store_files_index_init(struct files_store *f, uint32_t open_limit)
{
    for (unsigned i = 0; i < FILES_SHARDS; i++) {
        CHECK(pthread_rwlock_init(&f->shards[i].lock, NULL) == 0);
        f->shards[i].mask = SHARD_BUCKETS - 1;
        f->shards[i].buckets = check_alloc(calloc(SHARD_BUCKETS, sizeof *f->shards[i].buckets));
    }
    for (unsigned i = 0; i < FILES_STRIPE_LOCKS; i++)
        init_lock(&f->stripes[i]);
    f->open_limit = open_limit;
    f->open_chunks = check_alloc(calloc(open_limit, sizeof(struct files_chunk *)));
}

void store_files_index_fini(struct files_store *f)
{
    for (unsigned i = 0; i < FILES_SHARDS; i++) {
        struct files_shard *shard = &f->shards[i];
        for (uint32_t b = 0; b <= shard->mask; b++) {
            struct files_chunk *next;
            for (struct files_chunk *c = shard->buckets[b]; c; c = next) {
                next = c->next;
                if (c->fd >= 0)
                    store_files_close(f, c, true);
                store_files_chunk_release(c);
            }
        }
        free(shard->buckets);
        (void)pthread_rwlock_destroy(&shard->lock);
    }
    for (unsigned i = 0; i < FILES_STRIPE_LOCKS; i++)
        (void)pthread_rwlock_destroy(&f->stripes[i]);
    free(f->open_chunks);
}

/* ---- chunks ---- */

struct files_chunk *store_files_chunk_create(chunk_id id)
{
    struct files_chunk *c = check_alloc(calloc(1, sizeof *c));
    c->id = id;
    c->fd = c->data_fd = -1;
    c->references = 1;
    init_lock(&c->lock);
    return c;
}

void store_files_chunk_release(struct files_chunk *chunk)
{
    if (--chunk->references > 0)
        return;
    CHECK(chunk->fd < 0);
    (void)pthread_rwlock_destroy(&chunk->lock);
    free(chunk->damaged);
    free(chunk);
}

static struct files_shard *shard_of(struct files_store *f, chunk_id id)
{
    return &f->shards[id % FILES_SHARDS];
}

struct files_chunk *store_files_find(struct files_store *f, chunk_id id)
{
    struct files_shard *shard = shard_of(f, id);
    (void)pthread_rwlock_rdlock(&shard->lock);
    struct files_chunk *c = shard->buckets[mix(id) & shard->mask];
    while (c && c->id != id)
        c = c->next;
    if (c)
        c->references++;
    (void)pthread_rwlock_unlock(&shard->lock);
    return c;
}

static void grow(struct files_shard *shard)
{
    uint32_t mask = shard->mask * 2 + 1;
    struct files_chunk **buckets = check_alloc(calloc((size_t)mask + 1, sizeof(struct files_chunk *)));
    for (uint32_t b = 0; b <= shard->mask; b++) {
        struct files_chunk *next;
        for (struct files_chunk *c = shard->buckets[b]; c; c = next) {
            next = c->next;
            struct files_chunk **head = &buckets[mix(c->id) & mask];
            c->next = *head;
            *head = c;
        }
    }
    free(shard->buckets);
    shard->buckets = buckets;
    shard->mask = mask;
}

void store_files_insert(struct files_store *f, struct files_chunk *chunk)
{
    struct files_shard *shard = shard_of(f, chunk->id);
    chunk->references++;
    (void)pthread_rwlock_wrlock(&shard->lock);
    if (shard->count > shard->mask)
        grow(shard);
    struct files_chunk **head = &shard->buckets[mix(chunk->id) & shard->mask];
    chunk->next = *head;
    *head = chunk;
    shard->count++;
    (void)pthread_rwlock_unlock(&shard->lock);
    if (chunk->state == FILES_LIVE)
        f->count++;
}

void store_files_remove(struct files_store *f, struct files_chunk *chunk)
{
    struct files_shard *shard = shard_of(f, chunk->id);
    (void)pthread_rwlock_wrlock(&shard->lock);
    struct files_chunk **at = &shard->buckets[mix(chunk->id) & shard->mask];
    while (*at != chunk) {
        CHECK(*at);
        at = &(*at)->next;
    }
    *at = chunk->next;
    shard->count--;
    (void)pthread_rwlock_unlock(&shard->lock);
    if (chunk->state == FILES_LIVE)
        f->count--;
    chunk->state = FILES_GONE;
    store_files_chunk_release(chunk);
}

size_t store_files_collect(struct files_store *f, unsigned shard, bool (*want)(const struct files_chunk *),
                           struct files_chunk **chunks, size_t room)
{
    struct files_shard *s = &f->shards[shard];
    size_t count = 0;
    (void)pthread_rwlock_rdlock(&s->lock);
    for (uint32_t b = 0; b <= s->mask && count < room; b++) {
        for (struct files_chunk *c = s->buckets[b]; c && count < room; c = c->next) {
            if (!want(c))
                continue;
            c->references++;
            chunks[count++] = c;
        }
    }
    (void)pthread_rwlock_unlock(&s->lock);
    return count;
}

/* ---- open files ---- */

void store_files_name(chunk_id id, char name[FILES_NAME_LIMIT])
{
    (void)snprintf(name, FILES_NAME_LIMIT, "%02x/%016" PRIx64, (unsigned)(id & 0xff), id);
}

static void close_file(struct files_store *f, struct files_chunk *chunk)
{
    if (!store_files_save_rest(chunk))
        log_error("%s: checksums of chunk %016" PRIx64 " cannot be written", f->path, chunk->id);
    atomic_store(&chunk->unsaved, 0);
    for (uint32_t page = 0; page < f->table_pages; page++)
        free(chunk->table[page]);
    free(chunk->table);
    if (chunk->data_fd != chunk->fd)
        (void)close(chunk->data_fd);
    (void)close(chunk->fd);
    chunk->table = NULL;
    chunk->fd = chunk->data_fd = -1;
}

/* A slot of the clock: an unused one, or that of a chunk which nobody touched since the hand came by. open_lock is held. */
static uint32_t find_slot(struct files_store *f)
{
    for (uint64_t turns = 0;; turns++) {
        uint32_t slot = f->open_hand;
        struct files_chunk *old = f->open_chunks[slot];
        f->open_hand = slot + 1 == f->open_limit ? 0 : slot + 1;
        if (!old)
            return slot;
        if (old->touched && turns < 2 * (uint64_t)f->open_limit) {
            old->touched = false;
        } else if (pthread_rwlock_trywrlock(&old->lock) == 0) {
            bool may_close = store_files_save_rest(old) || turns >= UNSAVED_TURNS * (uint64_t)f->open_limit;
            if (may_close) {
                close_file(f, old);
                f->open_chunks[slot] = NULL;
            }
            (void)pthread_rwlock_unlock(&old->lock);
            if (may_close)
                return slot;
        }
        if (turns % f->open_limit == f->open_limit - 1)
            (void)sched_yield();
    }
}

void store_files_track(struct files_store *f, struct files_chunk *chunk)
{
    (void)pthread_mutex_lock(&f->open_lock);
    chunk->slot = find_slot(f);
    chunk->touched = true;
    f->open_chunks[chunk->slot] = chunk;
    (void)pthread_mutex_unlock(&f->open_lock);
}

void store_files_close(struct files_store *f, struct files_chunk *chunk, bool tracked)
{
    if (tracked) {
        (void)pthread_mutex_lock(&f->open_lock);
        f->open_chunks[chunk->slot] = NULL;
        (void)pthread_mutex_unlock(&f->open_lock);
    }
    close_file(f, chunk);
}

static int open_file(struct files_store *f, struct files_chunk *chunk)
{
    char name[FILES_NAME_LIMIT];
    store_files_name(chunk->id, name);
    int fd = openat(f->chunks, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -EIO : -errno;
    int rc = store_files_load(f, chunk, fd);
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    store_files_track(f, chunk);
    return 0;
}

/* The chunk is locked. 1: it may be used; 0: it is not open; else why it may not be used. */
static int usable(const struct files_chunk *chunk, uint32_t version)
{
    if (chunk->state != FILES_LIVE)
        return chunk->state == FILES_QUARANTINED ? -EUCLEAN : -ENOMEDIUM;
    if (version && chunk->version != version)
        return -EKEYEXPIRED;
    return chunk->fd >= 0;
}

int store_files_enter(struct files_store *f, chunk_id id, uint32_t version, bool exclusive, struct files_chunk **chunk)
{
    struct files_chunk *c = store_files_find(f, id);
    if (!c)
        return -ENOMEDIUM;
    int rc = 0;
    while (rc == 0) {
        (void)(exclusive ? pthread_rwlock_wrlock(&c->lock) : pthread_rwlock_rdlock(&c->lock));
        rc = usable(c, version);
        if (rc > 0) {
            if (!c->touched)
                c->touched = true;
            *chunk = c;
            return 0;
        }
        (void)pthread_rwlock_unlock(&c->lock);
        if (rc < 0)
            break;
        (void)pthread_rwlock_wrlock(&c->lock);
        rc = usable(c, version);
        rc = rc == 0 ? open_file(f, c) : rc > 0 ? 0 : rc;
        (void)pthread_rwlock_unlock(&c->lock);
    }
    store_files_chunk_release(c);
    return rc;
}

void store_files_leave(struct files_chunk *chunk)
{
    (void)pthread_rwlock_unlock(&chunk->lock);
    store_files_chunk_release(chunk);
}

/* ---- stripes ---- */

void store_files_lock_stripes(struct files_store *f, const struct files_chunk *chunk, uint32_t first, uint32_t count,
                              bool exclusive, struct files_stripes *held)
{
    uint32_t from = first / FILES_STRIPE_BLOCKS, to = (first + count - 1) / FILES_STRIPE_BLOCKS;
    uint64_t base = mix(chunk->id);
    CHECK(to - from < 3);
    held->count = 0;
    for (uint32_t s = from; s <= to; s++)
        held->locks[held->count++] = &f->stripes[(base + s) % FILES_STRIPE_LOCKS];
    /* Ascending, so that nobody waits in a circle; only the end of the array turns the order round. */
    for (unsigned i = 1; i < held->count; i++) {
        for (unsigned j = i; j > 0 && held->locks[j] < held->locks[j - 1]; j--) {
            pthread_rwlock_t *t = held->locks[j];
            held->locks[j] = held->locks[j - 1];
            held->locks[j - 1] = t;
        }
    }
    for (unsigned i = 0; i < held->count; i++)
        (void)(exclusive ? pthread_rwlock_wrlock(held->locks[i]) : pthread_rwlock_rdlock(held->locks[i]));
}

void store_files_unlock_stripes(struct files_stripes *held)
{
    for (unsigned i = held->count; i > 0; i--)
        (void)pthread_rwlock_unlock(held->locks[i - 1]);
}
