/* SPDX-License-Identifier: Apache-2.0
 *
 * A server for tests of clients: listens on loopback, one thread a connection, and asks the test's handler what to answer to
 * each request. The handler may also break the connection. For one test program; not for production.
 */
#ifndef CALF_TESTS_FAKE_PEER_H
#define CALF_TESTS_FAKE_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/stream.h"

struct fake_request {
    uint32_t slot; /* of the connection's hello */
    uint32_t sequence;
    uint16_t type;
    union wire_any value;
    const uint8_t *payload;
    uint32_t payload_bytes;
};

struct fake_reply {
    uint16_t status;
    bool break_connection; /* instead of an answer */
    union wire_any value;
    const void *payload;
    uint32_t payload_bytes;
    _Alignas(8) uint8_t scratch[8192]; /* for lists and bytes that the value points to */
};

struct fake_peer {
    void (*handle)(void *context, const struct fake_request *request, struct fake_reply *reply);
    void *context;
    struct address address;
    int listen_fd;
    atomic_int connections; /* made so far */
    pthread_t thread;
};

struct fake_connection {
    struct fake_peer *peer;
    struct stream stream;
};

static inline int fake_peer_answer(struct fake_connection *c, const struct fake_request *request, struct fake_reply *reply)
{
    static const size_t body_room = 65536;
    uint8_t *body = check_alloc(malloc(body_room));
    struct wire_out out = wire_out_on(body, body_room);
    uint16_t type = (uint16_t)(request->type | WIRE_REPLY);
    bool with_body = reply->status == WIRE_OK || request->type == WIRE_TYPE_chunk_write;
    CHECK(!with_body || wire_put_any(type, &out, &reply->value) == 0);
    struct wire_header header = {.body_bytes = (uint32_t)out.used,
                                 .payload_bytes = reply->payload_bytes,
                                 .type = type,
                                 .status = reply->status,
                                 .sequence = request->sequence};
    struct iovec payload = {(void *)(uintptr_t)reply->payload, reply->payload_bytes};
    int rc = stream_send(&c->stream, &header, body, &payload, reply->payload_bytes ? 1 : 0);
    free(body);
    return rc;
}

static inline void *fake_peer_serve(void *argument)
{
    struct fake_connection *c = argument;
    static const size_t payload_room = WIRE_PAYLOAD_LIMIT;
    uint8_t *payload = check_alloc(malloc(payload_room));
    struct fake_reply *reply = check_alloc(malloc(sizeof *reply));
    uint32_t slot = 0;
    for (;;) {
        struct wire_header header;
        const void *body;
        struct fake_request request;
        if (stream_recv(&c->stream, &header, &body) < 0)
            break;
        CHECK(wire_get_any(header.type, body, header.body_bytes, &request.value) == 0);
        if (header.payload_bytes && stream_recv_payload(&c->stream, payload, header.payload_bytes) < 0)
            break;
        if (header.type == WIRE_TYPE_hello)
            slot = request.value.hello.slot;
        request.slot = slot;
        request.type = header.type;
        request.sequence = header.sequence;
        request.payload = payload;
        request.payload_bytes = header.payload_bytes;
        memset(reply, 0, sizeof *reply);
        c->peer->handle(c->peer->context, &request, reply);
        if (reply->break_connection || fake_peer_answer(c, &request, reply) < 0)
            break;
    }
    stream_close(&c->stream);
    free(reply);
    free(payload);
    free(c);
    return NULL;
}

static inline void *fake_peer_accept(void *argument)
{
    struct fake_peer *peer = argument;
    for (;;) {
        struct fake_connection *c = check_alloc(calloc(1, sizeof *c));
        pthread_t thread;
        c->peer = peer;
        if (stream_accept(peer->listen_fd, &c->stream) < 0) {
            free(c);
            return NULL;
        }
        atomic_fetch_add(&peer->connections, 1);
        CHECK(pthread_create(&thread, NULL, fake_peer_serve, c) == 0);
        (void)pthread_detach(thread);
    }
}

/* port 0: any. */
static inline void fake_peer_start(struct fake_peer *peer, uint16_t port,
                                   void (*handle)(void *, const struct fake_request *, struct fake_reply *), void *context)
{
    struct address any = {.host = "127.0.0.1", .port = port};
    peer->handle = handle;
    peer->context = context;
    atomic_store(&peer->connections, 0);
    CHECK(stream_listen(&any, &peer->listen_fd, &peer->address) == 0);
    CHECK(pthread_create(&peer->thread, NULL, fake_peer_accept, peer) == 0);
}

/* Connections that are still open end when their clients close them. */
static inline void fake_peer_stop(struct fake_peer *peer)
{
    (void)shutdown(peer->listen_fd, SHUT_RDWR);
    (void)pthread_join(peer->thread, NULL);
    (void)close(peer->listen_fd);
}

#endif
