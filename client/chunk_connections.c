/* SPDX-License-Identifier: Apache-2.0 */
#include "client/chunk_connections.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/log_gate.h"
#include "common/check.h"
#include "common/checksum.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/stream.h"

enum {
    CONNECT_TIMEOUT_MS = 3000,
    REQUEST_TIMEOUT_MS = 15000, /* longer than a chunkserver waits for the next one in a chain */
    IDLE_LIMIT = 64,            /* connections kept for each server */
    SERVERS_LIMIT = 4096,
    /* Checksums, a whole chain and the other fields of a chunk_write. */
    WRITE_BODY_BYTES = 8 * WIRE_BLOCKS_LIMIT + WIRE_COPIES_LIMIT * (WIRE_HOST_LIMIT + 16) + 128,
};

struct connection {
    struct stream stream;
    uint32_t sequence;
    bool used_before; /* lay idle: that it is broken says nothing about the server */
    struct connection *next;
};

struct chunk_server {
    struct chunk_connections *set;
    uint32_t id;
    struct address address;
    struct chunk_server *next; /* immutable once in the list */
    struct log_gate gate;
    pthread_mutex_t lock; /* guards what follows */
    struct connection *idle;
    unsigned idle_count;
};

struct chunk_connections {
    uint64_t cluster;
    pthread_mutex_t lock; /* guards what follows */
    struct chunk_server *servers;
    unsigned server_count;
};

/* ---- the set ---- */

struct chunk_connections *chunk_connections_create(uint64_t cluster)
{
    struct chunk_connections *set = check_alloc(calloc(1, sizeof *set));
    set->cluster = cluster;
    (void)pthread_mutex_init(&set->lock, NULL);
    return set;
}

static void close_connection(struct connection *connection)
{
    stream_close(&connection->stream);
    free(connection);
}

static void close_idle(struct chunk_server *server)
{
    SCOPE_UNLOCK(&server->lock);
    while (server->idle) {
        struct connection *connection = server->idle;
        server->idle = connection->next;
        close_connection(connection);
    }
    server->idle_count = 0;
}

void chunk_connections_destroy(struct chunk_connections *set)
{
    if (!set)
        return;
    while (set->servers) {
        struct chunk_server *server = set->servers;
        set->servers = server->next;
        close_idle(server);
        (void)pthread_mutex_destroy(&server->lock);
        free(server);
    }
    (void)pthread_mutex_destroy(&set->lock);
    free(set);
}

static bool is_at(const struct chunk_server *server, const struct wire_server *place)
{
    return server->id == place->id && server->address.port == place->port &&
           strlen(server->address.host) == place->host.length &&
           memcmp(server->address.host, place->host.data, place->host.length) == 0;
}

struct chunk_server *chunk_connections_server(struct chunk_connections *set, const struct wire_server *place)
{
    SCOPE_UNLOCK(&set->lock);
    for (struct chunk_server *server = set->servers; server; server = server->next)
        if (is_at(server, place))
            return server;
    if (set->server_count == SERVERS_LIMIT)
        return NULL;
    struct chunk_server *server = check_alloc(calloc(1, sizeof *server));
    server->set = set;
    server->id = place->id;
    server->address.port = place->port;
    CHECK(wire_copy_text(place->host, server->address.host, sizeof server->address.host));
    (void)pthread_mutex_init(&server->lock, NULL);
    server->next = set->servers;
    set->servers = server;
    set->server_count++;
    return server;
}

void chunk_connections_describe(const struct chunk_server *server, struct wire_server *description)
{
    *description = (struct wire_server){
        .id = server->id, .host = wire_text(server->address.host), .port = server->address.port};
}

/* ---- connections ---- */

static void log_trouble(struct chunk_server *server, const char *what, int error)
{
    char text[ADDRESS_TEXT];
    if (log_gate_open(&server->gate))
        log_warning("chunkserver %u at %s: %s: %s", server->id, units_format_address(&server->address, text), what,
                    strerror(-error));
}

