/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/fill_data.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "iobench/access_pattern.h"

struct stamp {
    uint64_t offset;
    struct fill_identity identity;
};

_Static_assert(sizeof(struct stamp) == 16, "a stamp is 16 bytes in every file");

void fill_pattern_init(struct fill_pattern *pattern, uint64_t seed)
{
    for (size_t i = 0; i < FILL_PERIOD; i += sizeof(uint64_t)) {
        uint64_t word = access_pattern_mix(seed, i);
        memcpy(pattern->bytes + i, &word, sizeof word);
    }
}

int fill_buffer_init(struct fill_buffer *buffer, const struct fill_pattern *pattern, size_t block_bytes)
{
    CHECK(block_bytes > 0 && block_bytes % FILL_GRAIN == 0);
    void *memory = NULL;
    size_t bytes = FILL_PERIOD + block_bytes;
    if (posix_memalign(&memory, FILL_ALIGNMENT, bytes) != 0)
        return -ENOMEM;
    buffer->bytes = memory;
    buffer->block_bytes = block_bytes;
    for (size_t at = 0; at < bytes; at += FILL_PERIOD)
        memcpy(buffer->bytes + at, pattern->bytes, bytes - at < FILL_PERIOD ? bytes - at : FILL_PERIOD);
    return 0;
}

void fill_buffer_fini(struct fill_buffer *buffer)
{
    free(buffer->bytes);
    buffer->bytes = NULL;
}

void *fill_buffer_block(struct fill_buffer *buffer, uint64_t offset, struct fill_identity identity)
{
    uint8_t *block = buffer->bytes + offset % FILL_PERIOD;
    for (size_t at = (size_t)(-offset % FILL_SECTOR); at < buffer->block_bytes; at += FILL_SECTOR) {
        struct stamp stamp = {offset + at, identity};
        memcpy(block + at, &stamp, sizeof stamp);
    }
    return block;
}

/* What the sector that holds `at` should be. Of the generations that are allowed the one that is found counts. */
static void expect_sector(const struct fill_pattern *pattern, uint64_t at, const struct stamp *found,
                          struct fill_identity identity, uint32_t oldest, uint8_t expected[FILL_SECTOR])
{
    uint64_t start = at - at % FILL_SECTOR;
    struct stamp stamp = {start, identity};
    if (found && found->identity.generation >= oldest && found->identity.generation <= identity.generation)
        stamp.identity.generation = found->identity.generation;
    memcpy(expected, pattern->bytes + start % FILL_PERIOD, FILL_SECTOR);
    memcpy(expected, &stamp, sizeof stamp);
}

int fill_pattern_compare(const struct fill_pattern *pattern, const void *data, size_t bytes, uint64_t offset,
                         struct fill_identity identity, uint32_t oldest, struct fill_mismatch *mismatch)
{
    const uint8_t *found = data;
    size_t piece;
    for (size_t at = 0; at < bytes; at += piece) {
        size_t within = (size_t)((offset + at) % FILL_SECTOR);
        uint8_t expected[FILL_SECTOR];
        struct stamp seen = {0};
        bool stamped = within == 0 && bytes - at >= sizeof seen;
        if (stamped)
            memcpy(&seen, found + at, sizeof seen);
        expect_sector(pattern, offset + at, stamped ? &seen : NULL, identity, oldest, expected);
        piece = bytes - at < FILL_SECTOR - within ? bytes - at : FILL_SECTOR - within;
        if (memcmp(found + at, expected + within, piece) == 0)
            continue;
        size_t i = 0;
        while (expected[within + i] == found[at + i])
            i++;
        *mismatch = (struct fill_mismatch){offset + at + i, expected[within + i], found[at + i], seen.offset, seen.identity};
        return -EILSEQ;
    }
    return 0;
}
