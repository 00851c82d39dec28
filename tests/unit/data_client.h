/* SPDX-License-Identifier: Apache-2.0
 *
 * The other end of a data service, for tests: says hello, reads, writes, or sends whatever a test likes.
 */
#ifndef CALF_DATA_CLIENT_H
#define CALF_DATA_CLIENT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/checksum.h"
#include "common/stream.h"

struct data_client {
    struct stream stream;
    uint32_t sequence;
};

static inline int data_client_connect(struct data_client *c, uint16_t port)
{
    struct address address = {.host = "127.0.0.1", .port = port};
    c->sequence = 0;
    return stream_connect(&address, 5000, &c->stream);
}

/* The status of the reply, or a negative errno. server: whom it means, 0 whoever is there. */
static inline int data_client_hello_to(struct data_client *c, uint64_t cluster, uint8_t role, uint32_t server)
{
    union wire_any hello = {.hello = {.protocol = WIRE_PROTOCOL,
                                      .role = role,
                                      .cluster = cluster,
                                      .server = server,
                                      .node = wire_text("test")}};
    struct wire_header reply;
    const void *body;
    int rc = stream_call(&c->stream, WIRE_TYPE_hello, ++c->sequence, &hello, &reply, &body);
    return rc < 0 ? rc : reply.status;
}

static inline int data_client_hello(struct data_client *c, uint64_t cluster, uint8_t role)
{
    return data_client_hello_to(c, cluster, role, 0);
}

static inline int data_client_open(struct data_client *c, uint16_t port, uint64_t cluster)
{
    int rc = data_client_connect(c, port);
    if (rc < 0)
        return rc;
    return data_client_hello(c, cluster, WIRE_ROLE_CLIENT);
}

/* Sends a chunk_write and receives its reply's status; *failed as in it. data NULL: zeros. */
static inline int data_client_write_chain(struct data_client *c, struct wire_chunk_write *m, const void *data,
                                          uint32_t *failed)
{
    uint64_t sums[WIRE_BLOCKS_LIMIT];
    uint8_t *body = malloc(16384);
    if (data) {
        checksum_range(data, m->offset, m->length, WIRE_BLOCK_BYTES, sums);
        m->checksums = wire_bytes_of(sums, 8 * (size_t)checksum_pieces(m->offset, m->length, WIRE_BLOCK_BYTES));
    } else {
        m->flags |= WIRE_WRITE_ZERO;
    }
    struct wire_out out = wire_out_on(body, 16384);
    wire_put_chunk_write(&out, m);
    struct wire_header header = {.body_bytes = (uint32_t)out.used, .payload_bytes = data ? m->length : 0,
                                 .type = WIRE_TYPE_chunk_write, .sequence = ++c->sequence}, reply;
    struct iovec payload = {(void *)(uintptr_t)data, m->length};
    int rc = stream_send(&c->stream, &header, body, &payload, data ? 1 : 0);
    free(body);
    const void *answer;
    if (rc == 0)
        rc = stream_recv(&c->stream, &reply, &answer);
    if (rc < 0)
        return rc;
    struct wire_chunk_write_reply decoded;
    if (reply.type != (WIRE_TYPE_chunk_write | WIRE_REPLY) || reply.sequence != c->sequence ||
        wire_get_chunk_write_reply(answer, reply.body_bytes, &decoded) < 0)
        return -EBADMSG;
    if (failed)
        *failed = decoded.failed_server;
    return reply.status;
}

static inline int data_client_write(struct data_client *c, uint64_t id, uint32_t version, uint32_t offset,
                                    uint32_t length, const void *data)
{
    struct wire_chunk_write m = {.chunk_id = id, .version = version, .flags = WIRE_WRITE_CREATE, .offset = offset, .length = length};
    return data_client_write_chain(c, &m, data, NULL);
}

/* The status; the data is verified: -EUCLEAN. */
static inline int data_client_read_as(struct data_client *c, const struct wire_chunk_read *m, void *data)
{
    union wire_any request = {.chunk_read = *m};
    struct wire_header reply;
    struct wire_chunk_read_reply answer;
    const void *body;
    int rc = stream_call(&c->stream, WIRE_TYPE_chunk_read, ++c->sequence, &request, &reply, &body);
    if (rc < 0 || reply.status != WIRE_OK)
        return rc < 0 ? rc : reply.status;
    if (reply.payload_bytes != m->length || wire_get_chunk_read_reply(body, reply.body_bytes, &answer) < 0)
        return -EBADMSG;
    rc = stream_recv_payload(&c->stream, data, m->length);
    if (rc < 0)
        return rc;
    if (answer.checksums.length != m->length / WIRE_BLOCK_BYTES * 8)
        return -EBADMSG;
    return checksum_verify_range(data, m->offset, m->length, WIRE_BLOCK_BYTES, answer.checksums.data) < 0 ? WIRE_OK
                                                                                                          : -EUCLEAN;
}

static inline int data_client_read(struct data_client *c, uint64_t id, uint32_t version, uint32_t offset,
                                   uint32_t length, void *data)
{
    struct wire_chunk_read m = {.chunk_id = id, .version = version, .offset = offset, .length = length};
    return data_client_read_as(c, &m, data);
}

#endif
