/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/shm_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

static int reply_empty(struct data_connection *c, const struct wire_header *request, uint16_t status)
{
    struct wire_header header = {.type = request->type | WIRE_REPLY, .status = status, .sequence = request->sequence};
    return stream_send(&c->stream, &header, NULL, NULL, 0);
}

int shm_requests_chunk_share(struct data_connection *c, const struct wire_header *header,
                             const struct wire_chunk_share *m)
{
    struct store_share share;
    if (!c->local)
        return -EBADMSG;
    if (m->version == 0)
        return reply_empty(c, header, WIRE_INVALID);
    int rc = c->store->ops->share ? c->store->ops->share(c->store, m->chunk_id, m->version, &share) : -EOPNOTSUPP;
    if (rc < 0) {
        log_debug("sharing of chunk %016" PRIx64 " version %" PRIu32 ": %s", m->chunk_id, m->version, strerror(-rc));
        return reply_empty(c, header, wire_status_from_error(rc));
    }
    SCOPE_CLOSE int fd = share.fd;
    struct wire_chunk_share_reply answer = {.guard_at = share.guard_at,
                                            .guard_first = share.guard_first,
                                            .guard_third = share.guard_third,
                                            .table_at = share.table_at,
                                            .data_at = share.data_at};
    struct wire_out out = wire_out_on(c->body, sizeof c->body);
    wire_put_chunk_share_reply(&out, &answer);
    CHECK(!out.failed);
    struct wire_header reply = {.body_bytes = (uint32_t)out.used,
                                .type = WIRE_TYPE_chunk_share | WIRE_REPLY,
                                .sequence = header->sequence};
    return stream_send_fd(&c->stream, &reply, c->body, fd);
}

static void end_writes(struct data_connection *c)
{
    if (c->shared_writes)
        (void)munmap((void *)(uintptr_t)c->shared_writes, c->shared_bytes);
    c->shared_writes = NULL;
    c->shared_bytes = 0;
}

static void end_reads(struct data_connection *c)
{
    if (!c->shared_reads.shared)
        return;
    serve_counters_remove_reads(c->counters, &c->shared_reads);
    (void)munmap((void *)(uintptr_t)c->shared_reads.shared, c->shared_reads_bytes);
    c->shared_reads.shared = NULL;
}

int shm_requests_memory_share(struct data_connection *c, const struct wire_header *header,
                              const struct wire_memory_share *m)
{
    SCOPE_CLOSE int fd = stream_take_fd(&c->stream);
    const void *map;
    if (!c->local || fd < 0 || m->bytes > WIRE_MEMORY_LIMIT ||
        (m->purpose != WIRE_MEMORY_WRITES && m->purpose != WIRE_MEMORY_READS))
        return -EBADMSG;
    int rc = shared_memory_map(fd, m->bytes, &map);
    if (rc == -EINVAL)
        return -EBADMSG;
    if (rc < 0)
        return reply_empty(c, header, wire_status_from_error(rc));
    if (m->purpose == WIRE_MEMORY_WRITES) {
        end_writes(c);
        c->shared_writes = map;
        c->shared_bytes = m->bytes;
    } else {
        end_reads(c);
        c->shared_reads.shared = map;
        c->shared_reads_bytes = m->bytes;
        serve_counters_add_reads(c->counters, &c->shared_reads);
    }
    return reply_empty(c, header, WIRE_OK);
}

int shm_requests_take_data(struct data_connection *c, const struct wire_shared_write *m)
{
    if (!c->local || m->at > c->shared_bytes || m->length > c->shared_bytes - m->at || m->length > WIRE_IO_LIMIT)
        return -EBADMSG;
    memcpy(c->data, c->shared_writes + m->at, m->length);
    return 0;
}

void shm_requests_end(struct data_connection *c)
{
    end_writes(c);
    end_reads(c);
}
