/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves chunks from the fullest server to the emptiest, if they are far apart, until they are close: two limits, so that it
 * settles. In rounds: some moves, a few at a time; then it waits until the servers have reported what they use now. A move is a
 * copy to one and, when that counts, one copy too many, which repair takes from the fullest.
 */
#include "master/repair.h"

#include "common/log.h"
#include "master/repair_jobs.h"

#define PPM 1000000
#define START_PPM 100000        /* tenth of a server's space */
#define STOP_PPM 30000
#define REST_NS (4 * NS_PER_S)  /* longer than it takes to delete and to report */

enum { MOVES_AT_ONCE = 2, MOVES_A_ROUND = 256, LOOK_CHUNKS = 20000, HEADER_BYTES = 8192 };

static uint64_t share_ppm(uint64_t bytes, const struct server *server)
{
    return server->total_bytes ? (uint64_t)((double)bytes / (double)server->total_bytes * PPM) : PPM;
}

uint64_t repair_used_ppm(const struct server *server)
{
    return share_ppm(server->used_bytes, server);
}

static uint64_t planned_ppm(const struct server *server)
{
    return share_ppm(server->planned_bytes, server);
}

/* A round goes by what the servers used when it began and by its own moves: what they report meanwhile has some of
 * those in it and not others. */
static void plan_round(const struct core *core)
{
    for (uint32_t i = 0; i < core->servers.count; i++)
        core->servers.list[i]->planned_bytes = core->servers.list[i]->used_bytes;
}

/* The fullest and the emptiest server; false: there are not two. */
static bool find_extremes(const struct core *core, struct server **from, struct server **to)
{
    *from = *to = NULL;
    for (uint32_t i = 0; i < core->servers.count; i++) {
        struct server *server = core->servers.list[i];
        if (!server->connected || server->draining || server->total_bytes == 0)
            continue;
        if (!*from || planned_ppm(server) > planned_ppm(*from))
            *from = server;
        if (!*to || planned_ppm(server) < planned_ppm(*to))
            *to = server;
    }
    return *from && *from != *to;
}

/* What the chunk's copy is thought to take. */
static int64_t size_of(const struct core *core, const struct chunk *chunk)
{
    uint64_t start = (uint64_t)chunk->index * core->chunk_bytes, size = chunk->owner->size;
    uint64_t bytes = size <= start ? 0 : size - start;
    return (int64_t)(bytes < core->chunk_bytes ? bytes : core->chunk_bytes) + HEADER_BYTES;
}

/* Nothing else is to be done for it, and the move makes the two more alike. */
static bool fits(const struct core *core, struct chunk *chunk, const struct server *from, const struct server *to)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    int64_t bytes = size_of(core, chunk);
    if (chunk->activity || chunk->queued || chunk->bits || chunk->copy_count != chunk->owner->goal ||
        !chunk_find_copy(chunk, from->id) || chunk_find_copy(chunk, to->id))
        return false;
    for (uint8_t i = 0; i < chunk->copy_count; i++)
        if (!repair_is_good(core, chunk, &copies[i]))
            return false;
    return from->planned_bytes > (uint64_t)bytes &&
           share_ppm(from->planned_bytes - (uint64_t)bytes, from) >= share_ppm(to->planned_bytes + (uint64_t)bytes, to) &&
           server_free_bytes(to) > (uint64_t)bytes &&
           !server_has_command(to, chunk->node.id);
}

static struct chunk *find_chunk(struct core *core, const struct server *from, const struct server *to)
{
    struct repair_state *r = &core->repair;
    const struct id_table *table = &core->chunks.table;
    int looked = 0;
    for (size_t i = 0; i < table->bucket_count && looked < LOOK_CHUNKS; i++) {
        r->balance_bucket = (r->balance_bucket + 1) % table->bucket_count;
        for (struct id_node *node = table->buckets[r->balance_bucket]; node; node = node->next, looked++)
            if (fits(core, (struct chunk *)node, from, to))
                return (struct chunk *)node;
    }
    return NULL;
}

static bool only_moves(const struct core *core)
{
    const struct repair_state *r = &core->repair;
    for (const struct repair_job *job = r->jobs; job; job = job->next)
        if (job->why != REPAIR_BALANCE)
            return false;
    for (int i = 0; i < REPAIR_CLASSES; i++)
        if (r->queues[i].count)
            return false;
    return r->started && !r->look && !r->passing;
}

static void say(struct repair_state *r, bool balancing, const struct server *from, const struct server *to)
{
    r->balancing = balancing;
    if (balancing)
        log_info("chunks move from chunkserver %u to %u, which are %llu%% and %llu%% full", from->id, to->id,
                 (unsigned long long)repair_used_ppm(from) / 10000, (unsigned long long)repair_used_ppm(to) / 10000);
    else
        log_info("chunkservers are filled evenly");
}

void repair_balance(struct core *core, struct core_time now)
{
    struct repair_state *r = &core->repair;
    struct server *from, *to;
    if (now.mono_ns < r->balance_rest_ns || !only_moves(core))
        return;
    if (r->balance_moves == 0)
        plan_round(core);
    bool apart = find_extremes(core, &from, &to);
    uint64_t difference = apart ? planned_ppm(from) - planned_ppm(to) : 0;
    if (r->balance_moves == 0 && r->job_count == 0 && difference <= (r->balancing ? STOP_PPM : START_PPM)) {
        if (r->balancing)
            say(r, false, NULL, NULL);
        return;
    }
    while (r->job_count < MOVES_AT_ONCE && r->balance_moves < MOVES_A_ROUND && difference > STOP_PPM) {
        struct chunk *chunk = find_chunk(core, from, to);
        if (!chunk)
            break;
        if (!r->balancing)
            say(r, true, from, to);
        int64_t bytes = size_of(core, chunk);
        from->planned_bytes -= (uint64_t)bytes;
        to->planned_bytes += (uint64_t)bytes;
        r->balance_moves++;
        repair_jobs_copy(core, chunk, from->id, to->id, REPAIR_BALANCE, now);
        (void)find_extremes(core, &from, &to);
        difference = planned_ppm(from) - planned_ppm(to);
    }
    if (r->job_count == 0) {
        r->balance_moves = 0;
        r->balance_rest_ns = now.mono_ns + REST_NS;
    }
}
