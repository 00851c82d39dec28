/* SPDX-License-Identifier: Apache-2.0
 *
 * What a chunk file looks like: a header page, the table of block checksums, and the data from the next page boundary on.
 * Layout and checks only; no file is opened here. Pure functions; any thread.
 *
 * The upper part of the header is written once in the life of a chunk and has a checksum. What changes later is single
 * 64-bit words that are written at once and carry a check of their own, bound to the chunk's id ("sealed"): so a process that
 * is killed at any point leaves a header that is good.
 */
#ifndef CALF_CHUNK_FORMAT_H
#define CALF_CHUNK_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "chunkserver/store.h"

enum {
    CHUNK_FORMAT_NUMBER = 2,
    CHUNK_FORMAT_PAGE = 4096,
    CHUNK_FORMAT_PAGE_ENTRIES = CHUNK_FORMAT_PAGE / 8, /* table entries in a page */
    CHUNK_FORMAT_TABLE_PAGES_LIMIT = 32,
    CHUNK_FORMAT_BLOCKS_LIMIT = CHUNK_FORMAT_TABLE_PAGES_LIMIT * CHUNK_FORMAT_PAGE_ENTRIES,
    CHUNK_FORMAT_HEADER_BYTES = 64, /* the part of the page that is not zero */
};

struct chunk_page {
    uint8_t magic[8];
    uint32_t format;
    uint32_t chunk_bytes, block_bytes;
    uint32_t reserved;
    uint64_t id;
    uint64_t checksum; /* of all above */
    /* Sealed words. */
    uint64_t version;     /* 0: no chunk (deleted, or not complete yet) */
    uint64_t table_pages; /* bit n: page n of the table is allocated; the others hold no entry */
    uint64_t lives;       /* rises when the file gets a new chunk and before it is cut: readers that share it notice */
    uint8_t zeros[CHUNK_FORMAT_PAGE - CHUNK_FORMAT_HEADER_BYTES];
};

_Static_assert(sizeof(struct chunk_page) == CHUNK_FORMAT_PAGE, "the header is one page");

/* Which word a seal is for: a word copied to another place does not pass. */
enum chunk_seal { CHUNK_SEAL_VERSION = 1, CHUNK_SEAL_TABLE = 2, CHUNK_SEAL_INTENT = 3 /* not in the header */, CHUNK_SEAL_LIVES = 4 };

uint64_t chunk_format_seal(chunk_id id, unsigned which, uint32_t value);

/* 0, or -EUCLEAN if the seal is broken. */
int chunk_format_unseal(chunk_id id, unsigned which, uint64_t word, uint32_t *value) __attribute__((warn_unused_result));

/* What a write is about to change, count blocks from first, as a sealed value; count is at least 1. */
static inline uint32_t chunk_format_intent(uint32_t first, uint32_t count)
{
    return first << 16 | (count - 1);
}

/* -EINVAL if a store cannot have it. */
int chunk_format_check_geometry(const struct store_geometry *geometry) __attribute__((warn_unused_result));

/* A header with these words. */
void chunk_format_init(struct chunk_page *page, chunk_id id, const struct store_geometry *geometry, uint32_t version,
                       uint32_t table_pages);

/* Whether the page is the whole and good header of that chunk. -EUCLEAN: *reason says what is wrong, for people. */
int chunk_format_check(const struct chunk_page *page, chunk_id id, const struct store_geometry *geometry,
                       const char **reason) __attribute__((warn_unused_result));

static inline uint32_t chunk_format_blocks(const struct store_geometry *geometry)
{
    return geometry->chunk_bytes / geometry->block_bytes;
}

/* Bytes of the table, whole pages. */
static inline uint32_t chunk_format_table_bytes(const struct store_geometry *geometry)
{
    uint32_t bytes = chunk_format_blocks(geometry) * 8;
    return (bytes + CHUNK_FORMAT_PAGE - 1) / CHUNK_FORMAT_PAGE * CHUNK_FORMAT_PAGE;
}

/* Where the data starts in the file; a whole number of pages. */
static inline uint32_t chunk_format_data_offset(const struct store_geometry *geometry)
{
    return CHUNK_FORMAT_PAGE + chunk_format_table_bytes(geometry);
}

#endif
