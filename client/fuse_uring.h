/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests by io_uring, where the kernel offers it (6.14, and the parameter enable_uring of its module fuse): each core has a queue of
 * its own, and a request is handled by a thread on the core it came from. What the kernel goes on sending over
 * /dev/fuse (forgotten inodes, interrupts) is read there beside this, as ever.
 *
 * A queue has a few hundred entries from the start, all kept by one thread. The first request in an entry makes a worker thread,
 * which owns that entry and its ring from then on. The kernel prefers the entry that was given back last, so there are as many
 * workers as there ever were requests at once. No queue runs out of entries for good: one that waits for a
 * lock is replaced by another, and refused (ENOLCK) rather than taking the last one.
 *
 * One connection in a process. For the other fuse_*.c files only.
 */
#ifndef CALF_FUSE_URING_H
#define CALF_FUSE_URING_H

#include <fuse3/fuse_lowlevel.h>
#include <stdbool.h>
#include <sys/uio.h>

/* Before the first reply of the connection: makes all that could fail. 0; or a negative errno, and nothing is left. */
int fuse_uring_prepare(struct fuse_session *session) __attribute__((warn_unused_result));

/* After that reply, which said yes: gives the entries to the kernel and returns when it has them. If it does not take them,
 * it goes on with /dev/fuse. Logs how it went. */
void fuse_uring_start(void);

/* Whether requests come by io_uring; known when the mount answers. */
bool fuse_uring_is_used(void);

/* If the reply (pieces[0] is its header) is for a request that came by io_uring, it is taken. */
bool fuse_uring_take_reply(const struct iovec *pieces, int count);

/* The request that this thread handles is answered later, maybe by another thread. False: that cannot be, since too many wait already. */
bool fuse_uring_put_aside(void) __attribute__((warn_unused_result));

/* Nothing more is taken from the kernel. Returns when all requests are answered but those that were put aside. */
void fuse_uring_stop(void);

/* After those are answered, too: ends all threads. */
void fuse_uring_join(void);

#endif
