/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests that chunkservers answer: validate, then handle. No memory is taken on the way.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "chunkserver/data_connection.h"
#include "chunkserver/shm_requests.h"
#include "common/check.h"
#include "common/checksum.h"
#include "common/log.h"

static int reply(struct data_connection *c, const struct wire_header *request, uint16_t status, size_t body_bytes,
                 const struct iovec *payload)
{
    struct wire_header header = {.body_bytes = (uint32_t)body_bytes,
                                 .payload_bytes = payload ? (uint32_t)payload->iov_len : 0,
                                 .type = request->type | WIRE_REPLY,
                                 .status = status,
                                 .sequence = request->sequence};
    return stream_send(&c->stream, &header, c->body, payload, payload ? 1 : 0);
}

/* ---- hello ---- */

static uint16_t judge_hello(const struct data_connection *c, const struct wire_hello *m)
{
    if (m->protocol != WIRE_PROTOCOL)
        return WIRE_WRONG_PROTOCOL;
    /* Who only asks whether it serves (`calf ping`) need not know the cluster, and may do nothing else. */
    if (m->role == WIRE_ROLE_ADMIN)
        return c->store->ready ? WIRE_OK : WIRE_AGAIN;
    if (m->role != WIRE_ROLE_CLIENT && m->role != WIRE_ROLE_CHUNKSERVER)
        return WIRE_INVALID;
    if (!c->store->ready)
        return WIRE_AGAIN;
    if (m->cluster != c->store->identity.cluster)
        return WIRE_WRONG_CLUSTER;
    /* An empty store that took the place of a lost one must not get the rest of what was written to that. */
    uint32_t own = c->store->server_id;
    return m->server == 0 || own == 0 || m->server == own ? WIRE_OK : WIRE_WRONG_SERVER;
}

static int serve_hello(struct data_connection *c, const struct wire_header *header, const struct wire_hello *m)
{
    const struct store_identity *identity = &c->store->identity;
    uint16_t status = judge_hello(c, m);
    if (status != WIRE_OK) {
        log_warning("refused a connection from %.*s: %s", (int)m->node.length, (const char *)m->node.data,
                    wire_status_text(status));
        int rc = reply(c, header, status, 0, NULL);
        return rc < 0 ? rc : -ECONNREFUSED;
    }
    struct wire_hello_reply answer = {.cluster = identity->cluster,
                                      .chunk_bytes = identity->geometry.chunk_bytes,
                                      .block_bytes = identity->geometry.block_bytes,
                                      .journal = wire_text("")};
    struct wire_out out = wire_out_on(c->body, sizeof c->body);
    wire_put_hello_reply(&out, &answer);
    CHECK(!out.failed);
    c->greeted = m->role != WIRE_ROLE_ADMIN;
    c->from_server = m->role == WIRE_ROLE_CHUNKSERVER;
    if (!c->from_server) {
        c->gauge = c->local ? &c->counters->shm_clients : &c->counters->tcp_clients;
        (*c->gauge)++;
    }
    return reply(c, header, WIRE_OK, out.used, NULL);
}

/* ---- reading ---- */

static int serve_chunk_read(struct data_connection *c, const struct wire_header *header, const struct wire_chunk_read *m)
{
    struct store_read read = {.id = m->chunk_id,
                              .version = m->version,
                              .offset = m->offset,
                              .length = m->length,
                              .absent_ok = m->absent_ok != 0,
                              .verify = m->verify != 0};
    if (m->length > WIRE_PAYLOAD_LIMIT || m->version == 0)
        return reply(c, header, WIRE_INVALID, 0, NULL);
    int rc = c->store->ops->read(c->store, &read, c->data, c->sums);
    if (rc < 0) {
        log_debug("read of chunk %016" PRIx64 " version %" PRIu32 ": %s", m->chunk_id, m->version, strerror(-rc));
        return reply(c, header, wire_status_from_error(rc), 0, NULL);
    }
    struct wire_chunk_read_reply answer = {
        .checksums = wire_bytes_of(c->sums, 8 * (size_t)(m->length / c->store->identity.geometry.block_bytes))};
    struct wire_out out = wire_out_on(c->body, sizeof c->body);
    wire_put_chunk_read_reply(&out, &answer);
    CHECK(!out.failed);
    struct iovec payload = {c->data, m->length};
    rc = reply(c, header, WIRE_OK, out.used, &payload);
    serve_count(c->counters, read_requests, 1);
    serve_count(c->counters, read_bytes, m->length);
    return rc;
}

