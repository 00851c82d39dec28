/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens that are over and that the master does not know of yet. Nobody waits for a release, so they are told together: when
 * there are enough of them, shortly after the first of them, or before a name is removed, so that what was closed before is
 * freed at once. Until then the master keeps the inode for this client, as if the file was closed a moment later.
 *
 * Any thread.
 */
#ifndef CALF_LATE_RELEASES_H
#define CALF_LATE_RELEASES_H

#include <stdint.h>

struct fs;
struct late_releases;

struct late_releases *late_releases_create(struct fs *fs);

/* Tells what is left, and frees. */
void late_releases_destroy(struct late_releases *late);

/* `count` opens of the inode that the master counted in that generation of the session. Blocks only when it is their turn to be
 * told. What cannot be told ends with the session. */
void late_releases_add(struct late_releases *late, uint64_t ino, uint32_t count, uint32_t generation);

/* Tells all that was added before. Blocks; cheap if there is nothing. */
void late_releases_tell(struct late_releases *late);

#endif
