/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing behind: a buffered write is copied into a segment of its file and answered; segments grow while writes continue them, and
 * are sent by a few threads, several at once, and by whoever has to wait for them. Nothing that promises more than
 * write(2) does without O_SYNC passes by here: O_DIRECT, O_SYNC, O_DSYNC, appends and mapped pages go through write_path.c at once.
 *
 * What holds: a read of this mount sees what was written before it (it settles the range first). fsync, close, a new length and new times
 * settle the whole file first, and what is written and left alone is settled when its file is published, a second later. The
 * file's local length, which is what is published, rises in the order of the writes: a segment that is acknowledged before an
 * older one waits for it. What cannot be sent is the file's error, which the next write, fsync or close of a handle reports.
 *
 * Memory: at most FILE_LIMIT segments of a file and TOTAL_LIMIT of a mount, each of SEGMENT_BYTES; a writer that would need more sends
 * first, or writes through.
 *
 * Any thread. Locks: a file's pending.lock comes after its cut, publish and lease locks and before its `lock`.
 */
#ifndef CALF_WRITE_BEHIND_H
#define CALF_WRITE_BEHIND_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct fs;
struct open_file;
struct write_segment;

/* Of one file; part of struct open_file. */
struct pending_writes {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct write_segment *first, *last; /* oldest first */
    struct write_segment *growing;      /* the last one, while it may grow; or NULL */
    uint64_t last_number;
    uint64_t next_offset; /* where a write would continue the one before */
    uint32_t strays;      /* writes in a row that did not */
    _Atomic uint32_t count; /* read without the lock, too */
};

void write_behind_init_file(struct pending_writes *pending);
void write_behind_fini_file(struct pending_writes *pending);

/* Takes over bytes that are to be written at `offset`. Returns their number; blocks only while there are too many unsent.
 * -EFBIG; -EINTR; or the error of a write that had to go through. */
int64_t write_behind_write(struct fs *fs, struct open_file *file, uint64_t offset, const void *data, size_t bytes)
    __attribute__((warn_unused_result));

/* Returns when everything that was taken over before and lies in [from, end) is acknowledged or has become the file's
 * error. 0; -EINTR: this thread's request was interrupted first. */
int write_behind_settle(struct fs *fs, struct open_file *file, uint64_t from, uint64_t end)
    __attribute__((warn_unused_result));

/* The sending threads. Stop sends what is queued and ends them; files have been settled before. */
struct write_behind *write_behind_create(struct fs *fs);
void write_behind_destroy(struct write_behind *behind);

#endif