static int serve_chunk_map(struct data_connection *c, const struct wire_header *header, const struct wire_chunk_map *m)
{
    const struct store_geometry *geometry = &c->store->identity.geometry;
    if (m->version == 0)
        return reply(c, header, WIRE_INVALID, 0, NULL);
    int rc = c->store->ops->map(c->store, m->chunk_id, m->version, c->data);
    if (rc < 0)
        return reply(c, header, wire_status_from_error(rc), 0, NULL);
    struct wire_chunk_map_reply answer = {
        .written = wire_bytes_of(c->data, (geometry->chunk_bytes / geometry->block_bytes + 7) / 8)};
    struct wire_out out = wire_out_on(c->body, sizeof c->body);
    wire_put_chunk_map_reply(&out, &answer);
    CHECK(!out.failed);
    return reply(c, header, WIRE_OK, out.used, NULL);
}

/* ---- writing ---- */

/* The same for shared_write, whose replies are the same. */
static int reply_write(struct data_connection *c, const struct wire_header *header, uint16_t status,
                       uint32_t failed_server, uint32_t blocks)
{
    struct wire_chunk_write_reply answer = {.failed_server = failed_server, .blocks = blocks};
    struct wire_out out = wire_out_on(c->body, sizeof c->body);
    wire_put_chunk_write_reply(&out, &answer);
    CHECK(!out.failed);
    return reply(c, header, status, out.used, NULL);
}

/* What a correct peer never sends. */
static bool malformed(uint32_t payload_bytes, const struct wire_chunk_write *m, uint32_t block_bytes)
{
    if (m->flags & WIRE_WRITE_ZERO)
        return payload_bytes || m->checksums.length;
    return payload_bytes != m->length || m->length > WIRE_IO_LIMIT ||
           m->checksums.length != 8 * checksum_pieces(m->offset, m->length, block_bytes);
}

/* Stores the write here, and on the rest of its chain at the same time. */
static uint16_t store_and_forward(struct data_connection *c, uint32_t payload_bytes, const struct wire_chunk_write *m,
                                  uint32_t *failed_server, uint32_t *blocks)
{
    struct store_write write = {.id = m->chunk_id,
                                .version = m->version,
                                .offset = m->offset,
                                .length = m->length,
                                .create = (m->flags & WIRE_WRITE_CREATE) != 0,
                                .data = m->flags & WIRE_WRITE_ZERO ? NULL : c->data,
                                .sums = m->checksums.data,
                                .scratch = c->scratch,
                                .blocks = blocks};
    if (m->chain.count == 0)
        return wire_status_from_error(c->store->ops->write(c->store, &write));
    struct write_order_entry entry;
    struct chain_call call;
    if (!c->from_server)
        write_order_enter(c->order, &entry, m->chunk_id, m->offset, m->length);
    chain_start(c->chain, &call, m, c->data, payload_bytes, c->body, sizeof c->body);
    int rc = c->store->ops->write(c->store, &write);
    uint16_t status = chain_finish(&call, failed_server);
    if (!c->from_server)
        write_order_leave(c->order, &entry);
    if (rc < 0) {
        *failed_server = 0;
        status = wire_status_from_error(rc);
    }
    return status;
}

