/* SPDX-License-Identifier: Apache-2.0
 *
 * Which state of a file the kernel's page cache of this mount holds: the attr.change up to which every change of the inode
 * was either made by this mount or followed by dropping the pages. An open that finds another one lets the kernel drop them.
 * A table of fixed size: what does not fit is forgotten, and costs one drop. Any thread; nothing blocks.
 */
#ifndef CALF_CONTENT_STAMPS_H
#define CALF_CONTENT_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

struct content_stamps;

struct content_stamps *content_stamps_create(void);
void content_stamps_destroy(struct content_stamps *stamps);

/* An open of the inode saw `change`. True: the pages are of that state. False: they are to be dropped, and are of that
 * state from now on. */
bool content_stamps_open(struct content_stamps *stamps, uint64_t ino, uint64_t change);

/* A request of this mount changed the inode, which has `change` now. If that is the change next to the one known, nobody else's came
 * between. */
void content_stamps_own_change(struct content_stamps *stamps, uint64_t ino, uint64_t change);

/* The pages are of no known state. */
void content_stamps_forget(struct content_stamps *stamps, uint64_t ino);

#endif
