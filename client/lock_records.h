/* SPDX-License-Identifier: Apache-2.0
 *
 * Which owners may hold locks on a file, and through which of this client's handles they took them: what a close must give
 * back, and what is lost with a session. Not the locks themselves, which the master has. Not thread-safe: a list belongs to
 * an open file and is guarded by that file's lock.
 */
#ifndef CALF_LOCK_RECORDS_H
#define CALF_LOCK_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

struct fs_handle;

struct lock_record {
    struct lock_record *next;
    const struct fs_handle *handle;
    uint64_t owner;
    bool flock; /* as in wire_lock_set */
};

/* An empty list is NULL. */
void lock_records_free(struct lock_record **list);

/* Notes that the owner may have a lock, taken through that handle; once is enough. */
void lock_records_add(struct lock_record **list, const struct fs_handle *handle, uint64_t owner, bool flock);

/* True if the owner has any record of that kind, whichever the handle. */
bool lock_records_has(const struct lock_record *list, uint64_t owner, bool flock);

/* The first record of that handle, or NULL. */
const struct lock_record *lock_records_of_handle(const struct lock_record *list, const struct fs_handle *handle);

/* The owner has nothing any more. */
void lock_records_remove(struct lock_record **list, uint64_t owner, bool flock);

/* The handle is no more. Fills *record with one of its records whose owner has none through another handle, so that its locks are to
 * be given back; false: there is none left. To be called until then. */
bool lock_records_take(struct lock_record **list, const struct fs_handle *handle, struct lock_record *record);

#endif
