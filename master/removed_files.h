/* SPDX-License-Identifier: Apache-2.0
 *
 * Files whose last name has just gone. A client looks a name up and then opens what it found, in two requests; if a rename over
 * the name or an unlink came in between, the open still finds the file, for some two seconds, as it would on a local file system.
 *
 * A queue of inode numbers, bounded in files and blocks, so that space comes back at once where it matters: a large file is
 * not kept. Part of the state: which are let go is in the journal (j_forget), never decided by apply itself, but for what has no room
 * in the queue. Pure; one thread.
 */
#ifndef CALF_REMOVED_FILES_H
#define CALF_REMOVED_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "master/ids.h"

#define REMOVED_FILES_KEPT_NS (2 * NS_PER_S)

enum {
    REMOVED_FILES_LIMIT = 512,
    REMOVED_FILES_FILE_BLOCKS = 256, /* of one file: 1 MiB */
    REMOVED_FILES_BLOCKS = 2048,     /* of all of them: 8 MiB */
};

struct core;
struct inode;

struct removed_files {
    struct removed_file {
        inode_id ino;
        int64_t time_ns; /* wall clock */
    } files[REMOVED_FILES_LIMIT]; /* a ring, in the order they came */
    uint32_t first, count;
    uint64_t blocks; /* of all, as they were when they came */
};

/* The file, which has no name any more, is kept from core_let_go, if it is one that may be. */
void removed_files_keep(struct core *core, struct inode *inode, int64_t time_ns);

/* The same from an image. False: no such file, or one that cannot be among them. */
bool removed_files_restore(struct core *core, inode_id ino, int64_t time_ns, uint16_t blocks);

/* About once a second: decides which are to go, by the wall clock and by how much room there is. */
void removed_files_tick(struct core *core, int64_t wall_ns);

#endif
