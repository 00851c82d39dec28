/* SPDX-License-Identifier: Apache-2.0
 *
 * One io_uring on the FUSE device: commands about entries go in, requests come out. It is made by any thread and then belongs to
 * the one that enables it. Requests are copied into their entries only while that thread waits in here. For fuse_uring.c only.
 */
#ifndef CALF_FUSE_URING_RING_H
#define CALF_FUSE_URING_RING_H

#include <liburing.h>
#include <stdbool.h>

struct fuse_uring_entry;

enum { FUSE_URING_RING_PUT = 16 }; /* so much is put in before it is sent by itself */

struct fuse_uring_ring {
    struct io_uring ring;
    int device;     /* the FUSE device */
    unsigned queue; /* the core whose requests it is about */
};

/* room: for completions at once. 0 or a negative errno: -ENOSYS, -EPERM where io_uring is forbidden, -EMFILE, ... */
int fuse_uring_ring_init(struct fuse_uring_ring *ring, int device, unsigned queue, unsigned room)
    __attribute__((warn_unused_result));
void fuse_uring_ring_fini(struct fuse_uring_ring *ring);

/* The calling thread takes it over; first of all. */
void fuse_uring_ring_enable(struct fuse_uring_ring *ring);

/* Gives the kernel an entry, to leave requests in. */
void fuse_uring_ring_register(struct fuse_uring_ring *ring, struct fuse_uring_entry *entry);

/* Gives the kernel the reply in the entry and asks for the next request, which comes out of this ring. */
void fuse_uring_ring_commit(struct fuse_uring_ring *ring, struct fuse_uring_entry *entry);

/* Something comes out, once, when the eventfd can be read. */
void fuse_uring_ring_watch(struct fuse_uring_ring *ring, int eventfd);

/* Sends what was put in, without waiting. 0 or a negative errno. */
int fuse_uring_ring_send(struct fuse_uring_ring *ring) __attribute__((warn_unused_result));

/* What has come out, if anything: the entry, NULL being what is watched; *result as the kernel says, 0 for a request. */
bool fuse_uring_ring_take(struct fuse_uring_ring *ring, struct fuse_uring_entry **entry, int *result);

/* Sends what was put in and blocks until something comes out. 0 or a negative errno. */
int fuse_uring_ring_wait(struct fuse_uring_ring *ring, struct fuse_uring_entry **entry, int *result)
    __attribute__((warn_unused_result));

#endif
