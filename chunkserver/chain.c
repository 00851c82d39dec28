/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/chain.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"

enum { KEPT_LIMIT = 64, TIMEOUT_MS = 4000, TIMEOUT_MORE_MS = 3000 /* for each server further down */ };

struct kept_stream {
    struct stream stream;
    int timeout_ms;
};

struct chain_peer {
    struct chain_peer *next;
    uint32_t server_id;
    struct address address;
    int64_t logged_ns;
    unsigned count;
    struct kept_stream kept[KEPT_LIMIT]; /* the last one in is the first one out: it is the warmest */
};

struct chain {
    const struct store *store;
    pthread_mutex_t lock; /* peers and what they keep */
    struct chain_peer *peers;
};

struct chain *chain_create(const struct store *store)
{
    struct chain *chain = check_alloc(calloc(1, sizeof *chain));
    chain->store = store;
    CHECK(pthread_mutex_init(&chain->lock, NULL) == 0);
    return chain;
}

void chain_destroy(struct chain *chain)
{
    struct chain_peer *next;
    for (struct chain_peer *peer = chain->peers; peer; peer = next) {
        next = peer->next;
        while (peer->count)
            stream_close(&peer->kept[--peer->count].stream);
        free(peer);
    }
    (void)pthread_mutex_destroy(&chain->lock);
    free(chain);
}

int chain_connect(const struct store *store, const struct address *address, uint32_t server_id, int timeout_ms,
                  struct stream *stream)
{
    char node[WIRE_HOST_LIMIT + 1] = "";
    (void)gethostname(node, sizeof node - 1);
    union wire_any hello = {.hello = {.protocol = WIRE_PROTOCOL,
                                      .role = WIRE_ROLE_CHUNKSERVER,
                                      .cluster = store->identity.cluster,
                                      .server = server_id,
                                      .node = wire_text(node)}};
    struct wire_header reply;
    const void *body;
    int rc = stream_connect(address, timeout_ms, stream);
    if (rc < 0)
        return rc;
    rc = stream_call(stream, WIRE_TYPE_hello, 0, &hello, &reply, &body);
    if (rc == 0 && reply.status != WIRE_OK)
        rc = -wire_status_errno(reply.status);
    if (rc < 0)
        stream_close(stream);
    return rc;
}

/* ---- kept connections ---- */

static struct chain_peer *find_peer_locked(const struct chain_call *call)
{
    const struct address *address = &call->address;
    struct chain *chain = call->chain;
    struct chain_peer *peer = chain->peers;
    while (peer && (peer->server_id != call->server_id || peer->address.port != address->port ||
                    strcmp(peer->address.host, address->host) != 0))
        peer = peer->next;
    if (!peer) {
        peer = check_alloc(calloc(1, sizeof *peer));
        peer->server_id = call->server_id;
        peer->address = *address;
        peer->next = chain->peers;
        chain->peers = peer;
    }
    return peer;
}

static bool take_kept(struct chain_call *call)
{
    struct kept_stream kept;
    {
        SCOPE_UNLOCK(&call->chain->lock);
        call->peer = find_peer_locked(call);
        if (call->peer->count == 0)
            return false;
        kept = call->peer->kept[--call->peer->count];
    }
    call->stream = kept.stream;
    if (kept.timeout_ms != call->timeout_ms)
        call->error = stream_set_timeout(&call->stream, call->timeout_ms);
    return true;
}

static void keep(struct chain_call *call)
{
    {
        SCOPE_UNLOCK(&call->chain->lock);
        struct chain_peer *peer = call->peer;
        if (peer->count < KEPT_LIMIT) {
            peer->kept[peer->count++] = (struct kept_stream){call->stream, call->timeout_ms};
            return;
        }
    }
    stream_close(&call->stream);
}

/* When a server dies, what was kept to it is dead too: the next call should not try one after the other. */
static void forget_kept(struct chain_call *call)
{
    for (;;) {
        struct stream stream;
        {
            SCOPE_UNLOCK(&call->chain->lock);
            if (call->peer->count == 0)
                return;
            stream = call->peer->kept[--call->peer->count].stream;
        }
        stream_close(&stream);
    }
}

