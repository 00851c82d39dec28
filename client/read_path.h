/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading: a range of a file becomes whole blocks of chunks, fetched from a chunkserver straight into place and verified
 * against their checksums. Holes are zeros. What cannot be had from one copy is sought from the next, from where the master says
 * the chunk is now, and again until the retry limit. Data that does not match its checksum is never returned.
 *
 * Any thread; blocks.
 */
#ifndef CALF_READ_PATH_H
#define CALF_READ_PATH_H

#include <stddef.h>
#include <stdint.h>

struct fs;
struct open_file;
struct chunk_location;

/* Up to `bytes` (at most WIRE_IO_LIMIT) from `offset`. Returns how many there are below the file's length, 0 at its end, with *data
 * pointing into this thread's buffer (valid until the thread reads again). -EIO: no good copy, or none reached in time;
 * -EINTR; ... */
int read_path_read(struct fs *fs, struct open_file *file, uint64_t offset, size_t bytes, const uint8_t **data)
    __attribute__((warn_unused_result));

/* Where a chunk is read now: from what is known, or from the master. location->chunk_id 0: a hole. */
int read_path_locate(struct fs *fs, struct open_file *file, uint32_t index, struct chunk_location *location)
    __attribute__((warn_unused_result));

/* Asks the master for the file's attributes, and so for its length. */
int read_path_refresh(struct fs *fs, struct open_file *file) __attribute__((warn_unused_result));

#endif
