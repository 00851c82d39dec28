/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries: the places in which the kernel leaves requests when they come by io_uring, one request at a time in each, and takes
 * their replies from. The kernel keeps the operation's headers and its payload apart; here both become one piece again, as
 * libfuse wants it, without moving the payload.
 *
 * An entry belongs to one thread at a time (fuse_uring.c). A request whose reply comes later, from any thread, is put aside
 * first. Everything an entry says while it is aside is under the lock of this file. For fuse_uring.c only.
 */
#ifndef CALF_FUSE_URING_ENTRY_H
#define CALF_FUSE_URING_ENTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct fuse_uring_queue;

struct fuse_uring_entry {
    struct fuse_uring_queue *queue;
    struct iovec pieces[2]; /* what the kernel is told at registering: headers, payload */
    uint64_t unique;        /* of the request it holds */
    bool replied, aside;
    pthread_cond_t answered;
    struct fuse_uring_entry *next; /* of those that are aside */
};

/* Memory for one, payload and all; untouched pages cost nothing. NULL if there is none. */
struct fuse_uring_entry *fuse_uring_entry_create(struct fuse_uring_queue *queue);
void fuse_uring_entry_destroy(struct fuse_uring_entry *entry);

/* The request that the kernel has left in it, in one piece; *bytes long, at least a header. NULL if it makes no sense. */
const void *fuse_uring_entry_request(struct fuse_uring_entry *entry, size_t *bytes);

/* Where file data is best put that will be the reply; only while nothing of the request lies there. NULL otherwise. */
uint8_t *fuse_uring_entry_room(const struct fuse_uring_entry *entry);

/* Lays a reply (pieces[0] is its header) into the entry, and says that it has one. */
void fuse_uring_entry_reply(struct fuse_uring_entry *entry, const struct iovec *pieces, int count);

/* The reply is an error, the given negative errno. */
void fuse_uring_entry_fail(struct fuse_uring_entry *entry, int error);

/* From now on its reply may come from any thread. */
void fuse_uring_entry_put_aside(struct fuse_uring_entry *entry);

/* If the reply is for an entry that is aside: lays it there and wakes who waits for it. */
bool fuse_uring_entry_reply_aside(const struct iovec *pieces, int count);

/* Blocks until an entry that is aside has its reply; it is aside no more then. */
void fuse_uring_entry_wait(struct fuse_uring_entry *entry);

#endif
