/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing: a range of a file becomes pieces of chunks; each is sent under a lease, with checksums, to the head of the chunk's
 * chain, straight from the caller's buffer, and is done when every copy has acknowledged it. Only then does the file's local length
 * rise. What a chunkserver could not do is repeated with the other copies (under a new version) or with the same one when it
 * is back, until the retry limit.
 *
 * Buffered writes are gathered before they come here: see write_behind.h.
 *
 * Any thread; blocks. The caller does not hold the file's cut lock: each call takes it, shared, but where it says otherwise.
 */
#ifndef CALF_WRITE_PATH_H
#define CALF_WRITE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fs;
struct open_file;

/* False: no file reaches so far. */
bool write_path_fits(const struct fs *fs, uint64_t offset, uint64_t bytes);

/* Sends a range of at most WIRE_IO_LIMIT bytes that lies in one chunk. 0: every copy has it, and it was written under *size_epoch; the local
 * length is left to the caller, and so is the cut lock: it is not taken, and whoever cuts the file waits for this first. */
int write_path_send(struct fs *fs, struct open_file *file, uint64_t offset, const void *data, uint32_t bytes,
                    uint32_t *size_epoch) __attribute__((warn_unused_result));

/* Writes at `offset`. Returns how many bytes were acknowledged, which is less than asked for only if an error came
 * after some; else -ENOSPC, -EFBIG, -EIO, -EINTR, ... */
int64_t write_path_write(struct fs *fs, struct open_file *file, uint64_t offset, const void *data, size_t bytes)
    __attribute__((warn_unused_result));

/* Writes at the end of the file, wherever that is by now on any client; *at is where. As above. */
int64_t write_path_append(struct fs *fs, struct open_file *file, const void *data, size_t bytes, uint64_t *at)
    __attribute__((warn_unused_result));

/* What lies in [offset, offset + bytes) and below the file's length reads as zero afterwards. Holes stay holes. 0; -EIO, ... */
int write_path_zero(struct fs *fs, struct open_file *file, uint64_t offset, uint64_t bytes)
    __attribute__((warn_unused_result));

#endif
