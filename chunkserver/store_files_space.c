/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the size goes. `pages` counts what is allocated in all files, `used` what of it holds something; the difference is
 * deleted files and cut blocks, which are used again, since memory touched before is much faster than memory never
 * touched, or given back when something else needs the space.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

enum { RECLAIM_PAGES = 4096, PREFAULT_BYTES = 1 << 20 };

bool store_files_reserve(struct files_store *f, uint64_t pages)
{
    if (f->pages + pages > f->limit_pages)
        return false;
    uint64_t before = atomic_fetch_add_explicit(&f->pages, pages, memory_order_relaxed);
    if (before + pages <= f->limit_pages)
        return true;
    f->pages -= pages;
    return false;
}

void store_files_unreserve(struct files_store *f, uint64_t pages)
{
    f->pages -= pages;
}

/* ---- deleted files ---- */

void store_files_free_name(uint64_t number, char name[FILES_NAME_LIMIT])
{
    (void)snprintf(name, FILES_NAME_LIMIT, "%" PRIu64, number);
}

uint64_t store_files_next_free(struct files_store *f)
{
    SCOPE_UNLOCK(&f->free_lock);
    return f->free_number++;
}

bool store_files_take_free(struct files_store *f, struct files_free *file)
{
    SCOPE_UNLOCK(&f->free_lock);
    if (f->free_count == 0)
        return false;
    *file = f->free_files[--f->free_count];
    f->free_pages -= file->pages;
    return true;
}

void store_files_put_free(struct files_store *f, uint64_t number, uint32_t pages)
{
    SCOPE_UNLOCK(&f->free_lock);
    if (f->free_count == f->free_room) {
        f->free_room = f->free_room ? 2 * f->free_room : 64;
        f->free_files = check_alloc(realloc(f->free_files, f->free_room * sizeof *f->free_files));
    }
    f->free_files[f->free_count++] = (struct files_free){number, pages};
    f->free_pages += pages;
}

