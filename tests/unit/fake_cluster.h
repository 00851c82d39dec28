/* SPDX-License-Identifier: Apache-2.0
 *
 * A master and two chunkservers of pretence, with one file (inode 2, one chunk, 64 KiB chunks), for tests of what the client
 * does when they misbehave. The test sets `on_chunk` and `on_master` to change an answer; what those leave alone
 * (return false) is answered as a healthy cluster would.
 */
#ifndef CALF_TESTS_FAKE_CLUSTER_H
#define CALF_TESTS_FAKE_CLUSTER_H

#include <stdio.h>

#include "client/fs.h"
#include "common/checksum.h"
#include "common/clock.h"
#include "tests/unit/fake_peer.h"

enum { FAKE_INO = 2, FAKE_CHUNK_BYTES = 65536, FAKE_SERVERS = 2, FAKE_CLUSTER = 77 };

struct fake_server {
    struct fake_peer peer;
    struct fake_cluster *cluster;
    uint32_t id;
    uint8_t data[FAKE_CHUNK_BYTES];
    atomic_int reads, writes;
};

struct fake_cluster {
    struct fake_peer master;
    struct fake_server servers[FAKE_SERVERS];
    pthread_mutex_t lock; /* guards what follows; held while a handler runs */
    struct wire_attr attr;
    uint64_t chunk_id;
    uint32_t version;
    uint32_t copies;      /* of the chunk: servers[first_copy], ... */
    uint32_t first_copy;
    uint64_t session;     /* that is known */
    struct wire_publish published; /* the last one */
    int publishes, releases, release_messages, leases, recovers, sessions;
    uint32_t recovered_from; /* server id */
    struct fake_cluster *kept_before;
    bool (*on_chunk)(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply);
    bool (*on_master)(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply);
};

static inline void fake_hello(struct fake_reply *reply, uint64_t session)
{
    reply->value.hello_reply = (struct wire_hello_reply){.cluster = FAKE_CLUSTER,
                                                         .session = session,
                                                         .chunk_bytes = FAKE_CHUNK_BYTES,
                                                         .block_bytes = WIRE_BLOCK_BYTES,
                                                         .session_timeout_ms = 30000,
                                                         .journal = wire_text("interval")};
}

static inline void fake_chunk_read(struct fake_server *server, const struct wire_chunk_read *request, struct fake_reply *reply)
{
    uint32_t pieces = checksum_pieces(request->offset, request->length, WIRE_BLOCK_BYTES);
    checksum_range(server->data + request->offset, request->offset, request->length, WIRE_BLOCK_BYTES,
                   (uint64_t *)(void *)reply->scratch);
    reply->value.chunk_read_reply.checksums = wire_bytes_of(reply->scratch, 8 * (size_t)pieces);
    reply->payload = server->data + request->offset;
    reply->payload_bytes = request->length;
}

static inline void fake_chunk_write(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    const struct wire_chunk_write *write = &request->value.chunk_write;
    struct fake_cluster *cluster = server->cluster;
    if (!(write->flags & WIRE_WRITE_ZERO) &&
        (request->payload_bytes != write->length ||
         checksum_verify_range(request->payload, write->offset, write->length, WIRE_BLOCK_BYTES, write->checksums.data) >= 0)) {
        reply->status = WIRE_BAD_MESSAGE;
        return;
    }
    for (uint32_t i = 0; i < cluster->copies; i++) { /* the chain, without its messages */
        uint8_t *at = cluster->servers[(cluster->first_copy + i) % FAKE_SERVERS].data + write->offset;
        if (write->flags & WIRE_WRITE_ZERO)
            memset(at, 0, write->length);
        else
            memcpy(at, request->payload, write->length);
    }
}

