/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks that programs wait for. However many wait, they hold two threads of this client, begun with the first, and one slot
 * of the session: one thread asks the master what was freed (a request that the master keeps for up to a second), the other asks for
 * the locks again, in the order in which they came. So waiting takes nothing away from other requests.
 *
 * The master remembers who was refused and counts what is freed for each session; a count that rose between the refusal and the
 * question is answered at once, so nothing is missed. Any thread.
 */
#ifndef CALF_LOCK_WAITS_H
#define CALF_LOCK_WAITS_H

struct fs;
struct fs_lock_wait;
struct lock_waits;

struct lock_waits *lock_waits_create(struct fs *fs);

/* Ends what waits. NULL is allowed. */
void lock_waits_destroy(struct lock_waits *waits);

/* As fs_lock_wait and fs_lock_interrupt, see fs.h. Do not block. */
void lock_waits_add(struct lock_waits *waits, struct fs_lock_wait *wait);
void lock_waits_interrupt(struct lock_waits *waits, struct fs_lock_wait *wait);

/* Something was given back by this client: asking may help. Does not block. */
void lock_waits_look(struct lock_waits *waits);

/* Lets all that wait end with -EINTR, from now on at once; blocks until they have. */
void lock_waits_end(struct lock_waits *waits);

#endif