/* A reader may have the file open and not know yet that it is gone: its memory must come back all the same. */
int store_files_unlink(int directory, const char *name)
{
    SCOPE_CLOSE int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, 0) < 0)
        log_warning("emptying a file that is no longer used: %s", strerror(errno));
    return unlinkat(directory, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static uint64_t drop_free_files(struct files_store *f, uint64_t pages)
{
    uint64_t got = 0;
    struct files_free file;
    while (got < pages && store_files_take_free(f, &file)) {
        char name[FILES_NAME_LIMIT];
        store_files_free_name(file.number, name);
        int rc = store_files_unlink(f->free, name);
        if (rc < 0) {
            log_error("%s/free/%s: %s", f->path, name, strerror(-rc));
            continue;
        }
        store_files_unreserve(f, file.pages);
        got += file.pages;
    }
    return got;
}

/* ---- cut blocks ---- */

static bool has_stale(const struct files_chunk *chunk)
{
    return chunk->state == FILES_LIVE && chunk->pages > chunk->used;
}

/* The chunk is locked exclusively. */
static uint64_t punch_stale(struct files_store *f, struct files_chunk *chunk)
{
    uint32_t bytes = f->geometry.block_bytes, blocks = chunk_format_blocks(&f->geometry), end, got = 0;
    for (uint32_t first = 0; first < blocks; first = end) {
        end = first;
        while (end < blocks && store_files_entry(chunk, end) == CHECKSUM_STALE)
            end++;
        if (end == first) {
            end++;
            continue;
        }
        if (fallocate(chunk->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      (off_t)(f->data_offset + (uint64_t)first * bytes), (off_t)(end - first) * bytes) < 0)
            continue;
        for (uint32_t block = first; block < end; block++)
            store_files_set_entry(chunk, block, CHECKSUM_NONE);
        if (store_files_save_entries(f, chunk, first, end - first) < 0)
            log_error("%s: the table of chunk %016" PRIx64 " cannot be written", f->path, chunk->id);
        got += end - first;
    }
    chunk->pages -= got;
    store_files_unreserve(f, got);
    return got;
}

static uint64_t punch_chunks(struct files_store *f, uint64_t pages)
{
    enum { BATCH = 64 };
    struct files_chunk *found[BATCH], *chunk;
    uint64_t got = 0;
    for (unsigned shard = 0; shard < FILES_SHARDS && got < pages; shard++) {
        uint64_t before = got;
        size_t count = store_files_collect(f, shard, has_stale, found, BATCH);
        for (size_t i = 0; i < count; i++) {
            if (got < pages && store_files_enter(f, found[i]->id, 0, true, &chunk) == 0) {
                got += punch_stale(f, chunk);
                store_files_leave(chunk);
            }
            store_files_chunk_release(found[i]);
        }
        if (count == BATCH && got > before)
            shard--; /* There may be more, and each pass leaves fewer. */
    }
    return got;
}

bool store_files_reclaim(struct files_store *f, uint64_t pages)
{
    if (f->pages <= f->used)
        return false;
    if (pages < RECLAIM_PAGES)
        pages = RECLAIM_PAGES;
    uint64_t got = drop_free_files(f, pages);
    if (got < pages && f->pages > f->used)
        got += punch_chunks(f, pages - got);
    return got > 0;
}

/* ---- memory touched ahead ---- */

/* A whole file whose blocks are all there and all free for use. */
static int fill_file(const struct files_store *f, int fd, const uint8_t *zeros, const _Atomic bool *stop)
{
    uint64_t end = (uint64_t)f->data_offset + f->geometry.chunk_bytes;
    uint32_t blocks = chunk_format_blocks(&f->geometry), table_bytes = chunk_format_table_bytes(&f->geometry);
    SCOPE_FREE uint64_t *table = check_alloc(calloc(1, table_bytes));
    for (uint32_t block = 0; block < blocks; block++)
        table[block] = CHECKSUM_STALE;
    struct chunk_page page;
    chunk_format_init(&page, 0, &f->geometry, 0, (uint32_t)((UINT64_C(1) << f->table_pages) - 1));
    int rc = 0;
    for (uint64_t at = f->data_offset; rc == 0 && at < end && !*stop; at += PREFAULT_BYTES)
        rc = store_files_pwrite(fd, zeros, end - at < PREFAULT_BYTES ? end - at : PREFAULT_BYTES, at);
    if (rc == 0)
        rc = store_files_pwrite(fd, table, table_bytes, CHUNK_FORMAT_PAGE);
    if (rc == 0)
        rc = store_files_pwrite(fd, &page, sizeof page, 0);
    return rc == 0 && *stop ? -EINTR : rc;
}

/* One more free file. Its pages; -ENOSPC: no space for it; -EINTR: told to stop; -errno. */
static int64_t prefault_file(struct files_store *f, const uint8_t *zeros, const _Atomic bool *stop)
{
    uint32_t pages = (f->data_offset + f->geometry.chunk_bytes) / CHUNK_FORMAT_PAGE;
    if (!store_files_reserve(f, pages))
        return -ENOSPC;
    char name[FILES_NAME_LIMIT];
    uint64_t number = store_files_next_free(f);
    store_files_free_name(number, name);
    SCOPE_CLOSE int fd = openat(f->free, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -errno : fill_file(f, fd, zeros, stop);
    if (rc < 0) {
        (void)unlinkat(f->free, name, 0);
        store_files_unreserve(f, pages);
        return rc;
    }
    store_files_put_free(f, number, pages);
    return pages;
}

int64_t store_files_prefault(struct store *store, const _Atomic bool *stop)
{
    struct files_store *f = (struct files_store *)store;
    if (f->durable)
        return 0; /* there is no memory to touch */
    SCOPE_FREE uint8_t *zeros = check_alloc(calloc(1, PREFAULT_BYTES));
    int64_t total = 0, pages;
    while ((pages = prefault_file(f, zeros, stop)) > 0)
        total += pages * CHUNK_FORMAT_PAGE;
    return pages == -ENOSPC || pages == -EINTR ? total : pages;
}
