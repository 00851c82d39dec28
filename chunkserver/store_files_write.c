/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing: whole blocks go to the file at once, with the first and the last completed from what the file has. The order
 * is: intent, data, checksums, intent cleared. A process killed between them leaves an intent, and the next start
 * makes the checksums of those blocks anew. On a disk the intent is on the device before the data, and all of it before it
 * is cleared.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "chunkserver/store_aio.h"
#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/scope.h"
#include "common/wire_schema.h"

struct put {
    struct files_store *f;
    struct files_chunk *chunk;
    const struct store_write *write;
    uint32_t first, count; /* blocks */
    uint32_t fresh;        /* of them without a page in the file */
    int piece_count;
    struct iovec pieces[3];
    uint64_t sums[WIRE_BLOCKS_LIMIT];
};

/* The pages of the table that hold these blocks' entries. */
static int ensure_table(struct put *p)
{
    struct files_store *f = p->f;
    uint32_t last = (p->first + p->count - 1) / CHUNK_FORMAT_PAGE_ENTRIES;
    for (uint32_t page = p->first / CHUNK_FORMAT_PAGE_ENTRIES; page <= last; page++) {
        if (store_files_table_page(p->chunk, page * CHUNK_FORMAT_PAGE_ENTRIES))
            continue;
        SCOPE_UNLOCK(&f->table_lock);
        if (store_files_table_page(p->chunk, page * CHUNK_FORMAT_PAGE_ENTRIES))
            continue;
        if (!store_files_reserve(f, 1))
            return -ENOSPC;
        int rc = store_files_add_table_page(f, p->chunk, page);
        if (rc < 0) {
            store_files_unreserve(f, 1);
            return rc;
        }
        p->chunk->pages++;
        p->chunk->used++;
        f->used++;
    }
    return 0;
}

/* Completes a block of which only `bytes` at `from` are written. into is a whole block. */
static int complete_block(struct put *p, uint32_t block, uint32_t from, uint32_t bytes, const uint8_t *data, uint8_t *into,
                          uint64_t *sum)
{
    uint32_t block_bytes = p->f->geometry.block_bytes;
    uint64_t entry = store_files_entry(p->chunk, block);
    if (entry < CHECKSUM_FIRST) {
        memset(into, 0, block_bytes);
    } else {
        int rc = store_files_read_data(p->f, p->chunk, into, block_bytes, (uint64_t)block * block_bytes);
        if (rc < 0)
            return rc;
        if (checksum_of(into, block_bytes) != entry) {
            store_files_note_damage(p->f, p->chunk, block);
            return -EUCLEAN;
        }
    }
    if (data)
        memcpy(into + from, data, bytes);
    else
        memset(into + from, 0, bytes);
    *sum = checksum_of(into, block_bytes);
    return 0;
}

static void add_piece(struct put *p, void *data, size_t bytes)
{
    if (bytes)
        p->pieces[p->piece_count++] = (struct iovec){data, bytes};
}

/* What goes to the file, whole blocks of it, and their checksums. */
static int prepare(struct put *p)
{
    const struct store_write *w = p->write;
    uint32_t bytes = p->f->geometry.block_bytes, from = w->offset % bytes, left = w->length;
    const uint8_t *data = (const uint8_t *)w->data;
    uint8_t *scratch = (uint8_t *)w->scratch;
    uint32_t done = 0;
    if (from || left < bytes) {
        uint32_t n = bytes - from < left ? bytes - from : left;
        int rc = complete_block(p, p->first, from, n, data, scratch, &p->sums[0]);
        if (rc < 0)
            return rc;
        add_piece(p, scratch, bytes);
        data = data ? data + n : NULL;
        left -= n;
        done = 1;
    }
    CHECK(data || left == 0); /* zeros come as pieces of one block */
    uint32_t middle = left / bytes;
    if (middle) {
        memcpy(&p->sums[done], w->sums + 8 * (size_t)done, 8 * (size_t)middle);
        add_piece(p, (void *)(uintptr_t)data, (size_t)middle * bytes);
        data += (size_t)middle * bytes;
        left -= middle * bytes;
        done += middle;
    }
    if (left) {
        int rc = complete_block(p, p->first + done, 0, left, data, scratch + bytes, &p->sums[done]);
        if (rc < 0)
            return rc;
        add_piece(p, scratch + bytes, bytes);
    }
    return 0;
}

