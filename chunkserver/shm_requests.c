/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/shm_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* ---- memory for writes: given on each connection, mapped once ---- */

struct given_memory {
    struct given_memory *next;
    dev_t device; /* with the inode: which memory it is; not used again while it is mapped */
    ino_t inode;
    unsigned users; /* connections */
    const uint8_t *map;
    uint32_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and who uses what is in it */
static struct given_memory *given;

/* Maps it, if nobody has yet. As shared_memory_map. */
static int take_given(int fd, uint32_t bytes, struct given_memory **taken)
{
    struct stat st;
    const void *map;
    if (fstat(fd, &st) < 0)
        return -errno;
    SCOPE_UNLOCK(&lock);
    struct given_memory *memory = given;
    while (memory && (memory->device != st.st_dev || memory->inode != st.st_ino))
        memory = memory->next;
    if (memory && memory->bytes != bytes)
        return -EINVAL;
    if (!memory) {
        int rc = shared_memory_map(fd, bytes, &map);
        if (rc < 0)
            return rc;
        memory = check_alloc(malloc(sizeof *memory));
        *memory = (struct given_memory){
            .next = given, .device = st.st_dev, .inode = st.st_ino, .map = map, .bytes = bytes};
        given = memory;
    }
    memory->users++;
    *taken = memory;
    return 0;
}

static void end_writes(struct data_connection *c)
{
    struct given_memory *memory = c->shared_writes;
    c->shared_writes = NULL;
    if (!memory)
        return;
    SCOPE_UNLOCK(&lock);
    if (--memory->users)
        return;
    struct given_memory **at = &given;
    while (*at != memory)
        at = &(*at)->next;
    *at = memory->next;
    (void)munmap((void *)(uintptr_t)memory->map, memory->bytes);
    free(memory);
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
    struct given_memory *memory = NULL;
    const void *map;
    if (c->local && fd < 0) /* there was none left for this process, as far as an honest client goes */
        return reply_empty(c, header, WIRE_IO);
    if (!c->local || m->bytes > WIRE_MEMORY_LIMIT ||
        (m->purpose != WIRE_MEMORY_WRITES && m->purpose != WIRE_MEMORY_READS))
        return -EBADMSG;
    bool for_writes = m->purpose == WIRE_MEMORY_WRITES;
    int rc = for_writes ? take_given(fd, m->bytes, &memory) : shared_memory_map(fd, m->bytes, &map);
    if (rc == -EINVAL)
        return -EBADMSG;
    if (rc < 0)
        return reply_empty(c, header, wire_status_from_error(rc));
    if (for_writes) {
        end_writes(c);
        c->shared_writes = memory;
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
    const struct given_memory *memory = c->shared_writes;
    if (!memory || m->at > memory->bytes || m->length > memory->bytes - m->at || m->length > WIRE_IO_LIMIT)
        return -EBADMSG;
    memcpy(c->data, memory->map + m->at, m->length);
    return 0;
}

void shm_requests_end(struct data_connection *c)
{
    end_writes(c);
    end_reads(c);
}
