/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fuse_uring_ring.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>

#include "client/fuse_uring_entry.h"
#include "common/check.h"

/* Of the kernel's FUSE protocol 7.42, newer than the headers may be. */
enum { COMMAND_REGISTER = 1, COMMAND_COMMIT_AND_FETCH = 2 };

struct command { /* lies behind a submission of 128 bytes */
    uint64_t flags, commit_id;
    uint16_t queue;
    uint8_t padding[6];
};

enum { SUBMISSIONS = FUSE_URING_RING_PUT };

int fuse_uring_ring_init(struct fuse_uring_ring *ring, int device, unsigned queue, unsigned room)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
                                              IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED,
                                     .cq_entries = room < SUBMISSIONS ? SUBMISSIONS : room};
    ring->device = device;
    ring->queue = queue;
    return io_uring_queue_init_params(SUBMISSIONS, &ring->ring, &params);
}

void fuse_uring_ring_fini(struct fuse_uring_ring *ring)
{
    io_uring_queue_exit(&ring->ring);
}

void fuse_uring_ring_enable(struct fuse_uring_ring *ring)
{
    CHECK(io_uring_enable_rings(&ring->ring) == 0);
    (void)io_uring_register_ring_fd(&ring->ring); /* only quicker */
}

static struct io_uring_sqe *next_submission(struct fuse_uring_ring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->ring);
    if (!sqe) {
        (void)io_uring_submit(&ring->ring);
        sqe = io_uring_get_sqe(&ring->ring);
    }
    CHECK(sqe);
    memset(sqe, 0, 2 * sizeof *sqe);
    return sqe;
}

static struct io_uring_sqe *put_command(struct fuse_uring_ring *ring, struct fuse_uring_entry *entry, uint32_t number,
                                        uint64_t commit_id)
{
    struct io_uring_sqe *sqe = next_submission(ring);
    const struct command command = {.commit_id = commit_id, .queue = (uint16_t)ring->queue};
    sqe->opcode = IORING_OP_URING_CMD;
    sqe->fd = ring->device;
    sqe->cmd_op = number;
    memcpy((uint8_t *)sqe + offsetof(struct io_uring_sqe, cmd), &command, sizeof command);
    io_uring_sqe_set_data(sqe, entry);
    return sqe;
}

void fuse_uring_ring_register(struct fuse_uring_ring *ring, struct fuse_uring_entry *entry)
{
    struct io_uring_sqe *sqe = put_command(ring, entry, COMMAND_REGISTER, 0);
    sqe->addr = (uintptr_t)entry->pieces;
    sqe->len = 2;
}

void fuse_uring_ring_commit(struct fuse_uring_ring *ring, struct fuse_uring_entry *entry)
{
    (void)put_command(ring, entry, COMMAND_COMMIT_AND_FETCH, entry->unique);
}

void fuse_uring_ring_watch(struct fuse_uring_ring *ring, int eventfd)
{
    struct io_uring_sqe *sqe = next_submission(ring);
    io_uring_prep_poll_add(sqe, eventfd, POLLIN);
    io_uring_sqe_set_data(sqe, NULL);
}

int fuse_uring_ring_send(struct fuse_uring_ring *ring)
{
    int rc = io_uring_submit(&ring->ring);
    return rc < 0 ? rc : 0;
}

bool fuse_uring_ring_take(struct fuse_uring_ring *ring, struct fuse_uring_entry **entry, int *result)
{
    struct io_uring_cqe *cqe;
    if (io_uring_cq_ready(&ring->ring) == 0 || io_uring_peek_cqe(&ring->ring, &cqe) < 0)
        return false;
    *entry = io_uring_cqe_get_data(cqe);
    *result = cqe->res;
    io_uring_cqe_seen(&ring->ring, cqe);
    return true;
}

int fuse_uring_ring_wait(struct fuse_uring_ring *ring, struct fuse_uring_entry **entry, int *result)
{
    if (io_uring_sq_ready(&ring->ring) == 0 && fuse_uring_ring_take(ring, entry, result))
        return 0;
    do {
        int rc = io_uring_submit_and_wait(&ring->ring, 1);
        if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
            return rc;
    } while (!fuse_uring_ring_take(ring, entry, result));
    return 0;
}