/* ---- a call ---- */

static void send_frame(struct chain_call *call)
{
    struct iovec payload = {(void *)(uintptr_t)call->payload, call->header.payload_bytes};
    if (call->error == 0)
        call->error = stream_send(&call->stream, &call->header, call->body, &payload, payload.iov_len ? 1 : 0);
}

static void send_on_new(struct chain_call *call)
{
    call->kept = false;
    call->error = chain_connect(call->chain->store, &call->address, call->server_id, call->timeout_ms, &call->stream);
    send_frame(call);
}

static void send_again(struct chain_call *call)
{
    stream_close(&call->stream);
    forget_kept(call);
    send_on_new(call);
}

void chain_start(struct chain *chain, struct chain_call *call, const struct wire_chunk_write *write,
                 const void *payload, uint32_t payload_bytes, void *body, size_t body_room)
{
    struct wire_chunk_write onward = *write;
    struct wire_server server;
    *call = (struct chain_call){.chain = chain, .body = body, .payload = payload, .stream.fd = -1};
    CHECK(wire_next_server(&onward.chain, &server));
    call->server_id = server.id;
    call->timeout_ms = TIMEOUT_MS + TIMEOUT_MORE_MS * (int)onward.chain.count;
    if (!wire_copy_text(server.host, call->address.host, sizeof call->address.host)) {
        call->error = -EHOSTUNREACH;
        return;
    }
    call->address.port = server.port;
    struct wire_out out = wire_out_on(body, body_room);
    wire_put_chunk_write(&out, &onward);
    CHECK(!out.failed);
    call->header = (struct wire_header){
        .body_bytes = (uint32_t)out.used, .payload_bytes = payload_bytes, .type = WIRE_TYPE_chunk_write};
    call->kept = take_kept(call);
    if (!call->kept) {
        send_on_new(call);
        return;
    }
    send_frame(call);
    if (call->error < 0 && call->error != -ETIMEDOUT)
        send_again(call);
}

static int receive(struct chain_call *call, uint16_t *status, uint32_t *failed_server)
{
    struct wire_header reply;
    struct wire_chunk_write_reply answer = {.failed_server = 0};
    const void *body;
    int rc = stream_recv(&call->stream, &reply, &body);
    if (rc < 0)
        return rc;
    if (reply.type != (WIRE_TYPE_chunk_write | WIRE_REPLY) || reply.payload_bytes)
        return -EBADMSG;
    if (reply.body_bytes && wire_get_chunk_write_reply(body, reply.body_bytes, &answer) < 0)
        return -EBADMSG;
    *status = reply.status;
    *failed_server = answer.failed_server ? answer.failed_server : call->server_id;
    return 0;
}

/* One line each ten seconds for a server that cannot be used. */
static void log_failure(struct chain_call *call)
{
    char text[ADDRESS_TEXT];
    int64_t now = clock_mono_ns();
    {
        SCOPE_UNLOCK(&call->chain->lock);
        struct chain_peer *peer = find_peer_locked(call);
        if (peer->logged_ns && now - peer->logged_ns < 10 * NS_PER_S)
            return;
        peer->logged_ns = now;
    }
    log_warning("chunkserver %u at %s cannot be written to: %s", (unsigned)call->server_id,
                units_format_address(&call->address, text), strerror(-call->error));
}

uint16_t chain_finish(struct chain_call *call, uint32_t *failed_server)
{
    uint16_t status = WIRE_OK;
    if (call->error == 0) {
        call->error = receive(call, &status, failed_server);
        if (call->error < 0 && call->error != -ETIMEDOUT && call->kept) {
            send_again(call);
            if (call->error == 0)
                call->error = receive(call, &status, failed_server);
        }
    }
    if (call->error == 0) {
        keep(call);
        return status;
    }
    stream_close(&call->stream);
    log_failure(call);
    *failed_server = call->server_id;
    return call->error == -ETIMEDOUT ? WIRE_TIMED_OUT : WIRE_UNREACHABLE;
}
