/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads blocks of a chunk straight from its file, whose descriptor the chunkserver has given. Takes no lock that the chunkserver
 * knows, so the file may change at any time: every block must match the checksum that the file's table had for it
 * just before, and the words of the header that name chunk and version must be the same after all was read. Then each block is as it was
 * at one moment during the read, while the chunk had that version.
 *
 * The file is read, not mapped: what else is done to it can make a read fail but never kill the reader. Pure but for the
 * file; any thread; blocks only for the memory's speed.
 */
#ifndef CALF_SHM_READ_H
#define CALF_SHM_READ_H

#include <stdint.h>

/* As a chunk_share_reply says. */
struct shm_share {
    int fd;
    uint32_t guard_at, table_at, data_at;
    uint64_t guard_first, guard_third;
};

/* Whole blocks [offset, offset + length), at most WIRE_PAYLOAD_LIMIT bytes. 0; -EILSEQ: a block does not match its
 * checksum, looked at several times; -ESTALE: the file is not that chunk in that version any more. */
int shm_read_blocks(const struct shm_share *share, uint32_t offset, uint32_t length, uint8_t *into)
    __attribute__((warn_unused_result));

#endif