/* Blocks that are whole in the file; *rc says why not all. */
static uint32_t write_pieces(struct put *p, int *rc)
{
    uint64_t at = p->f->data_offset + (uint64_t)p->first * p->f->geometry.block_bytes;
    uint64_t done = 0, total = (uint64_t)p->count * p->f->geometry.block_bytes;
    struct iovec *piece = p->pieces;
    if (p->f->durable)
        return (uint32_t)(store_aio_write(p->chunk->data_fd, p->pieces, p->piece_count, at, rc) / p->f->geometry.block_bytes);
    *rc = 0;
    while (done < total) {
        ssize_t n = pwritev(p->chunk->fd, piece, p->piece_count, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            *rc = n < 0 ? -errno : -ENOSPC;
            break;
        }
        done += (uint64_t)n;
        size_t skip = (size_t)n;
        while (p->piece_count && skip >= piece->iov_len) {
            skip -= piece->iov_len;
            piece++;
            p->piece_count--;
        }
        if (p->piece_count) {
            piece->iov_base = (uint8_t *)piece->iov_base + skip;
            piece->iov_len -= skip;
        }
    }
    return (uint32_t)(done / p->f->geometry.block_bytes);
}

/* The first `done` blocks have new data; the pages of others that had none are given back. */
static int commit(struct put *p, uint32_t done)
{
    uint32_t fresh = 0, used = 0, bytes = p->f->geometry.block_bytes;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t block = p->first + i;
        uint64_t old = store_files_entry(p->chunk, block);
        if (i < done) {
            store_files_set_entry(p->chunk, block, p->sums[i]);
            fresh += old == CHECKSUM_NONE;
            used += old < CHECKSUM_FIRST;
        } else if (old == CHECKSUM_NONE) {
            (void)fallocate(p->chunk->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            (off_t)(p->f->data_offset + (uint64_t)block * bytes), bytes);
        }
    }
    if (used) {
        p->chunk->pages += fresh;
        p->chunk->used += used;
        p->f->used += used;
    }
    if (fresh < p->fresh)
        store_files_unreserve(p->f, p->fresh - fresh);
    store_files_forget_damage(p->f, p->chunk, p->first, done);
    return done ? store_files_save_entries(p->f, p->chunk, p->first, done) : 0;
}

int store_files_put(struct files_store *f, struct files_chunk *chunk, const struct store_write *write, uint64_t *wanted)
{
    uint32_t bytes = f->geometry.block_bytes;
    struct put p;
    p.f = f;
    p.chunk = chunk;
    p.write = write;
    p.first = write->offset / bytes;
    p.count = checksum_pieces(write->offset, write->length, bytes);
    p.fresh = 0;
    p.piece_count = 0;
    CHECK(p.count > 0 && p.count <= WIRE_BLOCKS_LIMIT);
    *wanted = p.count + 2;
    int rc = prepare(&p);
    if (rc == 0)
        rc = ensure_table(&p);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < p.count; i++)
        p.fresh += store_files_entry(chunk, p.first + i) == CHECKSUM_NONE;
    if (p.fresh && !store_files_reserve(f, p.fresh))
        return -ENOSPC;
    /* A copy that nobody sees yet is settled as a whole when it is installed. */
    bool seen = chunk->state == FILES_LIVE;
    uint32_t done = 0;
    unsigned intent = store_files_intent_begin(f, chunk->id, p.first, p.count);
    rc = seen ? store_files_intent_settle(f) : 0;
    if (rc == 0)
        done = write_pieces(&p, &rc);
    int saved = commit(&p, done);
    if (saved == 0 && seen && done)
        saved = store_files_settle(f, chunk);
    store_files_intent_end(f, intent);
    return rc < 0 ? rc : saved;
}

