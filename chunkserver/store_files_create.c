/* SPDX-License-Identifier: Apache-2.0
 *
 * How chunk files come and go. A file is made ready in DIR/free, where everything is free after a crash, gets its version last,
 * and is then moved to its place. It goes the other way round: without a version first, then moved. Nobody is ever
 * left with a file that might be a chunk or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/wire_schema.h"

static off_t file_bytes(const struct files_store *f)
{
    return (off_t)f->data_offset + (off_t)f->geometry.chunk_bytes;
}

static int save_version(struct files_chunk *chunk, uint32_t version)
{
    uint64_t word = chunk_format_seal(chunk->id, CHUNK_SEAL_VERSION, version);
    return store_files_pwrite(chunk->fd, &word, sizeof word, offsetof(struct chunk_page, version));
}

static int save_header(struct files_store *f, struct files_chunk *chunk)
{
    struct chunk_page page;
    chunk_format_init(&page, chunk->id, &f->geometry, 0, chunk->table_pages);
    page.lives = chunk_format_seal(chunk->id, CHUNK_SEAL_LIVES, chunk->lives);
    return store_files_pwrite(chunk->fd, &page, CHUNK_FORMAT_HEADER_BYTES, 0);
}

/* ---- making ---- */

/* Marks what a deleted chunk left in its blocks as void, and puts a new header before it. */
static int renew(struct files_store *f, struct files_chunk *chunk)
{
    for (uint32_t page = 0; page < f->table_pages; page++) {
        uint32_t first = page * CHUNK_FORMAT_PAGE_ENTRIES, found = 0;
        uint64_t *entries = chunk->table[page];
        for (uint32_t i = 0; entries && i < CHUNK_FORMAT_PAGE_ENTRIES; i++) {
            if (entries[i] < CHECKSUM_FIRST)
                continue;
            entries[i] = CHECKSUM_STALE;
            found++;
        }
        int rc = found ? store_files_save_entries(f, chunk, first, CHUNK_FORMAT_PAGE_ENTRIES) : 0;
        if (rc < 0)
            return rc;
    }
    chunk->used = 1 + (uint32_t)__builtin_popcount(chunk->table_pages);
    return save_header(f, chunk);
}

/* Opens a deleted chunk's file for a new chunk. -EUCLEAN: it is not fit for that. */
static int reuse(struct files_store *f, struct files_chunk *chunk, const struct files_free *file)
{
    char name[FILES_NAME_LIMIT];
    const char *reason;
    struct stat st;
    struct chunk_page page;
    store_files_free_name(file->number, name);
    int fd = openat(f->free, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -EUCLEAN;
    if (fstat(fd, &st) < 0 || st.st_size != file_bytes(f) || store_files_pread(fd, &page, sizeof page, 0) < 0 ||
        chunk_format_check(&page, page.id, &f->geometry, &reason) < 0) {
        (void)close(fd);
        return -EUCLEAN;
    }
    chunk->table_pages = (uint32_t)page.table_pages;
    if (store_files_load(f, chunk, fd) < 0) {
        (void)close(fd);
        return -EUCLEAN;
    }
    chunk->number = file->number;
    chunk->pages = file->pages;
    chunk->lives = (uint32_t)page.lives + 1;
    if (renew(f, chunk) == 0)
        return 0;
    store_files_close(f, chunk, false);
    return -EUCLEAN;
}

static int make_file(struct files_store *f, struct files_chunk *chunk)
{
    char name[FILES_NAME_LIMIT];
    if (!store_files_reserve(f, 1))
        return -ENOSPC;
    chunk->table_pages = 0;
    chunk->lives = 0;
    chunk->number = store_files_next_free(f);
    store_files_free_name(chunk->number, name);
    int rc = 0, fd = openat(f->free, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, file_bytes(f)) < 0)
        rc = -errno;
    if (rc == 0)
        rc = store_files_load(f, chunk, fd);
    if (rc == 0) {
        chunk->pages = 1;
        chunk->used = 1;
        rc = save_header(f, chunk);
        if (rc == 0)
            return 0;
        store_files_close(f, chunk, false);
        fd = -1;
    }
    (void)unlinkat(f->free, name, 0);
    if (fd >= 0)
        (void)close(fd);
    store_files_unreserve(f, 1);
    return rc;
}

int store_files_build(struct files_store *f, chunk_id id, struct files_chunk **chunk)
{
    struct files_chunk *c = store_files_chunk_create(id);
    struct files_free file;
    int rc = -EUCLEAN;
    c->state = FILES_GONE;
    while (rc < 0 && store_files_take_free(f, &file)) {
        rc = reuse(f, c, &file);
        if (rc < 0) {
            char name[FILES_NAME_LIMIT];
            store_files_free_name(file.number, name);
            if (store_files_unlink(f->free, name) == 0)
                store_files_unreserve(f, file.pages);
        }
    }
    if (rc < 0)
        rc = make_file(f, c);
    if (rc < 0) {
        store_files_chunk_release(c);
        return rc;
    }
    f->used += c->used;
    *chunk = c;
    return 0;
}

