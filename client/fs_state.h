/* SPDX-License-Identifier: Apache-2.0
 *
 * What a mounted file system consists of; for the files of this folder that implement fs.h, not for its users. All members
 * but `requests` are set before the first request and stay; each is thread-safe by itself.
 */
#ifndef CALF_FS_STATE_H
#define CALF_FS_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/chunk_connections.h"
#include "client/content_stamps.h"
#include "client/fs.h"
#include "client/late_releases.h"
#include "client/lock_waits.h"
#include "client/master_session.h"
#include "client/open_files.h"
#include "client/write_behind.h"
#include "client/xattr_absence.h"

struct fs {
    struct master_session *session;
    struct chunk_connections *connections;
    struct open_files *files;
    struct content_stamps *stamps;
    struct xattr_absence *no_xattrs;
    struct lock_waits *lock_waits;
    struct late_releases *late_releases;
    struct write_behind *behind;
    uint32_t chunk_bytes;
    int64_t retry_ns;
    bool exclusive;
    const char *_Atomic requests; /* see fs_note_requests */
    pthread_t publisher;
};

/* One handle of an open file. Belongs to whoever opened it; its file may be used by many threads at once. */
struct fs_handle {
    struct open_file *file; /* a reference */
    struct fs_handle *next, *previous; /* of the file's handles, under its lock */
    uint32_t errors_seen;   /* under the file's lock */
    _Atomic uint32_t generation; /* of the session in which the master counts this open */
    bool read_only;
};

/* Before a handle is used: the master counts its open in the present session. -EIO: a lock was held through it and is
 * lost with an older session. */
int fs_handle_revive(struct fs *fs, struct fs_handle *handle) __attribute__((warn_unused_result));

/* The handle ends: gives back what was locked through it alone (fs_locks.c). */
void fs_lock_release(struct fs *fs, struct fs_handle *handle);

#endif