/* A write whose data, if it has any, is in the connection's buffer. */
static int serve_write(struct data_connection *c, const struct wire_header *header, const struct wire_chunk_write *m)
{
    const struct store_geometry *geometry = &c->store->identity.geometry;
    uint32_t failed_server = 0, blocks = 0, payload_bytes = m->flags & WIRE_WRITE_ZERO ? 0 : m->length;
    if (m->version == 0 || m->length == 0 || m->offset >= geometry->chunk_bytes ||
        m->length > geometry->chunk_bytes - m->offset)
        return reply_write(c, header, WIRE_INVALID, 0, 0);
    if (payload_bytes &&
        checksum_verify_range(c->data, m->offset, m->length, geometry->block_bytes, m->checksums.data) >= 0) {
        serve_count(c->counters, damaged_blocks, 1);
        log_warning("a write to chunk %016" PRIx64 " came with data that does not match its checksums", m->chunk_id);
        return reply_write(c, header, WIRE_DAMAGED, 0, 0);
    }
    uint16_t status = store_and_forward(c, payload_bytes, m, &failed_server, &blocks);
    if (status == WIRE_OK) {
        serve_count(c->counters, write_requests, 1);
        serve_count(c->counters, write_bytes, m->length);
    } else {
        log_debug("write to chunk %016" PRIx64 " version %" PRIu32 ": %s (server %" PRIu32 ")", m->chunk_id, m->version,
                  wire_status_text(status), failed_server);
    }
    return reply_write(c, header, status, status == WIRE_OK ? 0 : failed_server, blocks);
}

static int serve_chunk_write(struct data_connection *c, const struct wire_header *header,
                             const struct wire_chunk_write *m)
{
    if (malformed(header->payload_bytes, m, c->store->identity.geometry.block_bytes))
        return -EBADMSG;
    int rc = stream_recv_payload(&c->stream, c->data, header->payload_bytes);
    return rc < 0 ? rc : serve_write(c, header, m);
}

static int serve_shared_write(struct data_connection *c, const struct wire_header *header,
                              const struct wire_shared_write *m)
{
    struct wire_chunk_write write = {.chunk_id = m->chunk_id,
                                     .version = m->version,
                                     .flags = m->flags,
                                     .offset = m->offset,
                                     .length = m->length,
                                     .checksums = m->checksums,
                                     .chain = m->chain,
                                     .ticket = m->ticket};
    if (m->flags & WIRE_WRITE_ZERO || malformed(m->length, &write, c->store->identity.geometry.block_bytes))
        return -EBADMSG;
    int rc = shm_requests_take_data(c, m);
    return rc < 0 ? rc : serve_write(c, header, &write);
}

static int serve_server_counters(struct data_connection *c, const struct wire_header *header,
                                 const struct wire_server_counters *m)
{
    (void)m;
    struct wire_server_counters_reply answer = {.counters = serve_counters_read(c->counters)};
    struct wire_out out = wire_out_on(c->body, sizeof c->body);
    wire_put_server_counters_reply(&out, &answer);
    CHECK(!out.failed);
    return reply(c, header, WIRE_OK, out.used, NULL);
}

/* ---- dispatch ---- */

#define serve_chunk_share shm_requests_chunk_share
#define serve_memory_share shm_requests_memory_share

int data_requests_handle(struct data_connection *connection, const struct wire_header *header, const void *body)
{
    if ((header->type == WIRE_TYPE_hello) == connection->greeted || header->status != 0)
        return -EBADMSG;
    switch (header->type) {
#define HANDLE(name, number, class, payload, reply_payload, meaning)                                                 \
    case number: {                                                                                                   \
        struct wire_##name message;                                                                                  \
        if (wire_get_##name(body, header->body_bytes, &message) < 0)                                                 \
            return -EBADMSG;                                                                                         \
        return serve_##name(connection, header, &message);                                                           \
    }
        WIRE_COMMON_MESSAGES(HANDLE)
        WIRE_CHUNK_MESSAGES(HANDLE)
#undef HANDLE
    }
    return -EBADMSG;
}
