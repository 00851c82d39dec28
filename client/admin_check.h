/* SPDX-License-Identifier: Apache-2.0
 *
 * `calf check`: reads every byte of every regular file below a path, past the kernel's cache where that is
 * possible, so that each block's checksum is verified by whoever reads it; and has the mount read every copy of each chunk. Does not follow symbolic links or
 * leave the file system.
 *
 * The walk works on any file system; only admin_check_run asks for a calf mount. One thread; blocks for as long
 * as reading takes.
 */
#ifndef CALF_ADMIN_CHECK_H
#define CALF_ADMIN_CHECK_H

#include "client/admin_commands.h"

struct admin_check_result {
    uint64_t files, bytes; /* regular files that were read, with or without success */
    uint64_t failed;       /* files and directories that could not be read wholly */
};

int admin_check_run(const struct admin *admin, char **arguments);

struct admin_check_calls {
    void *context;
    /* For everything that cannot be read: the offset is of the first block that cannot, error a positive errno. */
    void (*failed)(void *context, const char *path, uint64_t offset, int error);
    void (*file)(void *context, const char *path); /* after each file; NULL: not */
};

/* 0; negative errno: the walk itself could not begin. */
int admin_check_walk(const char *path, const struct admin_check_calls *calls, struct admin_check_result *result)
    __attribute__((warn_unused_result));

#endif
