/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/chunk_format.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/checksum.h"
#include "common/wire_schema.h"

static const uint8_t magic[8] = {'c', 'a', 'l', 'f', 'c', 'h', 'n', 'k'};

uint64_t chunk_format_seal(chunk_id id, unsigned which, uint32_t value)
{
    /* The lowest bit of the check is always set, so that no sealed word is 0. */
    uint64_t check = checksum_chain(id ^ (uint64_t)which << 56, &value, sizeof value) | 1;
    return check << 32 | value;
}

int chunk_format_unseal(chunk_id id, unsigned which, uint64_t word, uint32_t *value)
{
    *value = (uint32_t)word;
    return chunk_format_seal(id, which, *value) == word ? 0 : -EUCLEAN;
}

int chunk_format_check_geometry(const struct store_geometry *geometry)
{
    if (geometry->block_bytes != WIRE_BLOCK_BYTES || geometry->chunk_bytes == 0 ||
        geometry->chunk_bytes % geometry->block_bytes != 0)
        return -EINVAL;
    return chunk_format_blocks(geometry) > CHUNK_FORMAT_BLOCKS_LIMIT ? -EINVAL : 0;
}

static uint64_t upper_checksum(const struct chunk_page *page)
{
    return checksum_of(page, offsetof(struct chunk_page, checksum));
}

void chunk_format_init(struct chunk_page *page, chunk_id id, const struct store_geometry *geometry, uint32_t version,
                       uint32_t table_pages)
{
    memset(page, 0, sizeof *page);
    memcpy(page->magic, magic, sizeof magic);
    page->format = CHUNK_FORMAT_NUMBER;
    page->chunk_bytes = geometry->chunk_bytes;
    page->block_bytes = geometry->block_bytes;
    page->id = id;
    page->checksum = upper_checksum(page);
    page->version = chunk_format_seal(id, CHUNK_SEAL_VERSION, version);
    page->table_pages = chunk_format_seal(id, CHUNK_SEAL_TABLE, table_pages);
    page->lives = chunk_format_seal(id, CHUNK_SEAL_LIVES, 0);
}

static bool good_words(const struct chunk_page *page, const struct store_geometry *geometry)
{
    uint32_t value, pages = chunk_format_table_bytes(geometry) / CHUNK_FORMAT_PAGE;
    return chunk_format_unseal(page->id, CHUNK_SEAL_VERSION, page->version, &value) == 0 &&
           chunk_format_unseal(page->id, CHUNK_SEAL_LIVES, page->lives, &value) == 0 &&
           chunk_format_unseal(page->id, CHUNK_SEAL_TABLE, page->table_pages, &value) == 0 &&
           (uint64_t)value >> pages == 0;
}

int chunk_format_check(const struct chunk_page *page, chunk_id id, const struct store_geometry *geometry,
                       const char **reason)
{
    static const uint8_t zeros[sizeof page->zeros];
    *reason = NULL;
    if (memcmp(page->magic, magic, sizeof magic) != 0)
        *reason = "it does not start as a chunk does";
    else if (page->checksum != upper_checksum(page))
        *reason = "its header does not match its checksum";
    else if (page->format != CHUNK_FORMAT_NUMBER || page->reserved != 0)
        *reason = "its format is not known";
    else if (page->chunk_bytes != geometry->chunk_bytes || page->block_bytes != geometry->block_bytes)
        *reason = "its geometry is not the store's";
    else if (page->id != id)
        *reason = "it is another chunk than its name says";
    else if (memcmp(page->zeros, zeros, sizeof zeros) != 0 || !good_words(page, geometry))
        *reason = "a word of its header is damaged";
    return *reason ? -EUCLEAN : 0;
}
