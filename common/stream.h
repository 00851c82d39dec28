/* SPDX-License-Identifier: Apache-2.0
 *
 * Framed stream sockets (TCP, or Unix where the host part of an address is a path): the path of metadata and data.
 *
 * A stream belongs to one thread at a time; nothing here locks. What arrives goes through a small buffer, so that header
 * and body of a small frame cost one system call; a payload larger than what is already buffered is received straight
 * into its place. After any error but -EAGAIN a stream is of no use: close it.
 *
 * Two styles: blocking with timeouts (clients, chunkservers) and non-blocking under epoll (the master).
 */
#ifndef CALF_STREAM_H
#define CALF_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/units.h"
#include "common/wire.h"

struct stream {
    int fd; /* -1: closed */
    uint8_t *buffer;
    size_t room, start, end; /* received and not yet taken: buffer[start, end) */
    bool takes_fd;           /* descriptors that come with a frame are kept, the last of them: */
    int taken_fd;            /* -1: none */
    int timeout_ms;          /* 0: none */
};

/* A listening socket. Host "" or "0.0.0.0": any address; an absolute path as host: a Unix socket, made anew. *bound, if not
 * NULL, gets the address with the port that the kernel picked for port 0. 0; negative errno (-EADDRINUSE, ...). */
int stream_listen(const struct address *address, int *fd, struct address *bound) __attribute__((warn_unused_result));

/* Accepts from a listening socket; blocks unless it is non-blocking (-EAGAIN). */
int stream_accept(int listen_fd, struct stream *stream) __attribute__((warn_unused_result));

/* Connects; blocks for timeout_ms at most, name resolution not counted. -ETIMEDOUT, -ECONNREFUSED, -EHOSTUNREACH (also
 * for a name that does not resolve), ... The new stream has the same timeout for each send and receive. */
int stream_connect(const struct address *address, int timeout_ms, struct stream *stream)
    __attribute__((warn_unused_result));

/* Takes over fd (blocking). The receive buffer is small and grows to hold a frame's header and body. */
void stream_init(struct stream *stream, int fd);
void stream_close(struct stream *stream); /* may be called twice */

/* Each later send and receive gives up with -ETIMEDOUT when nothing moved for that long. 0: never. */
int stream_set_timeout(struct stream *stream, int timeout_ms) __attribute__((warn_unused_result));

/* ---- blocking ---- */

/* Sends one frame, header->body_bytes of body, and header->payload_bytes of payload from the pieces; one system call
 * unless the socket is full. 0; -ETIMEDOUT, -EPIPE, ... */
int stream_send(struct stream *stream, const struct wire_header *header, const void *body, const struct iovec *payload,
                int payload_count) __attribute__((warn_unused_result));

/* Receives header and body. *body points into the stream's buffer and is valid until the next receive. A payload, if
 * header->payload_bytes > 0, must be taken next, by stream_recv_payload or stream_skip_payload.
 * 0; -ETIMEDOUT; -ECONNRESET at the end of the stream; -EBADMSG for a malformed header. */
int stream_recv(struct stream *stream, struct wire_header *header, const void **body) __attribute__((warn_unused_result));

/* Receives `bytes` of payload into place. body of the same frame stays valid. */
int stream_recv_payload(struct stream *stream, void *into, size_t bytes) __attribute__((warn_unused_result));
int stream_skip_payload(struct stream *stream, size_t bytes) __attribute__((warn_unused_result));

/* True if something has been received and not taken: poll(2) would not tell. */
static inline bool stream_has_buffered(const struct stream *stream)
{
    return stream->end > stream->start;
}

/* ---- descriptors, over Unix sockets (stream_fd.c) ---- */

/* From now on a descriptor that comes with a frame's header or body is kept; without this the kernel closes it. */
void stream_expect_fd(struct stream *stream);

/* What came with the frame received last: the caller's; -1: none. */
int stream_take_fd(struct stream *stream);

/* stream_send of a frame without payload, with a copy of fd. */
int stream_send_fd(struct stream *stream, const struct wire_header *header, const void *body, int fd)
    __attribute__((warn_unused_result));

/* recv(2) that keeps a descriptor, and waits in poll(2): who waits in recv(2) on a Unix socket is woken also when the other end takes what
 * was sent to it (unix_write_space in the kernel's net/unix/af_unix.c wakes all who wait on the socket), twice as many
 * switches for a request and its reply. For stream.c. */
ssize_t stream_fd_receive(struct stream *stream, void *into, size_t room, int flags);

/* ---- non-blocking (frames without payload) ---- */

/* Takes what the socket has. 1: a whole frame is there, header and *body set, valid until the next call; 0: not yet;
 * -ECONNRESET at the end; -EBADMSG for a malformed header or one with a payload. Call again until it says 0. */
int stream_try_recv(struct stream *stream, struct wire_header *header, const void **body)
    __attribute__((warn_unused_result));

/* ---- what both do ---- */

/* Sends a request that encodes `value` (type without WIRE_REPLY) and receives its reply's header and body; blocks.
 * -EMSGSIZE if value breaks a limit of the schema; -EBADMSG if what comes is not the reply to it. The reply's status is in header->status. */
int stream_call(struct stream *stream, uint16_t type, uint32_t sequence, const union wire_any *value,
                struct wire_header *reply, const void **body) __attribute__((warn_unused_result));

#endif
