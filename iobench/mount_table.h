/* SPDX-License-Identifier: Apache-2.0
 *
 * Which mount a directory lies in, by /proc/self/mountinfo (proc(5)). Stateless; any thread. Blocks only on /proc.
 */
#ifndef CALF_IOBENCH_MOUNT_TABLE_H
#define CALF_IOBENCH_MOUNT_TABLE_H

enum { MOUNT_POINT_LIMIT = 512, MOUNT_TEXT = 256 };

struct mount_entry {
    char point[MOUNT_POINT_LIMIT];
    char fs_type[MOUNT_TEXT];
    char source[MOUNT_TEXT];
    char options[MOUNT_TEXT]; /* of the file system ("super options"), cut when longer */
};

/* The mount that holds `directory`, an absolute path without symbolic links: of those whose point is the path
 * or a parent of it, the longest, and of several at one point the last, which covers the others. table: the
 * file to read, normally "/proc/self/mountinfo". 0; -ENOENT when there is none; -errno when the table cannot
 * be read. */
int mount_table_find(const char *table, const char *directory, struct mount_entry *entry)
    __attribute__((warn_unused_result));

#endif
