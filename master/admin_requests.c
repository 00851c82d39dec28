/* SPDX-License-Identifier: Apache-2.0 */
#include "master/admin_requests.h"

#include "common/clock.h"

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
            bool here = servers_find(&core->servers, copies[i].server)->connected;
            bool has_it = copies[i].bits & COPY_REPORTED || chunk->bits & CHUNK_MAYBE_ABSENT;
            good += here && has_it && !(copies[i].bits & (COPY_DAMAGED | COPY_LOST));
            reply->damaged_copies += (copies[i].bits & COPY_DAMAGED) != 0;
        }
        reply->chunks_missing += good == 0;
        reply->chunks_below_goal += good < chunk->owner->goal;
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
        .repair_queue = core->chunks.unsettled_count,
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

void admin_requests_servers(struct master *master, struct wire_out *room, struct wire_admin_servers_reply *reply)
{
    const struct servers *servers = &master->core.servers;
    for (uint32_t i = 0; i < servers->count; i++) {
        struct wire_server_state state = server_state(servers->list[i], master->now.mono_ns);
        if (!wire_append_server_state(room, &reply->servers, &state))
            break;
    }
}
