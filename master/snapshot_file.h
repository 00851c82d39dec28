/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots of the master's state as files DIR/snapshot.<number of the last journal record it contains, 20
 * digits>: a sequence of pieces of data, each in a numbered section, whose meaning is not known here.
 *
 * A snapshot is written under a temporary name and gets its own only when it is on the disk, so one that has
 * its name is whole. It is read only after the checksum over all of it was right. The one before it is kept
 * too; if the newest turns out to be damaged, the previous one and the journal since then give the same state.
 *
 * A writer belongs to one thread (or to a forked child); nothing here keeps state between calls otherwise.
 */
#ifndef CALF_SNAPSHOT_FILE_H
#define CALF_SNAPSHOT_FILE_H

#include <stddef.h>
#include <stdint.h>

struct snapshot_writer;

enum { SNAPSHOT_PIECE_LIMIT = 16 << 20 };

/* Begins a snapshot of the state after record `index`. *writer is the caller's, for exactly one of
 * snapshot_finish and snapshot_abandon. 0; negative errno. */
int snapshot_begin(const char *dir, uint64_t index, struct snapshot_writer **writer) __attribute__((warn_unused_result));

/* Adds a piece of at most SNAPSHOT_PIECE_LIMIT bytes; buffered, blocks when the buffer of 1 MiB is written.
 * After an error all later calls return it too. 0; negative errno (-ENOSPC, ...). */
int snapshot_put(struct snapshot_writer *writer, uint16_t section, const void *data, size_t bytes)
    __attribute__((warn_unused_result));

/* Writes what is left, syncs, gives the file its name, syncs the directory, and removes all but this and the
 * one before. Frees the writer in any case. Blocks. 0; negative errno: there is no new snapshot, and the older
 * ones are untouched. */
int snapshot_finish(struct snapshot_writer *writer) __attribute__((warn_unused_result));

/* Removes the unfinished file and frees the writer. NULL is allowed. */
void snapshot_abandon(struct snapshot_writer *writer);

/* Hands the pieces of the newest good snapshot to take, in the order they were put; data is valid during the
 * call, and unaligned. A take that returns a negative errno ends it. Temporary files that a crash left are
 * removed. Where the newest is damaged the one before it is used instead, with a line in the log, and the
 * damaged one gets the name snapshot.damaged. Blocks.
 * 0: *index is the number of the last record in it. -ENOENT: there is no snapshot. Else why holds one line, and
 * -EUCLEAN: there are only damaged ones; -EPROTO: written by another version; what take returned; or what the
 * system said. */
int snapshot_load(const char *dir, int (*take)(void *context, uint16_t section, const void *data, size_t bytes),
                  void *context, uint64_t *index, char *why, size_t why_bytes) __attribute__((warn_unused_result));

/* The index of the oldest snapshot that is kept: the journal is needed from the record after it. -ENOENT: none. */
int snapshot_oldest(const char *dir, uint64_t *index) __attribute__((warn_unused_result));

#endif
