/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/copy_chunk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "chunkserver/chain.h"
#include "chunkserver/chunk_format.h"
#include "common/check.h"
#include "common/checksum.h"
#include "common/log.h"
#include "common/scope.h"

enum { TIMEOUT_MS = 10000, RUN_BLOCKS = WIRE_IO_LIMIT / WIRE_BLOCK_BYTES };

struct copying {
    struct store *store;
    struct stream stream;
    uint32_t sequence;
    chunk_id id;
    uint32_t version;
    uint8_t written[CHUNK_FORMAT_BLOCKS_LIMIT / 8];
    uint8_t *data, *scratch;
};

static int call(struct copying *c, uint16_t type, const union wire_any *request, struct wire_header *reply,
                const void **body)
{
    int rc = stream_call(&c->stream, type, ++c->sequence, request, reply, body);
    return rc == 0 && reply->status != WIRE_OK ? -wire_status_errno(reply->status) : rc;
}

static int get_map(struct copying *c, uint32_t blocks)
{
    union wire_any request = {.chunk_map = {.chunk_id = c->id, .version = c->version}};
    struct wire_chunk_map_reply map;
    struct wire_header reply;
    const void *body;
    int rc = call(c, WIRE_TYPE_chunk_map, &request, &reply, &body);
    if (rc < 0)
        return rc;
    if (wire_get_chunk_map_reply(body, reply.body_bytes, &map) < 0 || map.written.length != (blocks + 7) / 8 ||
        map.written.length > sizeof c->written)
        return -EBADMSG;
    memcpy(c->written, map.written.data, map.written.length);
    return 0;
}

static int copy_run(struct copying *c, struct store_copy *copy, uint32_t first, uint32_t count)
{
    uint32_t bytes = c->store->identity.geometry.block_bytes;
    union wire_any request = {.chunk_read = {.chunk_id = c->id,
                                             .version = c->version,
                                             .verify = 1,
                                             .offset = first * bytes,
                                             .length = count * bytes}};
    struct wire_chunk_read_reply answer;
    struct wire_header reply;
    const void *body;
    int rc = call(c, WIRE_TYPE_chunk_read, &request, &reply, &body);
    if (rc < 0)
        return rc;
    if (reply.payload_bytes != count * bytes || wire_get_chunk_read_reply(body, reply.body_bytes, &answer) < 0 ||
        answer.checksums.length != 8 * count)
        return -EBADMSG;
    rc = stream_recv_payload(&c->stream, c->data, reply.payload_bytes);
    if (rc < 0)
        return rc;
    if (checksum_verify_range(c->data, first * bytes, count * bytes, bytes, answer.checksums.data) >= 0)
        return -EUCLEAN;
    struct store_write write = {.offset = first * bytes,
                                .length = count * bytes,
                                .data = c->data,
                                .sums = answer.checksums.data,
                                .scratch = c->scratch};
    return c->store->ops->copy_write(c->store, copy, &write);
}

static bool has_data(const struct copying *c, uint32_t block)
{
    return c->written[block / 8] >> block % 8 & 1;
}

static int copy_blocks(struct copying *c, struct store_copy *copy, const _Atomic bool *stop)
{
    uint32_t blocks = chunk_format_blocks(&c->store->identity.geometry), end;
    int rc = get_map(c, blocks);
    for (uint32_t first = 0; rc == 0 && first < blocks; first = end) {
        end = first;
        while (end < blocks && end - first < RUN_BLOCKS && has_data(c, end))
            end++;
        if (end > first)
            rc = copy_run(c, copy, first, end - first);
        else
            end++;
        if (rc == 0 && *stop)
            rc = -ECANCELED;
    }
    return rc;
}

int copy_chunk_from(struct store *store, const struct address *source, chunk_id id, uint32_t version,
                    const _Atomic bool *stop)
{
    struct store_copy *copy;
    int rc = store->ops->copy_begin(store, id, version, &copy);
    if (rc < 0)
        return rc;
    SCOPE_FREE struct copying *c = check_alloc(calloc(1, sizeof *c));
    SCOPE_FREE uint8_t *data = check_alloc(aligned_alloc(CHUNK_FORMAT_PAGE, WIRE_IO_LIMIT + 2 * WIRE_BLOCK_BYTES));
    c->store = store;
    c->id = id;
    c->version = version;
    c->data = data;
    c->scratch = data + WIRE_IO_LIMIT;
    rc = chain_connect(store, source, 0, TIMEOUT_MS, &c->stream); /* by id and version no other chunk can be taken for it */
    if (rc == 0) {
        rc = copy_blocks(c, copy, stop);
        stream_close(&c->stream);
    }
    int ended = store->ops->copy_end(store, copy, rc == 0);
    if (rc == 0)
        rc = ended;
    char text[ADDRESS_TEXT];
    if (rc < 0)
        log_warning("copying chunk %016" PRIx64 " version %" PRIu32 " from %s: %s", id, version,
                    units_format_address(source, text), strerror(-rc));
    else
        log_info("copied chunk %016" PRIx64 " version %" PRIu32 " from %s", id, version,
                 units_format_address(source, text));
    return rc;
}
