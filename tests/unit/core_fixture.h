/* SPDX-License-Identifier: Apache-2.0
 *
 * A core for tests: changes with few words, a record of all that was done, and its image as bytes.
 */
#ifndef CALF_TESTS_CORE_FIXTURE_H
#define CALF_TESTS_CORE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "master/chunk_ops.h"
#include "master/core.h"
#include "master/image.h"

struct kept_record {
    struct core_change change;
    uint8_t *body;
};

struct core_fixture {
    struct core core;
    struct kept_record *records;
    size_t count, room;
    uint32_t sequence; /* of the last request */
    session_id session;
    int64_t time_ns;
    uint8_t reply[WIRE_BODY_LIMIT];
    uint32_t reply_bytes;
};

static inline void fixture_record(void *context, const struct core_change *change)
{
    struct core_fixture *f = context;
    if (f->count == f->room) {
        f->room = f->room ? f->room * 2 : 64;
        f->records = check_alloc(realloc(f->records, f->room * sizeof *f->records));
    }
    struct kept_record *kept = &f->records[f->count++];
    kept->change = *change;
    kept->body = check_alloc(malloc(change->body_bytes + 1u));
    if (change->body_bytes)
        memcpy(kept->body, change->body, change->body_bytes);
}

static inline uint16_t fixture_decide(struct core_fixture *f, uint16_t type, const union wire_any *value)
{
    return core_decide(&f->core, type, value, ++f->time_ns);
}

/* A session's change, on slot 3; the reply is in f->reply. */
static inline uint16_t fixture_ask(struct core_fixture *f, uint16_t type, const union wire_any *value)
{
    static uint8_t body[WIRE_BODY_LIMIT];
    struct wire_out out = wire_out_on(body, sizeof body), reply = wire_out_on(f->reply, sizeof f->reply);
    CHECK(wire_put_any(type, &out, value) == 0);
    struct core_change change = {.type = type,
                                 .session = f->session,
                                 .slot = 3,
                                 .sequence = ++f->sequence,
                                 .time_ns = ++f->time_ns,
                                 .value = value,
                                 .body = body,
                                 .body_bytes = (uint32_t)out.used};
    uint16_t status = core_apply(&f->core, &change, &reply);
    f->reply_bytes = (uint32_t)reply.used;
    return status;
}

static inline uint16_t fixture_begin_session(struct core_fixture *f, session_id id)
{
    union wire_any record = {.j_session = {.session = id, .node = wire_text("test")}};
    f->session = id;
    return fixture_decide(f, WIRE_TYPE_j_session, &record);
}

/* A core with small chunks, `servers` connected chunkservers with ids from 1, and one session. */
static inline struct core_fixture *fixture_create(uint32_t servers)
{
    struct core_fixture *f = check_alloc(calloc(1, sizeof *f));
    core_init(&f->core, 0x1234, CORE_CHUNK_BYTES_SMALL, 1);
    f->time_ns = 1000;
    f->core.record = fixture_record;
    f->core.record_context = f;
    for (uint32_t i = 1; i <= servers; i++) {
        union wire_any record = {.j_server = {.server_id = i, .node = 1000 + i}};
        CHECK(fixture_decide(f, WIRE_TYPE_j_server, &record) == WIRE_OK);
        struct server *server = servers_find(&f->core.servers, i);
        server_begin(server, 1, wire_text("host"), (uint16_t)i);
        server->registering = false;
        server->connected = true;
        server->total_bytes = 1 << 30;
    }
    CHECK(fixture_begin_session(f, 77) == WIRE_OK);
    return f;
}

static inline void fixture_destroy(struct core_fixture *f)
{
    core_fini(&f->core);
    for (size_t i = 0; i < f->count; i++)
        free(f->records[i].body);
    free(f->records);
    free(f);
}

/* Makes a file in the root, opened; its inode number. */
static inline inode_id fixture_make_file(struct core_fixture *f, const char *name)
{
    union wire_any request = {.create = {.parent = ROOT_INODE, .name = wire_text(name), .mode = 0644}};
    struct wire_create_reply reply;
    CHECK(fixture_ask(f, WIRE_TYPE_create, &request) == WIRE_OK);
    CHECK(wire_get_create_reply(f->reply, f->reply_bytes, &reply) == 0);
    return reply.attr.ino;
}

