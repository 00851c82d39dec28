/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunkservers of pretence under a real core (core_fixture.h): each keeps which chunks it has in which version, and does what it is
 * told when the test lets it. Every copy carries the generation of its content, so that a copy made from the wrong one is seen.
 */
#ifndef CALF_TESTS_REPAIR_CLUSTER_H
#define CALF_TESTS_REPAIR_CLUSTER_H

#include "master/chunk_reports.h"
#include "master/repair.h"
#include "tests/unit/core_fixture.h"

enum { CLUSTER_SERVERS = 5, CLUSTER_CHUNKS = 64, CLUSTER_COPY_BYTES = 9192 };

struct pretended_copy {
    chunk_id id; /* 0: none */
    uint32_t version, content;
    bool damaged;
};

struct repair_cluster {
    struct core_fixture *f;
    struct core_time now;
    struct pretended_copy stores[CLUSTER_SERVERS + 1][CLUSTER_CHUNKS];
    bool stuck[CLUSTER_SERVERS + 1]; /* takes no commands for now */
    bool full[CLUSTER_SERVERS + 1];
    unsigned copies, deletions, most_at_once;
};

static inline struct server *cluster_server(struct repair_cluster *c, server_id id)
{
    return servers_find(&c->f->core.servers, id);
}

static inline struct pretended_copy *cluster_copy(struct repair_cluster *c, server_id id, chunk_id chunk)
{
    for (int i = 0; i < CLUSTER_CHUNKS; i++)
        if (c->stores[id][i].id == chunk)
            return &c->stores[id][i];
    return NULL;
}

static inline struct pretended_copy *cluster_put(struct repair_cluster *c, server_id id, struct pretended_copy copy)
{
    struct pretended_copy *at = cluster_copy(c, id, copy.id);
    if (!at)
        at = cluster_copy(c, id, 0);
    CHECK(at);
    *at = copy;
    return at;
}

static inline struct repair_cluster *cluster_create(uint32_t servers)
{
    struct repair_cluster *c = check_alloc(calloc(1, sizeof *c));
    c->f = fixture_create(servers);
    c->now.mono_ns = 1000 * NS_PER_S;
    for (uint32_t i = 1; i <= servers; i++) {
        cluster_server(c, i)->total_bytes = 64 << 20;
        cluster_server(c, i)->used_bytes = 0;
    }
    return c;
}

static inline void cluster_destroy(struct repair_cluster *c)
{
    fixture_destroy(c->f);
    free(c);
}

static inline uint16_t cluster_do_copy(struct repair_cluster *c, server_id at, const struct wire_command *m)
{
    const struct pretended_copy *source = cluster_copy(c, m->source.id, m->chunk_id);
    const struct pretended_copy *old = cluster_copy(c, at, m->chunk_id);
    if (c->full[at])
        return WIRE_NO_SPACE;
    if (!source || source->version != m->version)
        return source ? WIRE_WRONG_VERSION : WIRE_NO_CHUNK;
    if (source->damaged)
        return WIRE_DAMAGED;
    if (old && old->version > m->version)
        return WIRE_BUSY;
    (void)cluster_put(c, at, *source);
    c->copies++;
    return WIRE_OK;
}

static inline uint16_t cluster_do(struct repair_cluster *c, server_id at, const struct wire_command *m)
{
    struct pretended_copy *copy = cluster_copy(c, at, m->chunk_id);
    switch (m->action) {
    case WIRE_ACTION_COPY:
        return cluster_do_copy(c, at, m);
    case WIRE_ACTION_DELETE:
        if (!copy || (m->version && copy->version != m->version))
            return copy ? WIRE_WRONG_VERSION : WIRE_OK;
        copy->id = 0;
        c->deletions++;
        return WIRE_OK;
    case WIRE_ACTION_SET_VERSION:
        if (!copy && m->create)
            copy = cluster_put(c, at, (struct pretended_copy){.id = m->chunk_id, .version = m->version});
        if (!copy || copy->version < m->version || copy->version > m->new_version)
            return copy ? WIRE_WRONG_VERSION : WIRE_NO_CHUNK;
        copy->version = m->new_version;
        return WIRE_OK;
    }
    return WIRE_NOT_SUPPORTED;
}

