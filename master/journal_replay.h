/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a journal back: hands over its records in order, and decides at the first damage whether it is a tail
 * that never reached the disk (cut off) or the loss of something that had (refused). See journal.h for the
 * rule.
 *
 * Belongs to one thread.
 */
#ifndef CALF_JOURNAL_REPLAY_H
#define CALF_JOURNAL_REPLAY_H

#include "master/journal_files.h"

/* Who takes the records, and where to say what is wrong. */
struct journal_replay {
    uint64_t after_index;
    int (*take)(void *context, const struct journal_record *record);
    void *context;
    char *why;
    size_t why_bytes;
};

/* Where the journal ends. */
struct journal_end {
    int fd; /* of the last file, the caller's; -1: there is no file */
    uint64_t last_index;
    uint64_t epoch; /* the highest */
    uint64_t mark;  /* records up to this one are known to have been synced */
    uint64_t offset, identity, previous; /* of the last file: where the next group goes, and what it follows */
};

/* 0: *end is filled in. Else as journal_open, and end->fd is -1. */
int journal_replay_all(struct journal_files *files, const struct journal_io *io, const struct journal_replay *replay,
                       struct journal_end *end) __attribute__((warn_unused_result));

#endif
