/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that travel with frames over Unix sockets.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/stream.h"

/* One is what a correct peer sends; more than this many are cut off and closed by the kernel. */
enum { FDS_LIMIT = 4 };

union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(FDS_LIMIT * sizeof(int))];
};

void stream_expect_fd(struct stream *stream)
{
    stream->takes_fd = true;
    stream->taken_fd = -1;
}

static void keep(struct stream *stream, int fd)
{
    if (stream->taken_fd >= 0)
        (void)close(stream->taken_fd);
    stream->taken_fd = fd;
}

int stream_take_fd(struct stream *stream)
{
    if (!stream->takes_fd)
        return -1;
    int fd = stream->taken_fd;
    stream->taken_fd = -1;
    return fd;
}

/* False: nothing came in time. */
static bool wait_for_data(const struct stream *stream)
{
    struct pollfd one = {.fd = stream->fd, .events = POLLIN};
    int n;
    do {
        n = poll(&one, 1, stream->timeout_ms ? stream->timeout_ms : -1);
    } while (n < 0 && errno == EINTR);
    return n != 0; /* an error shows when it is read */
}

ssize_t stream_fd_receive(struct stream *stream, void *into, size_t room, int flags)
{
    union control control;
    struct iovec piece = {into, room};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (!(flags & MSG_DONTWAIT) && !wait_for_data(stream)) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t n = recvmsg(stream->fd, &message, flags | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return n;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, (const char *)c + at, sizeof fd);
            keep(stream, fd);
        }
    }
    return n;
}

int stream_send_fd(struct stream *stream, const struct wire_header *header, const void *body, int fd)
{
    uint8_t head[WIRE_HEADER_BYTES];
    union control control;
    struct iovec pieces[2] = {{head, sizeof head}, {(void *)(uintptr_t)body, header->body_bytes}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2, .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(sizeof fd)};
    memset(&control, 0, sizeof control);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    wire_put_header(head, header);
    ssize_t n;
    do {
        n = sendmsg(stream->fd, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? -ETIMEDOUT : -errno;
    /* Frames with a descriptor are small; a socket that does not take one at once has a peer that does not read. */
    return (size_t)n == sizeof head + header->body_bytes ? 0 : -EMSGSIZE;
}