static inline void fake_server_handle(void *context, const struct fake_request *request, struct fake_reply *reply)
{
    struct fake_server *server = context;
    struct fake_cluster *cluster = server->cluster;
    (void)pthread_mutex_lock(&cluster->lock);
    if (request->type == WIRE_TYPE_chunk_read)
        atomic_fetch_add(&server->reads, 1);
    if (request->type == WIRE_TYPE_chunk_write)
        atomic_fetch_add(&server->writes, 1);
    if (request->type == WIRE_TYPE_hello) {
        fake_hello(reply, 0);
    } else if (cluster->on_chunk && cluster->on_chunk(server, request, reply)) {
        /* The test has answered. */
    } else if (request->type == WIRE_TYPE_chunk_read) {
        if (request->value.chunk_read.version != cluster->version)
            reply->status = WIRE_WRONG_VERSION;
        else
            fake_chunk_read(server, &request->value.chunk_read, reply);
    } else if (request->type == WIRE_TYPE_chunk_write) {
        if (request->value.chunk_write.version != cluster->version)
            reply->status = WIRE_WRONG_VERSION;
        else
            fake_chunk_write(server, request, reply);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
}

static inline struct wire_list fake_servers(struct fake_cluster *cluster, struct fake_reply *reply)
{
    struct wire_out room = wire_out_on(reply->scratch, sizeof reply->scratch);
    struct wire_list list = {0};
    for (uint32_t i = 0; i < cluster->copies; i++) {
        const struct fake_server *server = &cluster->servers[(cluster->first_copy + i) % FAKE_SERVERS];
        struct wire_server place = {
            .id = server->id, .host = wire_text(server->peer.address.host), .port = server->peer.address.port};
        CHECK(wire_append_server(&room, &list, &place));
    }
    return list;
}

static inline void fake_lease(struct fake_cluster *cluster, struct fake_reply *reply)
{
    reply->value.chunk_lease_reply = (struct wire_chunk_lease_reply){.chunk_id = cluster->chunk_id,
                                                                     .version = cluster->version,
                                                                     .size_epoch = cluster->attr.size_epoch,
                                                                     .servers = fake_servers(cluster, reply)};
}

static inline void fake_recover(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    struct wire_failed_server failed = {0};
    struct wire_list list = request->value.chunk_recover.failed;
    cluster->recovers++;
    (void)wire_next_failed_server(&list, &failed);
    cluster->recovered_from = failed.id;
    if (cluster->copies > 1) {
        cluster->first_copy = failed.id == cluster->servers[0].id ? 1 : 0;
        cluster->copies--;
        cluster->version++;
    }
    struct fake_reply lease;
    fake_lease(cluster, reply);
    lease.value.chunk_lease_reply = reply->value.chunk_lease_reply;
    reply->value.chunk_recover_reply = (struct wire_chunk_recover_reply){.chunk_id = cluster->chunk_id,
                                                                         .version = cluster->version,
                                                                         .size_epoch = cluster->attr.size_epoch,
                                                                         .servers = lease.value.chunk_lease_reply.servers};
}

static inline void fake_publish(struct fake_cluster *cluster, const struct wire_publish *publish, struct fake_reply *reply)
{
    cluster->publishes++;
    cluster->published = *publish;
    if (publish->size_epoch == cluster->attr.size_epoch && publish->length > cluster->attr.size)
        cluster->attr.size = publish->length;
    if (publish->mtime) {
        cluster->attr.mtime = publish->mtime;
        cluster->attr.change++;
    }
    reply->value.publish_reply.attr = cluster->attr;
}

static inline void fake_releases(struct fake_cluster *cluster, const struct wire_releases *releases)
{
    struct wire_list list = releases->opens;
    struct wire_ended_open ended;
    cluster->release_messages++;
    while (wire_next_ended_open(&list, &ended))
        cluster->releases += (int)ended.count;
}

static inline void fake_master_answer(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    switch (request->type) {
    case WIRE_TYPE_hello:
        if (request->value.hello.session == 0)
            cluster->session = 1000 + (uint64_t)++cluster->sessions;
        else if (request->value.hello.session != cluster->session)
            reply->status = WIRE_NO_SESSION;
        fake_hello(reply, cluster->session);
        return;
    case WIRE_TYPE_chunk_locate:
        reply->value.chunk_locate_reply = (struct wire_chunk_locate_reply){
            .chunk_id = cluster->chunk_id, .version = cluster->version, .servers = fake_servers(cluster, reply)};
        return;
    case WIRE_TYPE_chunk_lease:
        cluster->leases++;
        fake_lease(cluster, reply);
        return;
    case WIRE_TYPE_chunk_recover:
        fake_recover(cluster, request, reply);
        return;
    case WIRE_TYPE_publish:
        fake_publish(cluster, &request->value.publish, reply);
        return;
    case WIRE_TYPE_releases:
        fake_releases(cluster, &request->value.releases);
        return;
    default:
        /* Everything else that a test asks for is answered with attributes. */
        reply->value.getattr_reply.attr = cluster->attr;
    }
}

static inline void fake_master_handle(void *context, const struct fake_request *request, struct fake_reply *reply)
{
    struct fake_cluster *cluster = context;
    (void)pthread_mutex_lock(&cluster->lock);
    if (!cluster->on_master || !cluster->on_master(cluster, request, reply))
        fake_master_answer(cluster, request, reply);
    (void)pthread_mutex_unlock(&cluster->lock);
}

static inline struct fake_cluster *fake_cluster_start(uint32_t copies)
{
    struct fake_cluster *cluster = check_alloc(calloc(1, sizeof *cluster));
    (void)pthread_mutex_init(&cluster->lock, NULL);
    cluster->attr = (struct wire_attr){.ino = FAKE_INO, .mode = 0100644, .nlink = 1, .change = 1, .goal = 1};
    cluster->chunk_id = 9;
    cluster->version = 1;
    cluster->copies = copies;
    for (uint32_t i = 0; i < FAKE_SERVERS; i++) {
        cluster->servers[i].cluster = cluster;
        cluster->servers[i].id = i + 1;
        fake_peer_start(&cluster->servers[i].peer, 0, fake_server_handle, &cluster->servers[i]);
    }
    fake_peer_start(&cluster->master, 0, fake_master_handle, cluster);
    return cluster;
}

static inline struct fs *fake_cluster_mount(struct fake_cluster *cluster, int64_t retry_ns)
{
    struct fs_options options = {.master = cluster->master.address, .retry_ns = retry_ns, .node = "test"};
    struct fs *fs;
    CHECK(fs_mount(&options, &fs) == 0);
    return fs;
}

/* After fs_unmount. Threads of connections may still be ending, so the memory stays. */
static inline void fake_cluster_stop(struct fake_cluster *cluster)
{
    static struct fake_cluster *kept;
    for (uint32_t i = 0; i < FAKE_SERVERS; i++)
        fake_peer_stop(&cluster->servers[i].peer);
    fake_peer_stop(&cluster->master);
    cluster->kept_before = kept;
    kept = cluster;
}

/* A cluster with its file opened for writing through a mount. */
struct fake_mount {
    struct fake_cluster *cluster;
    struct fs *fs;
    struct fs_handle *handle;
};

static inline struct fake_mount fake_mount_open(uint32_t copies)
{
    struct fake_mount mount = {.cluster = fake_cluster_start(copies)};
    mount.fs = fake_cluster_mount(mount.cluster, NS_PER_S);
    CHECK(fs_open(mount.fs, FAKE_INO, 0, &mount.handle, NULL) == 0);
    return mount;
}

static inline void fake_mount_close(struct fake_mount *mount)
{
    fs_release(mount->fs, mount->handle);
    fs_unmount(mount->fs);
    fake_cluster_stop(mount->cluster);
}

#endif
