/* SPDX-License-Identifier: Apache-2.0 */
#include "client/chunk_connections.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/log_gate.h"
#include "client/shm_link.h"
#include "client/write_memory.h"
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
    bool local;           /* to the server's Unix socket */
    bool memory_given;    /* the server has the memory for writes (write_memory.h) */
    bool memory_refused;  /* by the server */
    bool used_before;     /* lay idle: that it is broken says nothing about the server */
    struct connection *next;
};

struct chunk_server {
    struct chunk_connections *set;
    uint32_t id;
    struct address address;
    struct chunk_server *next; /* immutable once in the list */
    struct log_gate gate;
    struct shm_link *link; /* NULL: shared memory is not asked for */
    pthread_mutex_t lock; /* guards what follows */
    struct connection *idle;
    unsigned idle_count;
};

struct chunk_connections {
    uint64_t cluster;
    char *shm_directory; /* NULL: none */
    pthread_mutex_t lock; /* guards what follows */
    struct chunk_server *servers;
    unsigned server_count;
};

/* ---- the set ---- */

struct chunk_connections *chunk_connections_create(uint64_t cluster, const char *shm_directory)
{
    struct chunk_connections *set = check_alloc(calloc(1, sizeof *set));
    set->cluster = cluster;
    set->shm_directory = shm_directory ? check_alloc(strdup(shm_directory)) : NULL;
    if (shm_directory)
        write_memory_enable();
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
        shm_link_destroy(server->link);
        (void)pthread_mutex_destroy(&server->lock);
        free(server);
    }
    (void)pthread_mutex_destroy(&set->lock);
    free(set->shm_directory);
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
    if (set->shm_directory)
        server->link = shm_link_create(set->shm_directory, server->id);
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
    union wire_any request = {.hello = {.protocol = WIRE_PROTOCOL,
                                        .role = WIRE_ROLE_CLIENT,
                                        .cluster = server->set->cluster,
                                        .server = server->id}};
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