/* A server takes what waits for it, does it and answers. How many commands. */
static inline unsigned cluster_serve(struct repair_cluster *c, server_id id)
{
    struct server *server = cluster_server(c, id);
    uint8_t data[16384];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_list commands = {0};
    struct wire_command command;
    struct server_command taken;
    if (!server->connected || c->stuck[id])
        return 0;
    server_take_commands(server, &c->f->core.servers, c->now.mono_ns, &room, &commands);
    unsigned count = commands.count;
    while (wire_next_command(&commands, &command)) {
        uint16_t status = cluster_do(c, id, &command);
        if (!server_take_result(server, command.number, &taken))
            continue;
        if (taken.action == WIRE_ACTION_SET_VERSION)
            chunk_ops_result(&c->f->core, server, &taken, &(struct wire_command_result){.status = status, .blocks = WIRE_BLOCKS_UNKNOWN},
                             c->now);
        else if (taken.action == WIRE_ACTION_COPY)
            repair_result(&c->f->core, server, &taken, status, c->now);
    }
    return count;
}

/* What the servers say they use. */
static inline void cluster_report_use(struct repair_cluster *c)
{
    for (uint32_t id = 1; id <= c->f->core.servers.count; id++) {
        uint64_t used = 0;
        for (int i = 0; i < CLUSTER_CHUNKS; i++)
            used += c->stores[id][i].id ? CLUSTER_COPY_BYTES : 0;
        cluster_server(c, id)->used_bytes = used;
    }
}

static inline void cluster_tick(struct repair_cluster *c)
{
    c->now.mono_ns += NS_PER_S;
    chunk_ops_tick(&c->f->core, c->now);
    repair_tick(&c->f->core, c->now);
    if (c->f->core.repair.job_count > c->most_at_once)
        c->most_at_once = c->f->core.repair.job_count;
}

/* Seconds go by, and everybody does what he is told. */
static inline void cluster_run(struct repair_cluster *c, unsigned seconds)
{
    while (seconds--) {
        cluster_tick(c);
        unsigned busy;
        do {
            busy = 0;
            for (uint32_t id = 1; id <= c->f->core.servers.count; id++)
                busy += cluster_serve(c, id);
        } while (busy);
        cluster_report_use(c);
    }
}

/* A file of one chunk with that goal, written on the servers 1 to `copies`, closed. */
static inline struct chunk *cluster_file(struct repair_cluster *c, const char *name, uint8_t goal, uint32_t copies)
{
    inode_id ino = fixture_make_file(c->f, name);
    namespace_find(&c->f->core.names, ino)->goal = goal;
    CHECK(fixture_lease(c->f, ino, 0, copies) == WIRE_OK);
    CHECK(fixture_publish(c->f, ino, 1000, 0, true) == WIRE_OK);
    struct chunk *chunk = inode_find_chunk(namespace_find(&c->f->core.names, ino), 0);
    for (uint32_t i = 1; i <= copies; i++)
        (void)cluster_put(c, i, (struct pretended_copy){chunk->node.id, chunk->version, 7, false});
    return chunk;
}

static inline void cluster_lose(struct repair_cluster *c, server_id id)
{
    server_lost(cluster_server(c, id));
    cluster_server(c, id)->lost_ns = c->now.mono_ns;
    chunk_ops_server_gone(&c->f->core, cluster_server(c, id), c->now);
}

/* A server (re-)registers with what it has. */
static inline void cluster_come_back(struct repair_cluster *c, server_id id)
{
    struct server *server = cluster_server(c, id);
    server_begin(server, (uint64_t)c->now.mono_ns, wire_text("host"), 1);
    chunk_reports_begin(&c->f->core, server);
    for (int i = 0; i < CLUSTER_CHUNKS; i++) {
        const struct pretended_copy *copy = &c->stores[id][i];
        struct wire_chunk_report report = {copy->id, copy->version, copy->damaged};
        if (copy->id)
            chunk_reports_take(&c->f->core, server, &report, c->now);
    }
    chunk_reports_end(&c->f->core, server, c->now);
}

static inline void cluster_damage(struct repair_cluster *c, server_id id, chunk_id chunk)
{
    struct pretended_copy *copy = cluster_copy(c, id, chunk);
    copy->damaged = true;
    struct wire_chunk_report report = {chunk, copy->version, 1};
    chunk_reports_damaged(&c->f->core, cluster_server(c, id), &report);
}

/* Copies in the set that are really there, in the right version and with the right content. */
static inline unsigned cluster_true_copies(struct repair_cluster *c, struct chunk *chunk)
{
    unsigned count = 0;
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        server_id id = chunk_copies(chunk)[i].server;
        const struct pretended_copy *copy = cluster_copy(c, id, chunk->node.id);
        count += copy && copy->version == chunk->version && copy->content == 7 && !copy->damaged &&
                 cluster_server(c, id)->connected;
    }
    return count;
}

#endif
