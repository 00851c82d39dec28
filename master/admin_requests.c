/* SPDX-License-Identifier: Apache-2.0 */
#include "master/admin_requests.h"

#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"
#include "master/repair.h"

/* One walk over all chunks; rare enough. */
static void count_chunks(const struct core *core, struct wire_admin_status_reply *reply)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(&core->chunks.table, &walk); node;
         node = id_table_next(&core->chunks.table, &walk)) {
        struct chunk *chunk = (struct chunk *)node;
        const struct chunk_copy *copies = chunk_copies(chunk);
        unsigned good = 0;
        for (uint8_t i = 0; i < chunk->copy_count; i++) {
            good += repair_is_good(core, chunk, &copies[i]);
            reply->damaged_copies += (copies[i].bits & COPY_DAMAGED) != 0;
        }
        reply->chunks_missing += good == 0;
        reply->chunks_below_goal += good < chunk->owner->goal;
        reply->chunks_one_copy += good == 1;
        reply->chunks_two_copies += good == 2;
        reply->chunks_more_copies += good > 2;
    }
}

void admin_requests_status(struct master *master, struct wire_admin_status_reply *reply)
{
    const struct core *core = &master->core;
    *reply = (struct wire_admin_status_reply){
        .cluster = core->cluster,
        .uptime_ms = (uint64_t)((master->now.mono_ns - master->started_ns) / NS_PER_MS),
        .journal = wire_text(master_sync_name(master)),
        .servers = core->servers.count,
        .sessions = (uint32_t)core->sessions.table.count,
        .files = core->names.inodes.count - core->names.directories,
        .directories = core->names.directories,
        .chunks = core->chunks.table.count,
        .repair_queue = core->chunks.unsettled_count + repair_queue_length(core),
        .copies_running = core->repair.job_count,
        .copies_made = core->repair.copies_made,
        .copies_failed = core->repair.copies_failed,
        .snapshot_failures = master->snapshot_failures,
        .journal_bytes = journal_bytes(master->journal),
        .snapshot_age_ms = (uint64_t)((master->now.wall_ns - master->snapshot_ns) / NS_PER_MS),
    };
    for (uint32_t i = 0; i < core->servers.count; i++) {
        const struct server *server = core->servers.list[i];
        reply->damaged_blocks += server->counters.damaged_blocks;
        if (!server->connected)
            continue;
        reply->servers_connected++;
        reply->total_bytes += server->total_bytes;
        reply->used_bytes += server->used_bytes;
    }
    count_chunks(core, reply);
}

/* Copies on servers that are being emptied, by id - 1. */
static uint64_t *count_to_move(const struct core *core)
{
    uint64_t *counts = check_alloc(calloc(core->servers.count + 1, sizeof *counts));
    struct id_walk walk;
    bool any = false;
    for (uint32_t i = 0; i < core->servers.count; i++)
        any |= core->servers.list[i]->draining;
    if (!any)
        return counts;
    for (struct id_node *node = id_table_first(&core->chunks.table, &walk); node;
         node = id_table_next(&core->chunks.table, &walk)) {
        struct chunk *chunk = (struct chunk *)node;
        for (uint8_t i = 0; i < chunk->copy_count; i++) {
            server_id id = chunk_copies(chunk)[i].server;
            counts[id - 1] += servers_find(&core->servers, id)->draining;
        }
    }
    return counts;
}

void admin_requests_servers(struct master *master, struct wire_out *room, struct wire_admin_servers_reply *reply)
{
    const struct servers *servers = &master->core.servers;
    SCOPE_FREE uint64_t *to_move = count_to_move(&master->core);
    for (uint32_t i = 0; i < servers->count; i++) {
        struct wire_server_state state = server_state(servers->list[i], master->now.mono_ns);
        state.to_move = to_move[i];
        if (!wire_append_server_state(room, &reply->servers, &state))
            break;
    }
}

static struct server *find_server(const struct servers *servers, const struct wire_admin_drain *asked)
{
    if (asked->server_id)
        return servers_find(servers, asked->server_id);
    for (uint32_t i = 0; i < servers->count; i++) {
        struct server *server = servers->list[i];
        if (server->host && server->port == asked->port && strlen(server->host) == asked->host.length &&
            memcmp(server->host, asked->host.data, asked->host.length) == 0)
            return server;
    }
    return NULL;
}

uint16_t admin_requests_drain(struct master *master, const struct wire_admin_drain *asked,
                              struct wire_admin_drain_reply *reply)
{
    const struct server *server = find_server(&master->core.servers, asked);
    if (!server)
        return WIRE_NO_ENTRY;
    reply->server_id = server->id;
    if (server->draining == (asked->drain != 0))
        return WIRE_OK;
    union wire_any record = {.j_drain = {.server_id = server->id, .drain = asked->drain != 0}};
    log_info("chunkserver %u is %s", server->id, asked->drain ? "to be emptied" : "not to be emptied any more");
    return core_decide(&master->core, WIRE_TYPE_j_drain, &record, master->now.wall_ns);
}
