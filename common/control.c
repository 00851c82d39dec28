/* SPDX-License-Identifier: Apache-2.0 */
#include "common/control.h"

#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/scope.h"

enum { FRAME_LIMIT = WIRE_HEADER_BYTES + WIRE_BODY_LIMIT, RECONNECT_MIN_MS = 20, RECONNECT_MAX_MS = 250, SMALL_BODY = 2048, REPLIES_QUEUED = 128 };

static int to_errno(int nng_error)
{
    switch (nng_error) {
    case 0:
        return 0;
    case NNG_EADDRINUSE:
        return -EADDRINUSE;
    case NNG_EADDRINVAL:
        return -EHOSTUNREACH;
    case NNG_ETIMEDOUT:
        return -ETIMEDOUT;
    case NNG_EAGAIN:
        return -EAGAIN;
    case NNG_ECLOSED:
    case NNG_ECANCELED:
        return -ECANCELED;
    case NNG_ENOMEM:
        return -ENOMEM;
    case NNG_EPERM:
        return -EACCES;
    }
    return nng_error & NNG_ESYSERR ? -(nng_error & ~NNG_ESYSERR) : -EIO;
}

static void make_url(const struct address *address, char *url, size_t room)
{
    char text[ADDRESS_TEXT];
    struct address any = *address;
    if (any.host[0] == '\0')
        strcpy(any.host, "0.0.0.0");
    (void)snprintf(url, room, "tcp://%s", units_format_address(&any, text));
}

/* Checks the frame that a message holds. */
static int open_frame(nng_msg *message, struct wire_header *header, const void **body)
{
    const uint8_t *data = nng_msg_body(message);
    size_t bytes = nng_msg_len(message);
    if (bytes < WIRE_HEADER_BYTES || wire_get_header(data, header) < 0 || header->payload_bytes ||
        header->body_bytes != bytes - WIRE_HEADER_BYTES)
        return -EBADMSG;
    *body = data + WIRE_HEADER_BYTES;
    return 0;
}

/* A message with header and encoded value; value NULL: empty body. */
static nng_msg *make_message(struct wire_header *header, const union wire_any *value)
{
    uint8_t small[SMALL_BODY], head[WIRE_HEADER_BYTES];
    size_t bytes = 0;
    uint8_t *body = value ? wire_encode(header->type, value, small, sizeof small, &bytes) : small;
    nng_msg *message;
    CHECK(body);
    header->body_bytes = (uint32_t)bytes;
    wire_put_header(head, header);
    CHECK(nng_msg_alloc(&message, 0) == 0);
    CHECK(nng_msg_append(message, head, sizeof head) == 0 && nng_msg_append(message, body, bytes) == 0);
    if (body != small)
        free(body);
    return message;
}

/* ---- server: a raw reply socket, so that any number of requests can be held ---- */

struct control_server {
    nng_socket socket;
    int fd;
    uint64_t bad_frames;
};

struct control_request {
    nng_msg *message;
    struct wire_header header;
};

static int bound_to(nng_listener listener, const struct address *asked, struct address *bound)
{
    nng_sockaddr name;
    *bound = *asked;
    int rc = nng_listener_get_addr(listener, NNG_OPT_LOCADDR, &name);
    if (rc)
        return to_errno(rc);
    uint16_t port = name.s_family == NNG_AF_INET6 ? name.s_in6.sa_port : name.s_in.sa_port;
    bound->port = (uint16_t)(port >> 8 | port << 8);
    return 0;
}

int control_listen(const struct address *address, struct address *bound, struct control_server **server)
{
    char url[ADDRESS_TEXT + 8];
    struct control_server *s = check_alloc(calloc(1, sizeof *s));
    nng_listener listener;
    make_url(address, url, sizeof url);
    int rc = nng_rep0_open_raw(&s->socket);
    if (rc) {
        free(s);
        return to_errno(rc);
    }
    rc = nng_socket_set_size(s->socket, NNG_OPT_RECVMAXSZ, FRAME_LIMIT);
    if (rc == 0)
        rc = nng_socket_set_int(s->socket, NNG_OPT_SENDBUF, REPLIES_QUEUED);
    if (rc == 0)
        rc = nng_socket_get_int(s->socket, NNG_OPT_RECVFD, &s->fd);
    if (rc == 0)
        rc = nng_listen(s->socket, url, &listener, 0);
    rc = to_errno(rc);
    if (rc == 0 && bound)
        rc = bound_to(listener, address, bound);
    if (rc < 0) {
        control_server_destroy(s);
        return rc;
    }
    *server = s;
    return 0;
}