static int say_hello(const struct chunk_server *server, struct connection *connection)
{
    union wire_any request = {
        .hello = {.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CLIENT, .cluster = server->set->cluster}};
    struct wire_header header;
    const void *body;
    struct wire_hello_reply reply;
    int rc = stream_call(&connection->stream, WIRE_TYPE_hello, ++connection->sequence, &request, &header, &body);
    if (rc == 0 && header.status != WIRE_OK)
        rc = -wire_status_errno(header.status);
    if (rc == 0)
        rc = wire_get_hello_reply(body, header.body_bytes, &reply);
    if (rc == 0 && reply.cluster != server->set->cluster)
        rc = -EXDEV;
    return rc;
}

static int make_connection(struct chunk_server *server, struct connection **made)
{
    struct connection *connection = check_alloc(calloc(1, sizeof *connection));
    int rc = stream_connect(&server->address, CONNECT_TIMEOUT_MS, &connection->stream);
    if (rc < 0) {
        free(connection);
        return rc;
    }
    rc = say_hello(server, connection);
    if (rc == 0)
        rc = stream_set_timeout(&connection->stream, REQUEST_TIMEOUT_MS);
    if (rc < 0) {
        close_connection(connection);
        return rc;
    }
    *made = connection;
    return 0;
}

static int take_connection(struct chunk_server *server, struct connection **taken)
{
    {
        SCOPE_UNLOCK(&server->lock);
        *taken = server->idle;
        if (*taken) {
            server->idle = (*taken)->next;
            server->idle_count--;
            return 0;
        }
    }
    int rc = make_connection(server, taken);
    if (rc < 0)
        log_trouble(server, "cannot connect", rc);
    return rc;
}

static void give_connection(struct chunk_server *server, struct connection *connection)
{
    connection->used_before = true;
    {
        SCOPE_UNLOCK(&server->lock);
        if (server->idle_count < IDLE_LIMIT) {
            connection->next = server->idle;
            server->idle = connection;
            server->idle_count++;
            return;
        }
    }
    close_connection(connection);
}

/* ---- requests ---- */

/* How one request is sent and its reply received on a connection. 0: an orderly reply came (with any status). */
struct exchange {
    int (*run)(struct connection *connection, struct exchange *exchange);
    const void *request;
    const void *data; /* chunk_write */
    void *into;       /* chunk_read */
    int result;       /* 0 or the negative errno that the server answered */
    uint32_t failed;  /* chunk_write */
    struct wire_counters counters;
};

/* Runs the exchange on a connection. One that broke may have lain idle over a restart of the server, and all other idle
 * ones with it; then a fresh one tells whether the server is there. Requests to chunkservers may be repeated. */
static int converse(struct chunk_server *server, struct exchange *exchange)
{
    for (;;) {
        struct connection *connection;
        int rc = take_connection(server, &connection);
        if (rc < 0)
            return rc;
        rc = exchange->run(connection, exchange);
        if (rc == 0) {
            give_connection(server, connection);
            return exchange->result;
        }
        bool stale = connection->used_before && rc != -ETIMEDOUT && rc != -EBADMSG;
        close_connection(connection);
        if (!stale) {
            log_trouble(server, "request failed", rc);
            return rc;
        }
        close_idle(server);
    }
}

static int receive_reply(struct connection *connection, uint16_t type, struct wire_header *header, const void **body)
{
    int rc = stream_recv(&connection->stream, header, body);
    if (rc == 0 && (header->type != (type | WIRE_REPLY) || header->sequence != connection->sequence))
        rc = -EBADMSG;
    return rc;
}

