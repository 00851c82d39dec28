/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a journal in their directory: which there are, making one so that it is whole or not there,
 * removing, and the lock that keeps a second process out. What is in the files is not known here, but for the
 * file header.
 *
 * Belongs to one thread.
 */
#ifndef CALF_JOURNAL_FILES_H
#define CALF_JOURNAL_FILES_H

#include "master/journal_format.h"

struct journal_file {
    uint64_t first_index; /* its name */
    uint64_t bytes;
};

struct journal_files {
    char *dir;
    int dir_fd, lock_fd;
    struct journal_file *rows; /* by first_index */
    size_t count, room;
};

enum { JOURNAL_NAME_BYTES = 40 };

/* "journal.00000000000000000001" */
const char *journal_file_name(uint64_t first_index, char name[JOURNAL_NAME_BYTES]);

/* Takes the lock, removes what unfinished creations left, and lists. journal_files_close in any case. 0;
 * -EBUSY: another process has the lock, why says which; or what the system said. */
int journal_files_open(struct journal_files *files, const char *dir, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
void journal_files_close(struct journal_files *files);

/* An open descriptor for reading and writing, the caller's; or what the system said. */
int journal_files_open_one(const struct journal_files *files, uint64_t first_index) __attribute__((warn_unused_result));

/* Makes a file that holds only its header, durable under its name; *header is filled in with an identity of its
 * own. Blocks for the syncs. An open descriptor, the caller's; or what the system said, and then *named tells
 * whether the file may be there. */
int journal_files_create(struct journal_files *files, const struct journal_io *io, uint64_t first_index, uint64_t epoch,
                         struct journal_file_header *header, bool *named) __attribute__((warn_unused_result));

/* Removes the oldest `count` files. 0; or what the system said: some may be gone. */
int journal_files_remove(struct journal_files *files, size_t count) __attribute__((warn_unused_result));

#endif
