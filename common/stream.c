/* SPDX-License-Identifier: Apache-2.0 */
#include "common/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"

/* Large enough for a small read's reply in one go; small enough that copying out of it costs nothing. */
enum { BUFFER_BYTES = 16 * 1024, CALL_BODY_BYTES = 2048, PIECES_LIMIT = 8 };

void stream_init(struct stream *stream, int fd)
{
    *stream = (struct stream){.fd = fd, .buffer = check_alloc(malloc(BUFFER_BYTES)), .room = BUFFER_BYTES};
}

void stream_close(struct stream *stream)
{
    if (stream->fd >= 0)
        (void)close(stream->fd);
    if (stream->takes_fd && stream->taken_fd >= 0)
        (void)close(stream->taken_fd);
    free(stream->buffer);
    *stream = (struct stream){.fd = -1};
}

static int socket_error(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK ? -ETIMEDOUT : -errno;
}

/* Moves an iovec array past what was sent. */
static void advance(struct iovec **at, int *count, size_t sent)
{
    while (*count && sent >= (*at)->iov_len) {
        sent -= (*at)->iov_len;
        (*at)++;
        (*count)--;
    }
    if (*count) {
        (*at)->iov_base = (char *)(*at)->iov_base + sent;
        (*at)->iov_len -= sent;
    }
}

int stream_send(struct stream *stream, const struct wire_header *header, const void *body, const struct iovec *payload,
                int payload_count)
{
    uint8_t head[WIRE_HEADER_BYTES];
    struct iovec pieces[PIECES_LIMIT + 2], *at = pieces;
    int count = 0;
    CHECK(payload_count <= PIECES_LIMIT);
    wire_put_header(head, header);
    pieces[count++] = (struct iovec){head, sizeof head};
    if (header->body_bytes)
        pieces[count++] = (struct iovec){(void *)(uintptr_t)body, header->body_bytes};
    for (int i = 0; i < payload_count; i++)
        pieces[count++] = payload[i];
    while (count) {
        struct msghdr message = {.msg_iov = at, .msg_iovlen = (size_t)count};
        ssize_t n = sendmsg(stream->fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return socket_error();
        advance(&at, &count, (size_t)n);
    }
    return 0;
}

static void make_room(struct stream *stream, size_t total)
{
    size_t have = stream->end - stream->start;
    if (stream->room < total) {
        stream->buffer = check_alloc(realloc(stream->buffer, total));
        stream->room = total;
    }
    if (stream->start && stream->start + total > stream->room) {
        memmove(stream->buffer, stream->buffer + stream->start, have);
        stream->start = 0;
        stream->end = have;
    }
}

/* One receive into the buffer's free end. */
static int fill(struct stream *stream, int flags)
{
    for (;;) {
        uint8_t *into = stream->buffer + stream->end;
        size_t room = stream->room - stream->end;
        ssize_t n = stream->takes_fd ? stream_fd_receive(stream, into, room, flags) : recv(stream->fd, into, room, flags);
        if (n > 0) {
            stream->end += (size_t)n;
            return 0;
        }
        if (n == 0)
            return -ECONNRESET;
        if (errno == EINTR)
            continue;
        return flags & MSG_DONTWAIT && (errno == EAGAIN || errno == EWOULDBLOCK) ? -EAGAIN : socket_error();
    }
}

/* Until `total` bytes are buffered. */
static int need(struct stream *stream, size_t total, int flags)
{
    if (stream->start == stream->end)
        stream->start = stream->end = 0;
    make_room(stream, total);
    while (stream->end - stream->start < total) {
        int rc = fill(stream, flags);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int receive(struct stream *stream, struct wire_header *header, const void **body, int flags)
{
    int rc = need(stream, WIRE_HEADER_BYTES, flags);
    if (rc < 0)
        return rc;
    rc = wire_get_header(stream->buffer + stream->start, header);
    if (rc < 0)
        return rc;
    rc = need(stream, WIRE_HEADER_BYTES + (size_t)header->body_bytes, flags);
    if (rc < 0)
        return rc;
    *body = stream->buffer + stream->start + WIRE_HEADER_BYTES;
    stream->start += WIRE_HEADER_BYTES + (size_t)header->body_bytes;
    return 0;
}

int stream_recv(struct stream *stream, struct wire_header *header, const void **body)
{
    return receive(stream, header, body, 0);
}

int stream_try_recv(struct stream *stream, struct wire_header *header, const void **body)
{
    int rc = receive(stream, header, body, MSG_DONTWAIT);
    if (rc == -EAGAIN)
        return 0;
    if (rc < 0)
        return rc;
    return header->payload_bytes ? -EBADMSG : 1;
}

int stream_recv_payload(struct stream *stream, void *into, size_t bytes)
{
    uint8_t *at = (uint8_t *)into;
    size_t have = stream->end - stream->start;
    if (have > bytes)
        have = bytes;
    memcpy(at, stream->buffer + stream->start, have);
    stream->start += have;
    at += have;
    bytes -= have;
    while (bytes) {
        ssize_t n = recv(stream->fd, at, bytes, MSG_WAITALL);
        if (n == 0)
            return -ECONNRESET;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return socket_error();
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int stream_skip_payload(struct stream *stream, size_t bytes)
{
    uint8_t waste[4096];
    while (bytes) {
        size_t n = bytes < sizeof waste ? bytes : sizeof waste;
        int rc = stream_recv_payload(stream, waste, n);
        if (rc < 0)
            return rc;
        bytes -= n;
    }
    return 0;
}

int stream_call(struct stream *stream, uint16_t type, uint32_t sequence, const union wire_any *value,
                struct wire_header *reply, const void **body)
{
    uint8_t small[CALL_BODY_BYTES];
    size_t bytes;
    uint8_t *request = wire_encode(type, value, small, sizeof small, &bytes);
    if (!request)
        return -EMSGSIZE;
    struct wire_header header = {.body_bytes = (uint32_t)bytes, .type = type, .sequence = sequence};
    int rc = stream_send(stream, &header, request, NULL, 0);
    if (request != small)
        free(request);
    if (rc == 0)
        rc = stream_recv(stream, reply, body);
    if (rc == 0 && (reply->type != (type | WIRE_REPLY) || reply->sequence != sequence))
        rc = -EBADMSG;
    return rc;
}