/* The names in DIR/chunks/FOLDER, and its own. */
static int settle_place(const struct files_store *f, const char *folder)
{
    if (!f->durable)
        return 0;
    SCOPE_CLOSE int fd = openat(f->chunks, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -errno : store_files_settle_names(f, fd);
    return rc < 0 ? rc : store_files_settle_names(f, f->chunks);
}

int store_files_install(struct files_store *f, struct files_chunk *chunk, uint32_t version)
{
    char from[FILES_NAME_LIMIT], to[FILES_NAME_LIMIT];
    store_files_free_name(chunk->number, from);
    store_files_name(chunk->id, to);
    char folder[3] = {to[0], to[1], '\0'};
    int rc = save_version(chunk, version);
    if (rc == 0)
        rc = store_files_settle(f, chunk);
    if (rc < 0)
        return rc;
    rc = renameat(f->free, from, f->chunks, to);
    if (rc < 0 && errno == ENOENT) {
        (void)mkdirat(f->chunks, folder, 0700);
        rc = renameat(f->free, from, f->chunks, to);
    }
    if (rc == 0) {
        rc = settle_place(f, folder);
        /* What cannot be kept is not promised. */
        if (rc < 0 && renameat(f->chunks, to, f->free, from) == 0)
            return save_version(chunk, 0) < 0 ? -EIO : rc;
    }
    if (rc < 0) {
        rc = -errno;
        return save_version(chunk, 0) < 0 ? -EIO : rc;
    }
    chunk->version = version;
    chunk->state = FILES_LIVE;
    store_files_track(f, chunk);
    store_files_insert(f, chunk);
    return 0;
}

static void close_as_free(struct files_store *f, struct files_chunk *chunk, bool tracked)
{
    store_files_close(f, chunk, tracked);
    f->used -= chunk->used;
    store_files_put_free(f, chunk->number, chunk->pages);
}

void store_files_discard(struct files_store *f, struct files_chunk *chunk)
{
    close_as_free(f, chunk, false);
    store_files_chunk_release(chunk);
}

int store_files_retire(struct files_store *f, struct files_chunk *chunk)
{
    char from[FILES_NAME_LIMIT], to[FILES_NAME_LIMIT];
    chunk->number = store_files_next_free(f);
    store_files_name(chunk->id, from);
    store_files_free_name(chunk->number, to);
    int rc = save_version(chunk, 0);
    if (rc == 0)
        rc = store_files_settle(f, chunk);
    if (rc < 0)
        return rc;
    if (renameat(f->chunks, from, f->free, to) < 0) {
        rc = -errno;
        return save_version(chunk, chunk->version) < 0 ? -EIO : rc;
    }
    /* Before the file is used again, it must have left its old place for good. */
    if (store_files_settle_names(f, f->free) < 0)
        log_error("%s/free: %s", f->path, strerror(errno));
    close_as_free(f, chunk, true);
    store_files_remove(f, chunk);
    return 0;
}

int store_files_create_absent(struct files_store *f, chunk_id id, uint32_t version)
{
    SCOPE_UNLOCK(&f->create_lock);
    struct files_chunk *chunk = store_files_find(f, id);
    if (!chunk) {
        int rc = store_files_build(f, id, &chunk);
        if (rc < 0)
            return rc;
        rc = store_files_install(f, chunk, version);
        if (rc < 0) {
            store_files_discard(f, chunk);
            return rc;
        }
    }
    store_files_chunk_release(chunk);
    return 0;
}

/* ---- what the master commands ---- */

/* Readers that share the file must not take what is about to be cut off for zeros that somebody wrote. */
static int warn_sharers(struct files_chunk *chunk)
{
    uint64_t lives;
    int rc = store_files_pread(chunk->fd, &lives, sizeof lives, offsetof(struct chunk_page, lives));
    lives = chunk_format_seal(chunk->id, CHUNK_SEAL_LIVES, (uint32_t)lives + 1);
    return rc < 0 ? rc : store_files_pwrite(chunk->fd, &lives, sizeof lives, offsetof(struct chunk_page, lives));
}

/* The chunk is locked exclusively. */
static int raise_version(struct files_store *f, struct files_chunk *chunk, uint32_t new_version, uint32_t keep_bytes)
{
    if (keep_bytes < f->geometry.chunk_bytes) {
        SCOPE_FREE void *scratch = check_alloc(aligned_alloc(CHUNK_FORMAT_PAGE, 2 * (size_t)f->geometry.block_bytes));
        int rc = warn_sharers(chunk);
        if (rc == 0)
            rc = store_files_zero(f, chunk, keep_bytes, f->geometry.chunk_bytes - keep_bytes, scratch);
        /* Who finds the new version relies on the zeros. */
        if (rc == 0)
            rc = store_files_settle(f, chunk);
        if (rc < 0)
            return rc;
    }
    int rc = save_version(chunk, new_version);
    if (rc == 0)
        rc = store_files_settle(f, chunk);
    if (rc == 0) {
        chunk->version = new_version;
        /* Damage is reported once for each version. */
        store_files_forget_damage(f, chunk, 0, chunk_format_blocks(&f->geometry));
    }
    return rc;
}

static int set_version_once(struct files_store *f, chunk_id id, uint32_t version, uint32_t new_version,
                            uint32_t keep_bytes, bool create)
{
    struct files_chunk *chunk;
    int rc = store_files_enter(f, id, 0, true, &chunk);
    if (rc == -ENOMEDIUM && create) {
        rc = store_files_create_absent(f, id, new_version);
        if (rc == 0)
            rc = store_files_enter(f, id, 0, true, &chunk);
    }
    if (rc < 0)
        return rc;
    if (chunk->version >= version && chunk->version < new_version)
        rc = raise_version(f, chunk, new_version, keep_bytes);
    else if (chunk->version != new_version)
        rc = -EKEYEXPIRED;
    store_files_leave(chunk);
    return rc;
}

int store_files_set_version(struct store *store, chunk_id id, uint32_t version, uint32_t new_version,
                            uint32_t keep_bytes, bool create)
{
    struct files_store *f = (struct files_store *)store;
    if (new_version == 0)
        return -EINVAL;
    int rc = set_version_once(f, id, version, new_version, keep_bytes, create);
    if (rc == -ENOSPC && store_files_reclaim(f, 1))
        rc = set_version_once(f, id, version, new_version, keep_bytes, create);
    return rc;
}

/* A quarantined file whose chunk is no longer wanted, or has been replaced. */
static int drop_quarantined(struct files_store *f, chunk_id id)
{
    struct files_chunk *chunk = store_files_find(f, id);
    char name[FILES_NAME_LIMIT];
    if (!chunk)
        return 0;
    (void)pthread_rwlock_wrlock(&chunk->lock);
    int rc = 0;
    (void)snprintf(name, sizeof name, "%016" PRIx64, id);
    if (chunk->state == FILES_QUARANTINED) {
        rc = store_files_unlink(f->quarantine, name);
        if (rc == 0) {
            f->pages -= chunk->pages;
            f->used -= chunk->used;
            store_files_remove(f, chunk);
        }
    }
    store_files_leave(chunk);
    return rc;
}

int store_files_delete(struct store *store, chunk_id id, uint32_t version)
{
    struct files_store *f = (struct files_store *)store;
    struct files_chunk *chunk;
    int rc = store_files_enter(f, id, version, true, &chunk);
    if (rc == -ENOMEDIUM || (rc == -EKEYEXPIRED && version == WIRE_QUARANTINED))
        return 0;
    if (rc == -EUCLEAN && (version == 0 || version == WIRE_QUARANTINED))
        return drop_quarantined(f, id);
    if (rc < 0)
        return rc;
    rc = store_files_retire(f, chunk);
    store_files_leave(chunk);
    return rc;
}

/* ---- copies from another server ---- */

struct store_copy {
    struct files_chunk *chunk;
    uint32_t version;
};

int store_files_copy_begin(struct store *store, chunk_id id, uint32_t version, struct store_copy **copy)
{
    struct files_store *f = (struct files_store *)store;
    struct files_chunk *chunk;
    if (version == 0)
        return -EINVAL;
    int rc = store_files_build(f, id, &chunk);
    if (rc == -ENOSPC && store_files_reclaim(f, 1))
        rc = store_files_build(f, id, &chunk);
    if (rc < 0)
        return rc;
    *copy = check_alloc(calloc(1, sizeof **copy));
    **copy = (struct store_copy){chunk, version};
    return 0;
}

int store_files_copy_write(struct store *store, struct store_copy *copy, const struct store_write *write)
{
    struct files_store *f = (struct files_store *)store;
    uint64_t wanted;
    if (write->length == 0 || write->length > WIRE_IO_LIMIT || write->offset > f->geometry.chunk_bytes ||
        write->length > f->geometry.chunk_bytes - write->offset || !write->data)
        return -EINVAL;
    int rc = store_files_put(f, copy->chunk, write, &wanted);
    if (rc == -ENOSPC && store_files_reclaim(f, wanted))
        rc = store_files_put(f, copy->chunk, write, &wanted);
    return rc;
}

/* Takes what is there under the id out of the way, unless it is newer. create_lock is held. */
static int make_way(struct files_store *f, const struct store_copy *copy)
{
    struct files_chunk *old;
    int rc = store_files_enter(f, copy->chunk->id, 0, true, &old);
    if (rc == -EUCLEAN)
        return drop_quarantined(f, copy->chunk->id);
    if (rc < 0)
        return rc == -ENOMEDIUM ? 0 : rc;
    rc = old->version > copy->version ? -EBUSY : store_files_retire(f, old);
    store_files_leave(old);
    return rc;
}

int store_files_copy_end(struct store *store, struct store_copy *copy, bool commit)
{
    struct files_store *f = (struct files_store *)store;
    int rc = -ECANCELED;
    if (commit) {
        SCOPE_UNLOCK(&f->create_lock);
        rc = make_way(f, copy);
        if (rc == 0)
            rc = store_files_install(f, copy->chunk, copy->version);
    }
    if (rc == 0)
        store_files_chunk_release(copy->chunk);
    else
        store_files_discard(f, copy->chunk);
    free(copy);
    return commit ? rc : 0;
}
