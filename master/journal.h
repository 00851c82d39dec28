/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal: every change of the master's state, in order, in files DIR/journal.<number of its first record,
 * 20 digits>. Records are numbered from 1 without gaps, over all files. What a record means is not known here.
 *
 * Records are collected by journal_append and written as one checksummed group by journal_commit. A group also
 * says up to which record the journal was known to be on the disk when the group was written. After a power
 * loss, pages that were not synced may be missing in any order, so a damaged group is cut off with all that
 * follows, unless a later group or a later file proves that it had been synced: then the disk lost what it had
 * promised to keep, and opening is refused.
 *
 * A write or sync that fails poisons the journal: every later commit fails with the same error, and nothing may
 * be acknowledged any more. (An fsync that failed once says nothing when repeated; see fsync(2) on EIO.)
 *
 * All functions belong to one thread. A thread of the journal's own syncs what was written without a sync
 * within a second, and sleeps when there is nothing to sync. One process at a time: DIR/journal.lock is locked
 * until the process closes the journal or ends.
 */
#ifndef CALF_JOURNAL_H
#define CALF_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct journal;

enum journal_sync {
    JOURNAL_SYNC_INTERVAL, /* a commit returns after write(2), which survives kill -9; synced within a second */
    JOURNAL_SYNC_ALWAYS,   /* a commit with need_sync returns when the group is on the disk */
};

struct journal_record {
    uint16_t type;
    uint64_t session;
    uint32_t slot, sequence;
    int64_t time_ns;
    const void *body; /* body_bytes, at most JOURNAL_BODY_LIMIT */
    uint32_t body_bytes;
};

enum { JOURNAL_BODY_LIMIT = 1 << 20, JOURNAL_WHY_BYTES = 512 };

/* What reaches the disk goes through these, so that a test can stand between. Each gets `context`; results as
 * those of the system calls, with errno. */
struct journal_io {
    ssize_t (*pwrite)(void *context, int fd, const void *data, size_t bytes, off_t offset);
    int (*fdatasync)(void *context, int fd);
    int (*ftruncate)(void *context, int fd, off_t bytes);
    int (*rename)(void *context, int dir_fd, const char *from, const char *to); /* and syncs the directory */
    void *context;
};

/* Opens or makes the journal in dir, which exists, and calls replay for each record with a number above
 * after_index, in order; the record and its body are valid during the call. A replay that returns a negative
 * errno ends it. Blocks for as long as reading takes.
 * 0: *journal is the caller's, for journal_close; a tail that never reached the disk was cut off (and logged).
 * Else why holds one line, with file and offset where there is one, and
 * -EUCLEAN: damaged, or records between after_index and the first file are missing; -EBUSY: another process has
 * it open; what replay returned; or what the system said. */
int journal_open(const char *dir, enum journal_sync sync, uint64_t after_index,
                 int (*replay)(void *context, const struct journal_record *record), void *context, char *why,
                 size_t why_bytes, struct journal **journal) __attribute__((warn_unused_result));

/* The same, over operations of the caller's; io is copied, NULL: the system's. */
int journal_open_with(const struct journal_io *io, const char *dir, enum journal_sync sync, uint64_t after_index,
                      int (*replay)(void *context, const struct journal_record *record), void *context, char *why,
                      size_t why_bytes, struct journal **journal) __attribute__((warn_unused_result));

/* Adds a copy of the record to the group to be committed next; memory only. */
void journal_append(struct journal *journal, const struct journal_record *record);

/* Writes what was appended, with one write(2). In mode always with need_sync it returns when this and all
 * before it are on the disk; without records to write too. Blocks for that long. 0; negative errno, and again
 * at every later call. */
int journal_commit(struct journal *journal, bool need_sync) __attribute__((warn_unused_result));

/* Number of the last record appended; after_index if there is none after it. */
uint64_t journal_last_index(const struct journal *journal);

/* Up to which record it is known to be on the disk; rises by itself within a second or two. */
uint64_t journal_synced_index(struct journal *journal);

/* Stands in every group written since the journal was opened; higher than in any group before, at least 1. */
uint64_t journal_epoch(const struct journal *journal);

/* Commits, syncs, and goes on in a new file, so that what is before can be dropped as a whole; nothing happens
 * if the current file has no record. To be called where a snapshot is taken. Blocks for the syncs. 0; negative
 * errno: the old file remains in use, and commits tell whether the journal is poisoned. */
int journal_rotate(struct journal *journal) __attribute__((warn_unused_result));

/* Removes the files whose records are all numbered below index: with a snapshot up to record n as the oldest
 * that may ever be loaded, n + 1 (see snapshot_oldest). 0; negative errno: some may be gone. */
int journal_drop_before(struct journal *journal, uint64_t index) __attribute__((warn_unused_result));

/* Size of all its files in bytes. */
uint64_t journal_bytes(const struct journal *journal);

/* Commits, marks the end as synced, syncs, and frees. What could not be written is logged. NULL is allowed. */
void journal_close(struct journal *journal);

#endif
