/* SPDX-License-Identifier: Apache-2.0
 *
 * The checksum table of an open chunk: pages of it in memory, written through to the file.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "chunkserver/store_aio.h"
#include "chunkserver/store_files.h"
#include "common/check.h"

int store_files_pread(int fd, void *data, size_t bytes, uint64_t offset)
{
    uint8_t *at = (uint8_t *)data;
    while (bytes) {
        ssize_t n = pread(fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int store_files_pwrite(int fd, const void *data, size_t bytes, uint64_t offset)
{
    const uint8_t *at = (const uint8_t *)data;
    while (bytes) {
        ssize_t n = pwrite(fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        at += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int store_files_read_data(const struct files_store *f, const struct files_chunk *chunk, void *data, size_t bytes,
                          uint64_t offset)
{
    return f->durable ? store_aio_read(chunk->data_fd, data, bytes, f->data_offset + offset)
                      : store_files_pread(chunk->fd, data, bytes, f->data_offset + offset);
}

int store_files_settle(const struct files_store *f, const struct files_chunk *chunk)
{
    return f->durable && fdatasync(chunk->fd) < 0 ? -errno : 0;
}

int store_files_settle_names(const struct files_store *f, int directory)
{
    return f->durable && fsync(directory) < 0 ? -errno : 0;
}

static uint64_t page_offset(uint32_t page)
{
    return CHUNK_FORMAT_PAGE + (uint64_t)page * CHUNK_FORMAT_PAGE;
}

int store_files_load(struct files_store *f, struct files_chunk *chunk, int fd)
{
    uint64_t **table = check_alloc(calloc(f->table_pages, sizeof *table));
    int rc = 0;
    for (uint32_t page = 0; page < f->table_pages && rc == 0; page++) {
        if (!(chunk->table_pages >> page & 1))
            continue;
        table[page] = check_alloc(malloc(CHUNK_FORMAT_PAGE));
        rc = store_files_pread(fd, table[page], CHUNK_FORMAT_PAGE, page_offset(page));
    }
    int data_fd = rc == 0 && f->durable ? store_aio_open(fd) : fd;
    if (data_fd < 0)
        rc = data_fd;
    if (rc < 0) {
        for (uint32_t page = 0; page < f->table_pages; page++)
            free(table[page]);
        free(table);
        return rc;
    }
    chunk->table = table;
    chunk->fd = fd;
    chunk->data_fd = data_fd;
    return 0;
}

bool store_files_save_rest(struct files_chunk *chunk)
{
    uint32_t unsaved = atomic_load(&chunk->unsaved);
    for (uint32_t number = 0; unsaved >> number && number < 32; number++) {
        const uint64_t *page = store_files_table_page(chunk, number * CHUNK_FORMAT_PAGE_ENTRIES);
        if (!(unsaved >> number & 1))
            continue;
        /* Before it is written: an entry that fails meanwhile sets it again. */
        atomic_fetch_and(&chunk->unsaved, ~(1u << number));
        if (page && store_files_pwrite(chunk->fd, page, CHUNK_FORMAT_PAGE, page_offset(number)) < 0)
            atomic_fetch_or(&chunk->unsaved, 1u << number);
    }
    return atomic_load(&chunk->unsaved) == 0;
}

int store_files_save_entries(struct files_store *f, struct files_chunk *chunk, uint32_t first, uint32_t count)
{
    (void)f;
    (void)store_files_save_rest(chunk);
    while (count) {
        uint32_t in_page = first % CHUNK_FORMAT_PAGE_ENTRIES, n = CHUNK_FORMAT_PAGE_ENTRIES - in_page;
        const uint64_t *page = store_files_table_page(chunk, first);
        n = n < count ? n : count;
        if (page) {
            int rc = store_files_pwrite(chunk->fd, page + in_page, 8 * (size_t)n, CHUNK_FORMAT_PAGE + 8 * (uint64_t)first);
            if (rc < 0) {
                atomic_fetch_or(&chunk->unsaved, 1u << first / CHUNK_FORMAT_PAGE_ENTRIES);
                return rc;
            }
        }
        first += n;
        count -= n;
    }
    return 0;
}

int store_files_add_table_page(struct files_store *f, struct files_chunk *chunk, uint32_t page)
{
    uint32_t pages = chunk->table_pages | 1u << page;
    uint64_t word = chunk_format_seal(chunk->id, CHUNK_SEAL_TABLE, pages);
    uint64_t *entries = check_alloc(calloc(1, CHUNK_FORMAT_PAGE));
    (void)f;
    int rc = store_files_pwrite(chunk->fd, entries, CHUNK_FORMAT_PAGE, page_offset(page));
    if (rc == 0)
        rc = store_files_pwrite(chunk->fd, &word, sizeof word, offsetof(struct chunk_page, table_pages));
    if (rc < 0) {
        free(entries);
        return rc;
    }
    chunk->table_pages = pages;
    __atomic_store_n(&chunk->table[page], entries, __ATOMIC_RELEASE);
    return 0;
}
