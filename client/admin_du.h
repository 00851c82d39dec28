/* SPDX-License-Identifier: Apache-2.0
 *
 * `calf du`: how much a tree holds: what its files are long, what of that was written, and what that takes on the chunkservers
 * with all the copies that are wanted. A file with several names counts once. One thread; each call to the mount blocks as any
 * file operation does.
 */
#ifndef CALF_ADMIN_DU_H
#define CALF_ADMIN_DU_H

#include "client/admin_commands.h"

struct admin_du_total {
    uint64_t files, directories; /* files: whatever is no directory */
    uint64_t apparent_bytes;     /* lengths */
    uint64_t used_bytes;         /* blocks with data, once */
    uint64_t stored_bytes;       /* the same times the copies wanted */
    uint64_t failed;             /* what could not be looked at; each was complained about */
};

/* Copies wanted of a file's chunks, or a negative errno. */
typedef int admin_du_goal(void *context, const char *path);

/* Adds up the tree at `path`, without following symbolic links, on its own file system only. 0, or -errno: it cannot be walked. */
int admin_du_walk(const char *path, admin_du_goal *goal, void *context, struct admin_du_total *total)
    __attribute__((warn_unused_result));

int admin_du_run(const struct admin *admin, char **arguments);

#endif
