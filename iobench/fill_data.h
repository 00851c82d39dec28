/* SPDX-License-Identifier: Apache-2.0
 *
 * What the workers write, made so that making it is not what is measured. A pattern of random bytes, made once
 * from the seed, repeats through every file; each 512 bytes begin with a stamp of 16 (offset, file, generation),
 * so that no two sectors that are ever written are alike (nothing to deduplicate) and a reader knows which file,
 * place and run a sector comes from. The random part does not compress in any record up to the pattern's length.
 * The content at an offset does not depend on the block size that wrote it.
 *
 * The pattern is immutable after init and shared; each worker has a fill_buffer of its own.
 */
#ifndef CALF_IOBENCH_FILL_DATA_H
#define CALF_IOBENCH_FILL_DATA_H

#include <stddef.h>
#include <stdint.h>

/* A block is a whole number of grains; one that is smaller than a sector may hold no stamp. */
enum { FILL_GRAIN = 128, FILL_SECTOR = 512, FILL_PERIOD = 256 << 10, FILL_ALIGNMENT = 4096 };

struct fill_pattern {
    uint8_t bytes[FILL_PERIOD];
};

/* Which file and which of its contents: rewriting it gives it another generation. */
struct fill_identity {
    uint32_t file, generation;
};

/* Room to write blocks from, aligned for O_DIRECT. */
struct fill_buffer {
    uint8_t *bytes; /* owned: FILL_PERIOD + the block size */
    size_t block_bytes;
};

/* The first byte that is not what it should be, and the stamp that was found in its sector. */
struct fill_mismatch {
    uint64_t offset;
    uint8_t expected, found;
    uint64_t stamp_offset;
    struct fill_identity stamp;
};

void fill_pattern_init(struct fill_pattern *pattern, uint64_t seed);

/* block_bytes is a multiple of FILL_GRAIN. 0 or -ENOMEM. The memory is touched, so that using it faults
 * nothing in. */
int fill_buffer_init(struct fill_buffer *buffer, const struct fill_pattern *pattern, size_t block_bytes)
    __attribute__((warn_unused_result));
void fill_buffer_fini(struct fill_buffer *buffer);

/* The block's content for the file offset (a multiple of FILL_GRAIN): a pointer into the buffer, stamped,
 * valid until the next call. A few nanoseconds per sector; aligned to FILL_ALIGNMENT where the offset is. */
void *fill_buffer_block(struct fill_buffer *buffer, uint64_t offset, struct fill_identity identity);

/* Compares what was read at the offset with what was written: by the generation of identity, or by any earlier one from
 * `oldest` on. 0, or -EILSEQ with *mismatch filled. */
int fill_pattern_compare(const struct fill_pattern *pattern, const void *data, size_t bytes, uint64_t offset,
                         struct fill_identity identity, uint32_t oldest, struct fill_mismatch *mismatch)
    __attribute__((warn_unused_result));

#endif
