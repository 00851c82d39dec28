/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of fcntl(2) (byte ranges) and flock(2) (whole files) that clients' programs hold, by inode. A lock belongs to an
 * owner: a number that a session made up, and the session. The two kinds do not see each other. As POSIX says: an owner's own
 * locks never stand in its way, a new one takes the place of what it covers of them, and neighbours of one type are one.
 *
 * Invariants: the locks of one kind and owner on a file do not overlap or touch in the same type, and they are kept
 * in one order whatever way they came about, so that the same state has the same image. State, rebuilt by replay, but for
 * what is marked volatile. Pure; one thread.
 */
#ifndef CALF_FILE_LOCKS_H
#define CALF_FILE_LOCKS_H

#include <stdbool.h>

#include "common/wire.h"
#include "master/id_table.h"
#include "master/ids.h"

enum { FILE_LOCKS_OF_FILE_LIMIT = 8192 };

struct file_lock {
    struct file_lock *next;
    session_id session;
    uint64_t owner;
    uint64_t start, end; /* both included */
    uint32_t pid;        /* for people */
    uint8_t type;        /* enum wire_lock_type */
    bool flock;          /* of flock(2) */
};

/* A session that was refused and wants to hear when asking again may help. Volatile. */
struct lock_waiter {
    struct lock_waiter *next;
    session_id session;
};

struct locked_file {
    struct id_node node; /* inode_id */
    struct file_lock *locks;
    uint32_t count;
    struct lock_waiter *waiters;
};

struct file_locks {
    struct id_table files;
};

void file_locks_fini(struct file_locks *locks);

/* A lock of another owner that stands in the way; NULL: none. */
const struct file_lock *file_locks_conflict(const struct file_locks *locks, inode_id ino, const struct file_lock *wanted);

/* Takes the lock, or with type WIRE_LOCK_NONE gives back what the owner holds in the range. *wanted is copied. WIRE_OK;
 * WIRE_LOCKED: another's stands in the way; WIRE_NO_LOCKS: too many on this file. Only then nothing was changed.
 * *freed: something may be had now that was not before. */
uint16_t file_locks_set(struct file_locks *locks, inode_id ino, const struct file_lock *wanted, bool *freed)
    __attribute__((warn_unused_result));

/* The session wants to know when something on the file is freed. */
void file_locks_add_waiter(struct file_locks *locks, inode_id ino, session_id session);

/* The sessions that want to know; they are forgotten here, and the list is the caller's to free. */
struct lock_waiter *file_locks_take_waiters(struct file_locks *locks, inode_id ino);

/* Takes away all locks of a session, or (session 0) of everybody; true if there were any. */
bool file_locks_drop(struct file_locks *locks, inode_id ino, session_id session);

/* Adds one that comes from an image, where it stood in order. */
void file_locks_restore(struct file_locks *locks, inode_id ino, const struct file_lock *lock);

#endif
