/* SPDX-License-Identifier: Apache-2.0
 *
 * `calf file` and `calf goal`: what a mount tells about a path through the extended attributes user.calf.chunks
 * and user.calf.goal, so that neither the master's address nor the mount's root has to be known. One thread;
 * each call to the mount blocks as any file operation does.
 */
#ifndef CALF_ADMIN_FILES_H
#define CALF_ADMIN_FILES_H

#include "client/admin_commands.h"

int admin_files_show(const struct admin *admin, char **arguments);
int admin_files_get_goal(const struct admin *admin, char **arguments);
int admin_files_set_goal(const struct admin *admin, char **arguments);

/* The goal of a path on a calf mount, or complains and returns 0 with *status set. Any kind of path will do to
 * find out whether it is on one. */
unsigned admin_files_goal(const char *path, int *status);

/* The same without a word: the goal, or a negative errno. */
int admin_files_copies(const char *path) __attribute__((warn_unused_result));

/* The copies of all chunks of a file, a JSON array as in user.calf.chunks, the caller's; or complains and returns NULL with *status
 * set. */
struct json_t *admin_files_chunks(const char *path, int *status);

/* The copies of one chunk after each was read; NULL: not to be had. */
struct json_t *admin_files_verify(const char *path, int64_t index);

/* Prints what `calf file` does from the attribute's text. -EINVAL: not such a text. */
int admin_files_print(const struct admin *admin, const char *path, uint64_t size, unsigned goal, const char *chunks)
    __attribute__((warn_unused_result));

#endif