static int run_read(struct connection *connection, struct exchange *exchange)
{
    const struct wire_chunk_read *request = exchange->request;
    uint8_t body[256];
    struct wire_out out = wire_out_on(body, sizeof body);
    wire_put_chunk_read(&out, request);
    CHECK(!out.failed);
    struct wire_header header = {
        .body_bytes = (uint32_t)out.used, .type = WIRE_TYPE_chunk_read, .sequence = ++connection->sequence};
    int rc = stream_send(&connection->stream, &header, body, NULL, 0);
    const void *answer;
    if (rc == 0)
        rc = receive_reply(connection, WIRE_TYPE_chunk_read, &header, &answer);
    if (rc < 0)
        return rc;
    if (header.status != WIRE_OK) {
        exchange->result = -wire_status_errno(header.status);
        return header.payload_bytes ? -EBADMSG : 0;
    }
    struct wire_chunk_read_reply reply;
    rc = wire_get_chunk_read_reply(answer, header.body_bytes, &reply);
    if (rc < 0 || header.payload_bytes != request->length ||
        reply.checksums.length != 8 * checksum_pieces(request->offset, request->length, WIRE_BLOCK_BYTES))
        return -EBADMSG;
    rc = stream_recv_payload(&connection->stream, exchange->into, request->length);
    if (rc < 0)
        return rc;
    bool matches = checksum_verify_range(exchange->into, request->offset, request->length, WIRE_BLOCK_BYTES,
                                         reply.checksums.data) < 0;
    exchange->result = matches ? 0 : -EILSEQ;
    return 0;
}

int chunk_connections_read(struct chunk_server *server, const struct wire_chunk_read *request, void *into)
{
    struct exchange exchange = {.run = run_read, .request = request, .into = into};
    return converse(server, &exchange);
}

static int run_write(struct connection *connection, struct exchange *exchange)
{
    const struct wire_chunk_write *request = exchange->request;
    uint8_t body[WRITE_BODY_BYTES];
    struct wire_out out = wire_out_on(body, sizeof body);
    wire_put_chunk_write(&out, request);
    CHECK(!out.failed);
    bool with_data = !(request->flags & WIRE_WRITE_ZERO);
    struct wire_header header = {.body_bytes = (uint32_t)out.used,
                                 .payload_bytes = with_data ? request->length : 0,
                                 .type = WIRE_TYPE_chunk_write,
                                 .sequence = ++connection->sequence};
    struct iovec payload = {(void *)(uintptr_t)exchange->data, request->length};
    int rc = stream_send(&connection->stream, &header, body, &payload, with_data ? 1 : 0);
    const void *answer;
    if (rc == 0)
        rc = receive_reply(connection, WIRE_TYPE_chunk_write, &header, &answer);
    if (rc < 0)
        return rc;
    exchange->result = -wire_status_errno(header.status);
    struct wire_chunk_write_reply reply = {0};
    if (header.body_bytes && wire_get_chunk_write_reply(answer, header.body_bytes, &reply) < 0)
        return -EBADMSG;
    exchange->failed = reply.failed_server;
    return 0;
}

int chunk_connections_write(struct chunk_server *server, const struct wire_chunk_write *request, const void *data,
                            uint32_t *failed)
{
    struct exchange exchange = {.run = run_write, .request = request, .data = data};
    int rc = converse(server, &exchange);
    *failed = exchange.failed ? exchange.failed : server->id;
    return rc;
}

static int run_counters(struct connection *connection, struct exchange *exchange)
{
    union wire_any request = {.hello = {0}}; /* the message has no fields */
    struct wire_header header;
    const void *body;
    int rc = stream_call(&connection->stream, WIRE_TYPE_server_counters, ++connection->sequence, &request, &header, &body);
    if (rc < 0)
        return rc;
    exchange->result = -wire_status_errno(header.status);
    if (exchange->result)
        return 0;
    struct wire_server_counters_reply reply;
    rc = wire_get_server_counters_reply(body, header.body_bytes, &reply);
    exchange->counters = reply.counters;
    return rc;
}

int chunk_connections_counters(struct chunk_server *server, struct wire_counters *counters)
{
    struct exchange exchange = {.run = run_counters};
    int rc = converse(server, &exchange);
    *counters = exchange.counters;
    return rc;
}