static int make_connection(struct chunk_server *server, bool local, struct connection **made)
{
    struct connection *connection = check_alloc(calloc(1, sizeof *connection));
    const struct address *address = local ? shm_link_address(server->link) : &server->address;
    int rc = stream_connect(address, CONNECT_TIMEOUT_MS, &connection->stream);
    if (rc < 0) {
        free(connection);
        return rc;
    }
    connection->local = local;
    if (local)
        stream_expect_fd(&connection->stream);
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

/* Shared memory is tried now and then; from when it works, connections that go another way are not used any more. */
static bool goes_by_memory(struct chunk_server *server)
{
    struct connection *connection;
    if (!server->link || !shm_link_may_try(server->link))
        return server->link && shm_link_is_up(server->link);
    int rc = make_connection(server, true, &connection);
    if (rc == 0) {
        rc = shm_link_raise(server->link, &connection->stream, ++connection->sequence);
        if (rc == 0)
            free(connection); /* the link has the stream */
        else
            close_connection(connection);
    }
    if (rc < 0)
        shm_link_failed(server->link, rc);
    else
        close_idle(server);
    return rc == 0;
}

/* NULL: there is none. The server's lock is held. */
static struct connection *pick_idle(struct chunk_server *server)
{
    struct connection *connection = server->idle;
    if (connection) {
        server->idle = connection->next;
        server->idle_count--;
    }
    return connection;
}

static int take_connection(struct chunk_server *server, struct connection **taken)
{
    bool local = goes_by_memory(server);
    {
        SCOPE_UNLOCK(&server->lock);
        *taken = pick_idle(server);
        if (*taken)
            return 0;
    }
    int rc = local ? make_connection(server, true, taken) : -ENOTCONN;
    if (rc < 0)
        rc = make_connection(server, false, taken);
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
    struct shm_link *link; /* chunk_share */
    void *into;       /* chunk_read */
    int result;       /* 0 or the negative errno that the server answered */
    uint32_t failed, blocks; /* chunk_write */
    struct wire_counters counters;
    uint8_t *map; /* chunk_map: CHUNK_MAP_BYTES */
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

static int run_share(struct connection *connection, struct exchange *exchange)
{
    if (connection->local)
        return shm_link_ask(exchange->link, &connection->stream, ++connection->sequence, exchange->request,
                            &exchange->result);
    exchange->result = -EAGAIN;
    return 0;
}

/* -EAGAIN: it is to be read with a message. */
static int read_shared(struct chunk_server *server, const struct wire_chunk_read *request, void *into)
{
    int rc = shm_link_read(server->link, request, into);
    if (rc != -EAGAIN || !goes_by_memory(server) || !shm_link_has_chunks(server->link))
        return rc;
    struct exchange exchange = {.run = run_share, .request = request, .link = server->link};
    if (converse(server, &exchange) < 0)
        return -EAGAIN; /* the message's answer says best what is wrong */
    return shm_link_read(server->link, request, into);
}

int chunk_connections_read(struct chunk_server *server, const struct wire_chunk_read *request, void *into)
{
    if (server->link && !request->verify && !request->absent_ok) {
        int rc = read_shared(server, request, into);
        if (rc != -EAGAIN)
            return rc;
    }
    struct exchange exchange = {.run = run_read, .request = request, .into = into};
    return converse(server, &exchange);
}

/* With data, if the message does not say that it is zeros or lies in memory. */
static int send_write(struct connection *connection, uint16_t type, const uint8_t *body, size_t body_bytes,
                      const void *data, uint32_t data_bytes)
{
    struct wire_header header = {.body_bytes = (uint32_t)body_bytes,
                                 .payload_bytes = data_bytes,
                                 .type = type,
                                 .sequence = ++connection->sequence};
    struct iovec payload = {(void *)(uintptr_t)data, data_bytes};
    return stream_send(&connection->stream, &header, body, &payload, data_bytes ? 1 : 0);
}

/* Where the data of a write lies in memory that the server has; -1: nowhere. *rc < 0: the connection broke. */
static int64_t place_data(struct connection *connection, const uint8_t *data, uint32_t bytes, int *rc)
{
    *rc = 0;
    if (!connection->local || connection->memory_refused)
        return -1;
    const struct write_memory *mine = NULL;
    int64_t at = write_memory_place(data, bytes);
    if (at < 0 && !(mine = write_memory_get()))
        return -1;
    if (!connection->memory_given) {
        int result;
        *rc = shm_link_give_memory(&connection->stream, ++connection->sequence, write_memory_fd(), WRITE_MEMORY_BYTES, &result);
        if (*rc < 0)
            return -1;
        connection->memory_refused = result < 0;
        connection->memory_given = result == 0;
        if (result < 0)
            return -1;
    }
    if (at >= 0)
        return at;
    memcpy(mine->copied, data, bytes);
    return write_memory_place(mine->copied, bytes);
}

static int run_write(struct connection *connection, struct exchange *exchange)
{
    const struct wire_chunk_write *request = exchange->request;
    uint8_t body[WRITE_BODY_BYTES];
    struct wire_out out = wire_out_on(body, sizeof body);
    struct wire_header header;
    uint16_t type = WIRE_TYPE_chunk_write;
    uint32_t data_bytes = request->flags & WIRE_WRITE_ZERO ? 0 : request->length;
    int rc = 0;
    int64_t at = data_bytes ? place_data(connection, exchange->data, data_bytes, &rc) : -1;
    if (rc < 0)
        return rc;
    if (at >= 0) {
        struct wire_shared_write shared = {.at = (uint32_t)at,
                                           .chunk_id = request->chunk_id,
                                           .version = request->version,
                                           .flags = request->flags,
                                           .offset = request->offset,
                                           .length = request->length,
                                           .checksums = request->checksums,
                                           .chain = request->chain};
        type = WIRE_TYPE_shared_write;
        data_bytes = 0;
        wire_put_shared_write(&out, &shared);
    } else {
        wire_put_chunk_write(&out, request);
    }
    CHECK(!out.failed);
    rc = send_write(connection, type, body, out.used, exchange->data, data_bytes);
    const void *answer;
    if (rc == 0)
        rc = receive_reply(connection, type, &header, &answer);
    if (rc < 0)
        return rc;
    exchange->result = -wire_status_errno(header.status);
    struct wire_chunk_write_reply reply = {0};
    if (header.body_bytes && wire_get_chunk_write_reply(answer, header.body_bytes, &reply) < 0)
        return -EBADMSG;
    exchange->failed = reply.failed_server;
    exchange->blocks = reply.blocks;
    return 0;
}

int chunk_connections_write(struct chunk_server *server, const struct wire_chunk_write *request, const void *data,
                            uint32_t *failed, uint32_t *blocks)
{
    struct exchange exchange = {.run = run_write, .request = request, .data = data};
    int rc = converse(server, &exchange);
    *failed = exchange.failed ? exchange.failed : server->id;
    *blocks = exchange.blocks;
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

bool chunk_connections_shares_memory(const struct chunk_server *server)
{
    return server->link && shm_link_is_up(server->link);
}

static int run_map(struct connection *connection, struct exchange *exchange)
{
    struct wire_header header;
    const void *body;
    int rc = stream_call(&connection->stream, WIRE_TYPE_chunk_map, ++connection->sequence, exchange->request, &header, &body);
    if (rc < 0)
        return rc;
    exchange->result = -wire_status_errno(header.status);
    if (exchange->result)
        return 0;
    struct wire_chunk_map_reply reply;
    rc = wire_get_chunk_map_reply(body, header.body_bytes, &reply);
    if (rc == 0 && reply.written.length)
        memcpy(exchange->map, reply.written.data, reply.written.length);
    return rc;
}

int chunk_connections_map(struct chunk_server *server, uint64_t chunk_id, uint32_t version, uint8_t map[CHUNK_MAP_BYTES])
{
    const union wire_any request = {.chunk_map = {.chunk_id = chunk_id, .version = version}};
    struct exchange exchange = {.run = run_map, .request = &request, .map = map};
    memset(map, 0, CHUNK_MAP_BYTES);
    return converse(server, &exchange);
}