void control_server_destroy(struct control_server *server)
{
    if (!server)
        return;
    (void)nng_close(server->socket);
    free(server);
}

int control_server_fd(const struct control_server *server)
{
    return server->fd;
}

uint64_t control_bad_frames(const struct control_server *server)
{
    return server->bad_frames;
}

int control_recv(struct control_server *server, struct control_request **request, struct wire_header *header,
                 const void **body)
{
    nng_msg *message;
    while (nng_recvmsg(server->socket, &message, NNG_FLAG_NONBLOCK) == 0) {
        if (open_frame(message, header, body) == 0 && !(header->type & WIRE_REPLY)) {
            *request = check_alloc(calloc(1, sizeof **request));
            **request = (struct control_request){message, *header};
            return 1;
        }
        server->bad_frames++;
        nng_msg_free(message);
    }
    return 0;
}

void control_reply(struct control_server *server, struct control_request *request, uint16_t status,
                   const union wire_any *value)
{
    struct wire_header header = {
        .type = request->header.type | WIRE_REPLY, .status = status, .sequence = request->header.sequence};
    nng_msg *reply = make_message(&header, status == WIRE_OK ? value : NULL);
    /* In raw mode the way back is in the message's header. */
    int rc = nng_msg_header_append(reply, nng_msg_header(request->message), nng_msg_header_len(request->message));
    /* Without NONBLOCK: a queue that is full for a moment must not cost the reply. nng empties it at once, dropping what
     * is for a client that does not read, so this does not wait for anybody. */
    if (rc || nng_sendmsg(server->socket, reply, 0) != 0)
        nng_msg_free(reply);
    control_drop(request);
}

void control_drop(struct control_request *request)
{
    nng_msg_free(request->message);
    free(request);
}

/* ---- client ---- */

struct control_client {
    nng_socket socket;
    pthread_mutex_t lock; /* one call at a time */
    nng_msg *last;        /* the reply that the caller's value points into */
    uint32_t sequence;
};

int control_connect(const struct address *address, struct control_client **client)
{
    char url[ADDRESS_TEXT + 8];
    struct control_client *c = check_alloc(calloc(1, sizeof *c));
    make_url(address, url, sizeof url);
    int rc = nng_req0_open(&c->socket);
    if (rc) {
        free(c);
        return to_errno(rc);
    }
    (void)pthread_mutex_init(&c->lock, NULL);
    rc = nng_socket_set_size(c->socket, NNG_OPT_RECVMAXSZ, FRAME_LIMIT);
    if (rc == 0)
        rc = nng_socket_set_ms(c->socket, NNG_OPT_RECONNMINT, RECONNECT_MIN_MS);
    if (rc == 0)
        rc = nng_socket_set_ms(c->socket, NNG_OPT_RECONNMAXT, RECONNECT_MAX_MS);
    if (rc == 0)
        rc = nng_dial(c->socket, url, NULL, NNG_FLAG_NONBLOCK);
    if (rc) {
        control_client_destroy(c);
        return to_errno(rc);
    }
    *client = c;
    return 0;
}

void control_client_cancel(struct control_client *client)
{
    (void)nng_close(client->socket);
}

void control_client_destroy(struct control_client *client)
{
    if (!client)
        return;
    (void)nng_close(client->socket);
    if (client->last)
        nng_msg_free(client->last);
    (void)pthread_mutex_destroy(&client->lock);
    free(client);
}

int control_call(struct control_client *client, uint16_t type, const union wire_any *request, int timeout_ms,
                 struct wire_header *reply, union wire_any *value)
{
    SCOPE_UNLOCK(&client->lock);
    struct wire_header header = {.type = type, .sequence = ++client->sequence};
    const void *body;
    if (client->last)
        nng_msg_free(client->last);
    client->last = NULL;
    (void)nng_socket_set_ms(client->socket, NNG_OPT_SENDTIMEO, timeout_ms);
    (void)nng_socket_set_ms(client->socket, NNG_OPT_RECVTIMEO, timeout_ms);
    nng_msg *message = make_message(&header, request);
    int rc = nng_sendmsg(client->socket, message, 0);
    if (rc) {
        nng_msg_free(message);
        return to_errno(rc);
    }
    rc = nng_recvmsg(client->socket, &client->last, 0);
    if (rc) {
        client->last = NULL;
        return to_errno(rc);
    }
    if (open_frame(client->last, reply, &body) < 0 || reply->type != (type | WIRE_REPLY) ||
        reply->sequence != header.sequence)
        return -EBADMSG;
    return reply->status == WIRE_OK ? wire_get_any(reply->type, body, reply->body_bytes, value) : 0;
}
