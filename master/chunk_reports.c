/* SPDX-License-Identifier: Apache-2.0 */
#include "master/chunk_reports.h"

#include "common/check.h"
#include "common/log.h"
#include "master/placement.h"
#include "master/repair.h"

void chunk_reports_begin(struct core *core, const struct server *server)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(&core->chunks.table, &walk); node;
         node = id_table_next(&core->chunks.table, &walk)) {
        struct chunk_copy *copy = chunk_find_copy((struct chunk *)node, server->id);
        if (copy)
            copy->bits = 0;
    }
}

static void delete_copy(const struct core *core, struct server *server, chunk_id id, uint32_t version)
{
    server_queue_delete(&core->servers, server, id, version);
}

/* The server's version is ahead: the journal lost the record of it. What the server has is newer, so it counts. */
static void adopt(struct core *core, const struct server *server, const struct chunk *chunk, uint32_t version,
                  struct core_time now)
{
    uint8_t data[16];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_server who = {.id = server->id};
    union wire_any record = {.j_copies = {.chunk_id = chunk->node.id, .version = version, .blocks = WIRE_BLOCKS_UNKNOWN}};
    log_warning("chunk %llu: chunkserver %u has version %u, %u was known; taken over",
                (unsigned long long)chunk->node.id, server->id, version, chunk->version);
    CHECK(wire_append_server(&room, &record.j_copies.servers, &who));
    CHECK(core_decide(core, WIRE_TYPE_j_copies, &record, now.wall_ns) == WIRE_OK);
}

void chunk_reports_take(struct core *core, struct server *server, const struct wire_chunk_report *report,
                        struct core_time now)
{
    struct chunk *chunk = chunk_table_find(&core->chunks, report->chunk_id);
    if (!chunk) {
        if (chunk_table_was_removed(&core->chunks, report->chunk_id))
            delete_copy(core, server, report->chunk_id, 0);
        else
            server->strange_chunks++;
        return;
    }
    struct chunk_copy *copy = chunk_find_copy(chunk, server->id);
    uint32_t oldest = chunk_is_unsettled(chunk) ? chunk->activity->oldest_version : chunk->version;
    if (!copy) {
        if (report->version <= chunk->version)
            server_add_suspect(server, report->chunk_id, report->version);
        return;
    }
    if (report->version > chunk->version && !report->damaged) {
        chunk_ops_cancel(core, chunk);
        adopt(core, server, chunk, report->version, now);
    } else if (report->version < oldest) {
        copy->bits |= COPY_LOST;
    } else {
        copy->bits |= COPY_REPORTED;
    }
    copy = chunk_find_copy(chunk, server->id);
    if (report->damaged)
        copy->bits |= COPY_DAMAGED;
}

static uint32_t good_copies(const struct core *core, struct chunk *chunk)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    uint32_t good = 0;
    for (uint8_t i = 0; i < chunk->copy_count; i++)
        good += servers_find(&core->servers, copies[i].server)->connected &&
                (copies[i].bits & ~COPY_EQUAL) == COPY_REPORTED;
    return good;
}

/* A copy outside of its chunk's set. An older version goes when the newer one is good somewhere. One of the same version
 * was being made when its server or the master went away: nobody knows whether it is complete, so it goes too, but only
 * when there are as many good ones as wanted. */
static bool may_go(const struct core *core, const struct server *server, struct chunk *chunk, uint32_t version)
{
    if (chunk_find_copy(chunk, server->id) || chunk_is_unsettled(chunk) || repair_is_copying(chunk))
        return false;
    uint32_t good = good_copies(core, chunk);
    return version < chunk->version ? good > 0 : version == chunk->version && good >= chunk->owner->goal;
}

/* What is certain by now goes; the rest stays suspect. */
static void judge(struct core *core, struct server *server)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < server->suspect_count; i++) {
        struct server_suspect suspect = server->suspects[i];
        struct chunk *chunk = chunk_table_find(&core->chunks, suspect.chunk);
        if (chunk && chunk_find_copy(chunk, server->id))
            continue; /* it has been made anew, and counts */
        if (!chunk || may_go(core, server, chunk, suspect.version))
            delete_copy(core, server, suspect.chunk, suspect.version ? suspect.version : WIRE_QUARANTINED);
        else
            server->suspects[kept++] = suspect;
    }
    server->suspect_count = kept;
}

void chunk_reports_judge(struct core *core)
{
    for (uint32_t i = 0; i < core->servers.count; i++)
        if (core->servers.list[i]->connected)
            judge(core, core->servers.list[i]);
}

void chunk_reports_end(struct core *core, struct server *server, struct core_time now)
{
    server->registering = false;
    server->connected = true;
    server->last_poll_ns = now.mono_ns;
    placement_welcome(&core->servers, server);
    chunk_reports_judge(core);
    if (server->strange_chunks)
        log_warning("chunkserver %u holds %llu chunks that were never known here; they stay", server->id,
                    (unsigned long long)server->strange_chunks);
    core->wake = true;
    core->repair.look = true;
    chunk_ops_tick(core, now);
}

void chunk_reports_damaged(struct core *core, struct server *server, const struct wire_chunk_report *report)
{
    struct chunk *chunk = chunk_table_find(&core->chunks, report->chunk_id);
    struct chunk_copy *copy = chunk ? chunk_find_copy(chunk, server->id) : NULL;
    log_warning("chunkserver %u: its copy of chunk %llu is damaged", server->id, (unsigned long long)report->chunk_id);
    if (chunk && !copy) {
        server_add_suspect(server, report->chunk_id, report->version);
        return;
    }
    if (copy && report->version == 0) /* its header is damaged: nothing of it can be used */
        copy->bits |= COPY_DAMAGED | COPY_LOST;
    else if (copy && report->version == chunk->version)
        copy->bits |= COPY_DAMAGED;
    if (copy && !repair_is_copying(chunk))
        repair_note(core, chunk);
}
