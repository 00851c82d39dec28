/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading: checksums come from the table, data straight from the file; blocks without data are zeros. Nothing is verified here
 * unless asked: the reader at the other end does it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/wire_schema.h"

void store_files_note_damage(struct files_store *f, struct files_chunk *chunk, uint32_t block)
{
    {
        SCOPE_UNLOCK(&f->table_lock);
        if (!chunk->damaged)
            __atomic_store_n(&chunk->damaged, check_alloc(calloc(1, CHUNK_FORMAT_BLOCKS_LIMIT / 8)), __ATOMIC_RELEASE);
        uint8_t bit = (uint8_t)(1u << block % 8);
        if (chunk->damaged[block / 8] & bit)
            return;
        chunk->damaged[block / 8] |= bit;
    }
    log_error("%s: block %" PRIu32 " of chunk %016" PRIx64 " version %" PRIu32 " does not match its checksum", f->path,
              block, chunk->id, chunk->version);
    if (f->watch.damaged)
        f->watch.damaged(f->watch.context, chunk->id, chunk->version);
}

void store_files_forget_damage(struct files_store *f, struct files_chunk *chunk, uint32_t first, uint32_t count)
{
    if (!__atomic_load_n(&chunk->damaged, __ATOMIC_RELAXED))
        return;
    SCOPE_UNLOCK(&f->table_lock);
    for (uint32_t block = first; block < first + count; block++)
        chunk->damaged[block / 8] &= (uint8_t) ~(1u << block % 8);
}

bool store_files_is_damaged(struct files_store *f, const struct files_chunk *chunk)
{
    if (!__atomic_load_n(&chunk->damaged, __ATOMIC_RELAXED))
        return false;
    SCOPE_UNLOCK(&f->table_lock);
    for (uint32_t i = 0; i < CHUNK_FORMAT_BLOCKS_LIMIT / 8; i++)
        if (chunk->damaged[i])
            return true;
    return false;
}

int store_files_check_header(struct store *store, chunk_id id)
{
    struct files_store *f = (struct files_store *)store;
    struct files_chunk *chunk;
    struct chunk_page page;
    const char *reason = "";
    int rc = store_files_enter(f, id, 0, false, &chunk);
    if (rc < 0)
        return rc;
    rc = store_files_pread(chunk->fd, &page, sizeof page, 0);
    if (rc == 0 && (chunk_format_check(&page, id, &f->geometry, &reason) < 0 || (uint32_t)page.version != chunk->version)) {
        log_error("%s: the header of chunk %016" PRIx64 " is damaged: %s", f->path, id, reason);
        store_files_note_damage(f, chunk, 0);
        rc = -EUCLEAN;
    }
    store_files_leave(chunk);
    return rc;
}

static int verify(struct files_store *f, struct files_chunk *chunk, uint32_t first, uint32_t count, const void *data,
                  const uint64_t *sums)
{
    int rc = 0;
    const uint8_t *at = (const uint8_t *)data;
    for (uint32_t i = 0; i < count; i++, at += f->geometry.block_bytes) {
        if (checksum_of(at, f->geometry.block_bytes) == sums[i])
            continue;
        store_files_note_damage(f, chunk, first + i);
        rc = -EUCLEAN;
    }
    return rc;
}

/* The blocks are locked. */
static int read_blocks(struct files_store *f, struct files_chunk *chunk, const struct store_read *read, uint8_t *data,
                       uint64_t *sums)
{
    uint32_t bytes = f->geometry.block_bytes;
    uint32_t first = read->offset / bytes, count = read->length / bytes, with_data = 0;
    for (uint32_t i = 0; i < count; i++) {
        sums[i] = store_files_entry(chunk, first + i);
        with_data += sums[i] >= CHECKSUM_FIRST;
    }
    int rc = 0;
    if (with_data)
        rc = store_files_read_data(f, chunk, data, read->length, read->offset);
    for (uint32_t i = 0; i < count && with_data < count; i++) {
        if (sums[i] >= CHECKSUM_FIRST)
            continue;
        memset(data + (size_t)i * bytes, 0, bytes);
        sums[i] = checksum_of_zero_block();
    }
    if (rc == 0 && read->verify)
        rc = verify(f, chunk, first, count, data, sums);
    return rc;
}

static int read_nothing(const struct files_store *f, const struct store_read *read, void *data, uint64_t *sums)
{
    memset(data, 0, read->length);
    for (uint32_t i = 0; i < read->length / f->geometry.block_bytes; i++)
        sums[i] = checksum_of_zero_block();
    return 0;
}

int store_files_read(struct store *store, const struct store_read *read, void *data, uint64_t *sums)
{
    struct files_store *f = (struct files_store *)store;
    struct files_chunk *chunk;
    struct files_stripes held;
    uint32_t bytes = f->geometry.block_bytes;
    if (read->offset % bytes || read->length % bytes || read->length == 0 || read->length > WIRE_PAYLOAD_LIMIT ||
        read->offset > f->geometry.chunk_bytes || read->length > f->geometry.chunk_bytes - read->offset)
        return -EINVAL;
    int rc = store_files_enter(f, read->id, read->version, false, &chunk);
    if (rc == -ENOMEDIUM && read->absent_ok)
        return read_nothing(f, read, data, sums);
    if (rc < 0)
        return rc;
    store_files_lock_stripes(f, chunk, read->offset / bytes, read->length / bytes, false, &held);
    rc = read_blocks(f, chunk, read, data, sums);
    store_files_unlock_stripes(&held);
    store_files_leave(chunk);
    return rc;
}

int store_files_read_map(struct store *store, chunk_id id, uint32_t version, uint8_t *bits)
{
    struct files_store *f = (struct files_store *)store;
    struct files_chunk *chunk;
    int rc = store_files_enter(f, id, version, false, &chunk);
    if (rc < 0)
        return rc;
    uint32_t blocks = chunk_format_blocks(&f->geometry);
    memset(bits, 0, (blocks + 7) / 8);
    for (uint32_t i = 0; i < blocks; i++)
        if (store_files_entry(chunk, i) >= CHECKSUM_FIRST)
            bits[i / 8] |= (uint8_t)(1u << i % 8);
    store_files_leave(chunk);
    return 0;
}
