/* SPDX-License-Identifier: Apache-2.0
 *
 * What a mounted file system consists of; for the files of this folder that implement fs.h, not for its users. All members
 * are set before the first request and stay; each is thread-safe by itself.
 */
#ifndef CALF_FS_STATE_H
#define CALF_FS_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/chunk_connections.h"
#include "client/content_stamps.h"
#include "client/fs.h"
#include "client/master_session.h"
#include "client/open_files.h"

struct fs {
    struct master_session *session;
    struct chunk_connections *connections;
    struct open_files *files;
    struct content_stamps *stamps;
    uint32_t chunk_bytes;
    int64_t retry_ns;
    bool exclusive;
    pthread_t publisher;
};

/* One handle of an open file. Belongs to whoever opened it; its file may be used by many threads at once. */
struct fs_handle {
    struct open_file *file; /* a reference */
    uint32_t errors_seen;   /* under the file's lock */
    _Atomic uint32_t generation; /* of the session in which the master counts this open */
};

#endif
