/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of chunk files on a disk: O_DIRECT through libaio, so that nothing of them stays in the page cache and a large request
 * is on the device in several pieces at once. What a store is, who locks what and the format are the affair of store_files.h;
 * these functions move whole blocks, and wait for them. The one file that knows libaio.
 *
 * Any thread may call them. Offsets and lengths are whole blocks of 4 KiB; memory that is not aligned goes through a buffer
 * of the thread.
 */
#ifndef CALF_STORE_AIO_H
#define CALF_STORE_AIO_H

#include <stdint.h>
#include <sys/uio.h>

/* A second descriptor of an open file, with O_DIRECT; the caller's to close. -EINVAL: its file system has no O_DIRECT. */
int store_aio_open(int fd) __attribute__((warn_unused_result));

/* All `bytes`, or -errno; -EIO at the end of the file. */
int store_aio_read(int fd, void *data, size_t bytes, uint64_t offset) __attribute__((warn_unused_result));

/* Bytes written, from the start; if not all, *rc says why. On the device only after fdatasync. */
uint64_t store_aio_write(int fd, const struct iovec *pieces, int count, uint64_t offset, int *rc);

#endif
