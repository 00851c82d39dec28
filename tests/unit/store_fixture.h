/* SPDX-License-Identifier: Apache-2.0
 *
 * A store of files in a directory of a test's own, in memory, and short forms of its operations.
 */
#ifndef CALF_STORE_FIXTURE_H
#define CALF_STORE_FIXTURE_H

#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chunkserver/store_files.h"
#include "common/checksum.h"
#include "common/wire_schema.h"
#include "scratch_dir.h"

enum { SMALL_CHUNK = 64 * 1024, LARGE_CHUNK = 64 << 20, BLOCK = WIRE_BLOCK_BYTES, FIXTURE_CLUSTER = 77 };

struct store_fixture {
    char path[SCRATCH_PATH];
    struct store *store;
    uint32_t chunk_bytes;
    struct store_files_options options;
    unsigned damaged; /* what the store's watch was told */
};

static inline void fixture_damaged(void *context, chunk_id id, uint32_t version)
{
    (void)id;
    (void)version;
    ((struct store_fixture *)context)->damaged++;
}

static inline int fixture_open(struct store_fixture *x)
{
    struct store_geometry geometry = {x->chunk_bytes, BLOCK};
    int rc = store_files_open(&x->options, &x->store);
    if (rc == 0 && !x->store->ready)
        rc = x->store->ops->adopt(x->store, FIXTURE_CLUSTER, &geometry);
    return rc;
}

/* The stores made from now on are those of a disk. */
static bool fixture_durable;

/* Their directories lie where a disk is. */
static inline void fixture_on_a_disk(void)
{
    fixture_durable = true;
    (void)setenv("TMPDIR", "/var/tmp", 1);
}

static inline void fixture_make(struct store_fixture *x, uint32_t chunk_bytes, uint64_t size)
{
    *x = (struct store_fixture){.chunk_bytes = chunk_bytes};
    scratch_make(x->path);
    x->options = (struct store_files_options){.path = x->path, .size_bytes = size, .watch = {fixture_damaged, x},
                                              .durable = fixture_durable};
    if (fixture_open(x) != 0)
        abort();
}

static inline void fixture_close(struct store_fixture *x)
{
    x->store->ops->destroy(x->store);
    x->store = NULL;
}

static inline void fixture_reopen(struct store_fixture *x)
{
    fixture_close(x);
    if (fixture_open(x) != 0)
        abort();
}

static inline int fixture_remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void fixture_remove(struct store_fixture *x)
{
    if (x->store)
        fixture_close(x);
    (void)nftw(x->path, fixture_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static _Alignas(4096) uint8_t fixture_scratch[2 * WIRE_BLOCK_BYTES];

/* data NULL: zeros. */
static inline int fixture_write(struct store_fixture *x, chunk_id id, uint32_t version, uint32_t offset,
                                uint32_t length, const void *data, bool create)
{
    uint64_t sums[WIRE_BLOCKS_LIMIT];
    if (data)
        checksum_range(data, offset, length, BLOCK, sums);
    struct store_write w = {.id = id, .version = version, .offset = offset, .length = length, .create = create,
                            .data = data, .sums = (const uint8_t *)sums, .scratch = fixture_scratch};
    return x->store->ops->write(x->store, &w);
}

/* Reads whole blocks and compares the checksums too: -EUCLEAN if one is wrong. */
static inline int fixture_read(struct store_fixture *x, chunk_id id, uint32_t version, uint32_t offset,
                               uint32_t length, void *data)
{
    uint64_t sums[WIRE_BLOCKS_LIMIT];
    struct store_read r = {.id = id, .version = version, .offset = offset, .length = length};
    int rc = x->store->ops->read(x->store, &r, data, sums);
    if (rc == 0 && checksum_verify_range(data, offset, length, BLOCK, (const uint8_t *)sums) >= 0)
        rc = -EUCLEAN;
    return rc;
}

static inline uint64_t fixture_used(struct store_fixture *x)
{
    struct store_usage usage;
    x->store->ops->usage(x->store, &usage);
    return usage.used_bytes;
}

/* The chunk's file under the store's directory. */
static inline char *fixture_chunk_path(const struct store_fixture *x, chunk_id id, char path[2 * SCRATCH_PATH])
{
    char name[FILES_NAME_LIMIT];
    store_files_name(id, name);
    (void)snprintf(path, 2 * SCRATCH_PATH, "%s/chunks/%s", x->path, name);
    return path;
}

static inline unsigned fixture_entries(const struct store_fixture *x, const char *folder)
{
    char path[2 * SCRATCH_PATH];
    unsigned count = 0;
    DIR *dir = opendir(scratch_path(x->path, folder, path));
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    if (dir)
        (void)closedir(dir);
    return count;
}

/* Bytes that differ from seed to seed. */
static inline void fixture_fill(uint8_t *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        data[i] = (uint8_t)(seed >> 56);
    }
}

/* Behind the store's back. */
static inline void fixture_pwrite(const char *path, const void *data, size_t bytes, off_t at)
{
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, bytes, at), bytes);
    assert_int_equal(close(fd), 0);
}

/* Where a chunk file's data begins. */
static inline off_t fixture_data_start(uint32_t chunk_bytes)
{
    struct store_geometry geometry = {chunk_bytes, BLOCK};
    return chunk_format_data_offset(&geometry);
}

static inline uint32_t fixture_random(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static inline uint64_t fixture_chunk_pages(uint32_t blocks)
{
    return 2 + blocks; /* header, one table page, data */
}

#endif