/* Leases a chunk of the file to the session; makes it on the servers 1 to copies if it is a hole. */
static inline uint16_t fixture_lease(struct core_fixture *f, inode_id ino, uint32_t index, uint32_t copies)
{
    uint8_t data[1024];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct inode *inode = namespace_find(&f->core.names, ino);
    struct chunk *chunk = inode && inode_is_file(inode) ? inode_find_chunk(inode, index) : NULL;
    union wire_any record = {.j_lease = {.ino = ino, .index = index, .session = f->session}};
    record.j_lease.chunk_id = chunk ? chunk->node.id : f->core.chunks.next_id;
    record.j_lease.version = chunk ? chunk->version : 1;
    for (uint32_t i = 1; !chunk && i <= copies; i++) {
        struct wire_server server = {.id = i};
        CHECK(wire_append_server(&room, &record.j_lease.servers, &server));
    }
    return fixture_decide(f, WIRE_TYPE_j_lease, &record);
}

/* Publishes a length, and gives back the lease on chunk `index` (-1: none). */
static inline uint16_t fixture_publish(struct core_fixture *f, inode_id ino, uint64_t length, int64_t index,
                                       bool written)
{
    uint8_t data[64];
    struct wire_out room = wire_out_on(data, sizeof data);
    const struct inode *inode = namespace_find(&f->core.names, ino);
    union wire_any request = {.publish = {.ino = ino, .length = length, .mtime = f->time_ns}};
    struct wire_released_lease released = {
        .index = (uint32_t)index, .written = written, .blocks = WIRE_BLOCKS_UNKNOWN};
    request.publish.size_epoch = inode ? inode->size_epoch : 0;
    if (index >= 0)
        CHECK(wire_append_released_lease(&room, &request.publish.released, &released));
    return fixture_ask(f, WIRE_TYPE_publish, &request);
}

static inline uint16_t fixture_set_size(struct core_fixture *f, inode_id ino, uint64_t size)
{
    union wire_any request = {.setattr = {.ino = ino, .valid = WIRE_SET_SIZE, .size = size}};
    return fixture_ask(f, WIRE_TYPE_setattr, &request);
}

/* Files that have just lost their last name are kept no longer. */
static inline void fixture_forget_removed(struct core_fixture *f)
{
    union wire_any record = {.j_forget = {.count = f->core.removed.count}};
    if (record.j_forget.count)
        CHECK(fixture_decide(f, WIRE_TYPE_j_forget, &record) == WIRE_OK);
}

/* ---- images ---- */

struct image_bytes {
    uint8_t *data;
    size_t used, room;
};

static inline int image_bytes_put(void *context, uint16_t section, const void *data, size_t bytes)
{
    struct image_bytes *image = context;
    uint32_t head[2] = {section, (uint32_t)bytes};
    if (image->used + sizeof head + bytes > image->room) {
        image->room = (image->used + sizeof head + bytes) * 2;
        image->data = check_alloc(realloc(image->data, image->room));
    }
    memcpy(image->data + image->used, head, sizeof head);
    memcpy(image->data + image->used + sizeof head, data, bytes);
    image->used += sizeof head + bytes;
    return 0;
}

static inline struct image_bytes image_bytes_of(const struct core *core)
{
    struct image_bytes image = {0};
    CHECK(image_save(core, image_bytes_put, &image) == 0);
    return image;
}

/* A core made from the image. 0 or what loading said; then the core is finished again. */
static inline int image_bytes_load(const struct image_bytes *image, size_t bytes, struct core *core)
{
    struct image_loader loader;
    int rc = 0;
    image_load_begin(&loader, core);
    for (size_t at = 0; rc == 0 && at + 8 <= bytes;) {
        uint32_t head[2];
        memcpy(head, image->data + at, sizeof head);
        at += sizeof head;
        size_t length = head[1] < bytes - at ? head[1] : bytes - at;
        rc = image_load_take(&loader, (uint16_t)head[0], image->data + at, length);
        at += length;
    }
    if (rc == 0)
        rc = image_load_end(&loader);
    if (rc < 0)
        core_fini(core);
    return rc;
}

#endif
