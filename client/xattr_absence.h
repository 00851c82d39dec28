/* SPDX-License-Identifier: Apache-2.0
 *
 * Which inodes are known to have no extended attributes. The kernel does not remember that, and programs ask for each file they list
 * (`ls -l` for "security.selinux"). It is known from the attributes of the inode for as long as those may be believed (believable.h), and
 * until this mount sets one. A table of fixed size: what does not fit is forgotten, and costs a request. Any thread; nothing blocks.
 */
#ifndef CALF_XATTR_ABSENCE_H
#define CALF_XATTR_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

struct wire_attr;
struct xattr_absence;

struct xattr_absence *xattr_absence_create(void);
void xattr_absence_destroy(struct xattr_absence *absence);

/* Before the master is asked for attributes: what xattr_absence_note wants to be told with them. */
uint64_t xattr_absence_before(struct xattr_absence *absence);

/* This came in the caller's present operation. */
void xattr_absence_note(struct xattr_absence *absence, uint64_t before, const struct wire_attr *attr);

/* True: the inode has none. */
bool xattr_absence_is_known(struct xattr_absence *absence, uint64_t ino);

/* This mount is about to set one of the inode's, or has done so: to be called at both times. */
void xattr_absence_end(struct xattr_absence *absence, uint64_t ino);

#endif
