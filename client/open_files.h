/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that this client has open, one struct open_file for each inode however many handles it has: what is known of its
 * attributes, the length and time of acknowledged writes that the master does not know yet, its leases, and an error that
 * is still to be reported. It lives while somebody holds a reference.
 *
 * Invariants: the length shown here is that of the attributes or, if larger, length_local or length_pending. All data below
 * length_local has been acknowledged by the chunkservers, and only that is published; it belongs to attr.size_epoch and is void
 * under any later one. length_pending is where the writes end that were taken over and are not acknowledged (write_behind.h).
 *
 * Locks of a file, in the order they are taken: append, cut, publish, lease, pending, lock. Any thread.
 */
#ifndef CALF_OPEN_FILES_H
#define CALF_OPEN_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/chunk_locations.h"
#include "client/write_behind.h"
#include "common/wire.h"

struct open_files;

struct fs_handle;

struct open_file {
    uint64_t ino;
    struct open_files *table;

    struct open_file *next_in_bucket; /* these under the table's lock */
    uint32_t references;
    struct open_file *next_dirty;
    int64_t listed_ns; /* when it came onto the dirty list, monotonic; 0: it is not on it */

    pthread_mutex_t append; /* held over one append */
    pthread_rwlock_t cut;   /* shared by writes; exclusive for what shortens the file */
    pthread_mutex_t publish; /* held over one publication */
    pthread_mutex_t lease;  /* a lease is being asked for or given back: the two must not pass each other */
    struct pending_writes pending; /* has a lock of its own */
    pthread_mutex_t lock;   /* guards what follows */

    /* Something was read, or was in the kernel's cache: it may be changed there without our knowledge. Never taken back. */
    _Atomic bool may_be_mapped;
    _Atomic uint32_t generation; /* of the session in which leases and opens below are held; read without the lock, too */
    uint32_t opens;      /* that the master counts */
    uint32_t handles;
    uint32_t writable_handles; /* of those */
    struct fs_handle *first_handle;

    struct wire_attr attr; /* newest seen; ino 0: none yet */
    uint64_t length_local; /* end of the furthest acknowledged write; 0: none */
    uint64_t length_pending; /* end of the furthest write behind; 0: none */
    int64_t mtime_local;   /* of the last write not published, ns; 0: none */
    bool dirty;            /* there is something to publish */
    bool unsynced;         /* something was published and perhaps not made durable */

    struct chunk_locations locations;

    int error;            /* of a delayed publication, negative errno */
    uint32_t error_count; /* rises with each; a handle that has seen fewer reports it */

    struct lock_record *lock_records; /* see lock_records.h */

    uint64_t plain_change; /* attr.change under which the file has no capability attribute; 0: not known */
};

struct open_files *open_files_create(void);

/* No file may be referenced any more. */
void open_files_destroy(struct open_files *table);

/* The file of that inode, made if there is none; give it back with open_files_put. */
struct open_file *open_files_get(struct open_files *table, uint64_t ino);

/* The same if there is one, else NULL. */
struct open_file *open_files_find(struct open_files *table, uint64_t ino);

/* One more reference to a file that the caller has a reference to; returns it. */
struct open_file *open_files_hold(struct open_file *file);

void open_files_put(struct open_file *file);

/* Takes what the master or the kernel is told of an inode and puts in what only this client knows. */
void open_files_overlay(struct open_files *table, struct wire_attr *attr);

/* ---- of one file ---- */

/* If the session is a later one than before, what was held in the old one is gone: leases, opens, and a length that was not
 * published, which becomes an error to report. Call before anything that needs a lease. */
void open_file_enter_generation(struct open_file *file, uint32_t generation);

/* Takes attributes that came from the master; older ones than those known are ignored. A cut length voids the local one. */
void open_file_learn(struct open_file *file, const struct wire_attr *attr);

/* The master has set the length, whatever it was: what was written before counts no more. The caller holds the cut lock alone. A
 * master that lost the publication of a longer length with its power sees no cut where this client knows of one. */
void open_file_length_was_set(struct open_file *file);

/* The attributes as this client sees them. */
struct wire_attr open_file_attr(struct open_file *file);

uint64_t open_file_length(struct open_file *file);

/* Data up to `end` was acknowledged at wall time mtime_ns. size_epoch: under which it was written; void if it is not the
 * present one. end 0: content changed, not the length. */
void open_file_wrote(struct open_file *file, uint64_t end, uint32_t size_epoch, int64_t mtime_ns);

/* A write that ends at `end` was taken over at wall time mtime_ns and is not acknowledged. begins: it is not the continuation
 * of another; the file is sure to be published after this. */
void open_file_accepted(struct open_file *file, uint64_t end, int64_t mtime_ns, bool begins);

/* Where the writes end that are still not acknowledged; 0: there are none. */
void open_file_set_pending_length(struct open_file *file, uint64_t end);

/* Notes an error for every handle. */
void open_file_fail(struct open_file *file, int error);

/* The error that a handle which has seen *seen errors has still to report, or 0. */
int open_file_take_error(struct open_file *file, uint32_t *seen);

/* ---- publishing in the background ---- */

/* Waits for a file that has been dirty for age_ns and returns it with a reference to give back; NULL once
 * open_files_stop was called. */
struct open_file *open_files_wait_dirty(struct open_files *table, int64_t age_ns);

/* Lets open_files_wait_dirty return, now and for good. */
void open_files_stop(struct open_files *table);

/* Every file of the table, each with a reference to give back; the array is the caller's to free. */
uint32_t open_files_take_all(struct open_files *table, struct open_file ***files);

#endif