/* ---- zeros ---- */

/* Part of one block. What reads as zeros already needs no write, so this never needs space. */
static int zero_part(struct files_store *f, struct files_chunk *chunk, uint32_t offset, uint32_t length, void *scratch)
{
    uint64_t wanted;
    struct store_write part = {.offset = offset, .length = length, .scratch = scratch};
    if (store_files_entry(chunk, offset / f->geometry.block_bytes) < CHECKSUM_FIRST)
        return 0;
    return store_files_put(f, chunk, &part, &wanted);
}

int store_files_zero(struct files_store *f, struct files_chunk *chunk, uint32_t offset, uint32_t length, void *scratch)
{
    uint32_t bytes = f->geometry.block_bytes, end = offset + length, freed = 0;
    if (offset % bytes) {
        uint32_t n = bytes - offset % bytes < length ? bytes - offset % bytes : length;
        int rc = zero_part(f, chunk, offset, n, scratch);
        if (rc < 0)
            return rc;
        offset += n;
    }
    if (end % bytes && offset < end) {
        int rc = zero_part(f, chunk, end - end % bytes, end % bytes, scratch);
        if (rc < 0)
            return rc;
    }
    uint32_t first = offset / bytes, last = end / bytes;
    for (uint32_t block = first; block < last; block++) {
        if (store_files_entry(chunk, block) < CHECKSUM_FIRST)
            continue;
        store_files_set_entry(chunk, block, CHECKSUM_STALE);
        freed++;
    }
    chunk->used -= freed;
    f->used -= freed;
    if (last <= first)
        return 0;
    store_files_forget_damage(f, chunk, first, last - first);
    return store_files_save_entries(f, chunk, first, last - first);
}

/* ---- the operation ---- */

static int write_once(struct files_store *f, const struct store_write *write, uint64_t *wanted)
{
    uint32_t bytes = f->geometry.block_bytes, first = write->offset / bytes;
    uint32_t count = checksum_pieces(write->offset, write->length, bytes);
    bool whole = count > 2 * FILES_STRIPE_BLOCKS; /* only zeros can be so long */
    struct files_chunk *chunk;
    struct files_stripes held = {.count = 0};
    int rc = store_files_enter(f, write->id, write->version, whole, &chunk);
    if (rc == -ENOMEDIUM && write->create) {
        *wanted = 2 + chunk_format_table_bytes(&f->geometry) / CHUNK_FORMAT_PAGE;
        rc = store_files_create_absent(f, write->id, write->version);
        if (rc == 0)
            rc = store_files_enter(f, write->id, write->version, whole, &chunk);
    }
    if (rc < 0)
        return rc;
    if (!whole)
        store_files_lock_stripes(f, chunk, first, count, true, &held);
    if (write->data)
        rc = store_files_put(f, chunk, write, wanted);
    else
        rc = store_files_zero(f, chunk, write->offset, write->length, write->scratch);
    if (rc == 0 && !write->data)
        rc = store_files_settle(f, chunk);
    if (rc == 0 && write->blocks)
        *write->blocks = chunk->used - 1 - (uint32_t)__builtin_popcount(chunk->table_pages);
    store_files_unlock_stripes(&held);
    store_files_leave(chunk);
    return rc;
}

int store_files_write(struct store *store, const struct store_write *write)
{
    enum { TRIES = 16 };
    struct files_store *f = (struct files_store *)store;
    uint64_t wanted = 0;
    if (write->length == 0 || write->offset > f->geometry.chunk_bytes ||
        write->length > f->geometry.chunk_bytes - write->offset || (write->data && write->length > WIRE_IO_LIMIT))
        return -EINVAL;
    int rc = write_once(f, write, &wanted);
    for (int tries = 0; rc == -ENOSPC && tries < TRIES && store_files_reclaim(f, wanted); tries++)
        rc = write_once(f, write, &wanted);
    return rc;
}
