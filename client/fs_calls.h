/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls to the master as the files that implement fs.h make them, for their common shapes. Any thread; all block but
 * fs_calls_name.
 */
#ifndef CALF_FS_CALLS_H
#define CALF_FS_CALLS_H

#include "client/master_session.h"

struct fs;

/* A name as a field of a request. -ENAMETOOLONG. */
int fs_calls_name(const char *name, struct wire_bytes *bytes) __attribute__((warn_unused_result));

/* master_session_call in any generation of the session. */
int fs_calls_make(struct fs *fs, uint16_t type, const union wire_any *request, struct master_call *call)
    __attribute__((warn_unused_result));

/* The reply is one attr record. */
int fs_calls_attr(struct fs *fs, uint16_t type, const union wire_any *request, struct wire_attr *attr)
    __attribute__((warn_unused_result));

/* Nothing in the reply is of interest. */
int fs_calls_plain(struct fs *fs, uint16_t type, const union wire_any *request) __attribute__((warn_unused_result));

#endif
