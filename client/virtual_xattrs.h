/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes that are answered rather than stored, and not listed:
 *   user.calf.counters   of the root: what the cluster has served, now, and what this client is (JSON)
 *   user.calf.goal       of any inode: copies wanted for each chunk; may be set
 *   user.calf.chunks     of a regular file: each copy of each chunk (JSON); too large for a file of many chunks
 *   user.calf.chunks.N   the same from chunk N on, as many as fit; [] at the end
 *   user.calf.verify.N   the copies of chunk N, each read wholly and compared with its checksums before it is called valid
 * Any thread; all but virtual_xattrs_has block.
 */
#ifndef CALF_VIRTUAL_XATTRS_H
#define CALF_VIRTUAL_XATTRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fs;

/* True for every name that begins with user.calf. */
bool virtual_xattrs_has(const char *name);

/* *text is the caller's to free, *bytes long. -ENODATA: this inode has no such attribute; -EIO, ... */
int virtual_xattrs_get(struct fs *fs, uint64_t ino, const char *name, char **text, size_t *bytes)
    __attribute__((warn_unused_result));

/* -EINVAL: not a value for it; -EPERM: not to be set. */
int virtual_xattrs_set(struct fs *fs, uint64_t ino, const char *name, const void *value, size_t bytes)
    __attribute__((warn_unused_result));

#endif
