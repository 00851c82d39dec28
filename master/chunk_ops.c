/* SPDX-License-Identifier: Apache-2.0 */
#include "master/chunk_ops.h"

#include <stdlib.h>

#include "common/check.h"
#include "common/log.h"
#include "master/repair.h"

static void forget(struct core *core, struct chunk_op *op)
{
    if (op->previous)
        op->previous->next = op->next;
    else
        core->ops = op->next;
    if (op->next)
        op->next->previous = op->previous;
    op->chunk->activity->op = NULL;
    chunk_rest(op->chunk);
    free(op);
}

void chunk_ops_cancel(struct core *core, struct chunk *chunk)
{
    if (chunk->activity && chunk->activity->op)
        forget(core, chunk->activity->op);
}

void chunk_ops_fini(struct core *core)
{
    while (core->ops)
        forget(core, core->ops);
}

static bool is_well(const struct core *core, const struct chunk_copy *copy)
{
    return servers_find(&core->servers, copy->server)->connected && !(copy->bits & (COPY_DAMAGED | COPY_LOST));
}

bool chunk_ops_is_usable(const struct core *core, struct chunk *chunk, const struct chunk_copy *copy)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    if (!(copy->bits & COPY_DAMAGED))
        return is_well(core, copy);
    for (uint8_t i = 0; i < chunk->copy_count; i++)
        if (is_well(core, &copies[i]))
            return false;
    return servers_find(&core->servers, copy->server)->connected && !(copy->bits & COPY_LOST);
}

bool chunk_ops_is_hopeless(const struct core *core, struct chunk *chunk)
{
    struct chunk_copy *copies = chunk_copies(chunk);
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&core->servers, copies[i].server);
        if (!server->connected || !(copies[i].bits & COPY_LOST))
            return false;
    }
    return true;
}

/* ---- beginning ---- */

static bool is_among(uint16_t id, const uint16_t *ids, int count)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Fills told with the copies to ask. False: not now. */
static bool choose(struct core *core, struct chunk *chunk, const uint16_t *without, int without_count,
                   struct core_time now, struct chunk_op *op)
{
    struct chunk_copy *copies = chunk_copies(chunk);
    op->told_count = 0;
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&core->servers, copies[i].server);
        if (is_among(copies[i].server, without, without_count))
            continue;
        if (chunk_ops_is_usable(core, chunk, &copies[i]))
            op->told[op->told_count++] = (struct chunk_told){copies[i].server, TOLD_WAITING};
        else if (server->registering || (!server->connected && now.mono_ns < core->all_known_ns))
            return false;
    }
    return op->told_count > 0;
}

static bool record_version(struct core *core, const struct chunk_op *op, int64_t wall_ns)
{
    uint8_t data[WIRE_COPIES_LIMIT * 16];
    struct wire_out room = wire_out_on(data, sizeof data);
    union wire_any record = {
        .j_version = {.chunk_id = op->chunk->node.id, .version = op->version, .keep_bytes = op->keep_bytes}};
    for (uint8_t i = 0; i < op->told_count; i++) {
        struct wire_server server = {.id = op->told[i].server};
        CHECK(wire_append_server(&room, &record.j_version.servers, &server));
    }
    return core_decide(core, WIRE_TYPE_j_version, &record, wall_ns) == WIRE_OK;
}

bool chunk_ops_raise(struct core *core, struct chunk *chunk, const uint16_t *without, int without_count,
                     struct core_time now)
{
    struct chunk_op op = {.chunk = chunk, .version = chunk->version + 1, .started_ns = now.mono_ns, .blocks = WIRE_BLOCKS_UNKNOWN};
    if (chunk->activity && chunk->activity->op)
        return true;
    repair_cancel(core, chunk); /* a copy under the old version is none */
    if (chunk->activity && now.mono_ns < chunk->activity->retry_ns)
        return false;
    bool chosen = choose(core, chunk, without, without_count, now, &op);
    if (!chosen && without_count)
        chosen = choose(core, chunk, NULL, 0, now, &op);
    if (!chosen)
        return false;
    op.keep_bytes = chunk_is_unsettled(chunk) ? chunk->activity->keep_bytes : WIRE_KEEP_ALL;
    op.waiting = op.told_count;
    CHECK(record_version(core, &op, now.wall_ns));
    struct chunk_op *made = check_alloc(malloc(sizeof *made));
    *made = op;
    made->next = core->ops;
    if (core->ops)
        core->ops->previous = made;
    core->ops = made;
    chunk->activity->op = made;
    for (uint8_t i = 0; i < op.told_count; i++)
        (void)server_queue(servers_find(&core->servers, op.told[i].server),
                           (struct server_command){
                               .action = WIRE_ACTION_SET_VERSION,
                               .chunk = chunk->node.id,
                               .version = chunk->activity->oldest_version,
                               .new_version = op.version,
                               .keep_bytes = op.keep_bytes,
                               .create = chunk->bits & CHUNK_MAYBE_ABSENT,
                           });
    return true;
}

/* ---- ending ---- */

/* Records who has the new version. */
static void record_copies(struct core *core, const struct chunk_op *op, int64_t wall_ns)
{
    uint8_t data[WIRE_COPIES_LIMIT * 16];
    struct wire_out room = wire_out_on(data, sizeof data);
    union wire_any record = {
        .j_copies = {.chunk_id = op->chunk->node.id, .version = op->version, .blocks = op->blocks}};
    for (uint8_t i = 0; i < op->told_count; i++) {
        struct wire_server server = {.id = op->told[i].server};
        if (op->told[i].state == TOLD_DONE)
            CHECK(wire_append_server(&room, &record.j_copies.servers, &server));
    }
    if (record.j_copies.servers.count)
        CHECK(core_decide(core, WIRE_TYPE_j_copies, &record, wall_ns) == WIRE_OK);
}

/* What was left out has an older version, and may go when the newer one is known to be good. */
static void record_copies_and_suspects(struct core *core, const struct chunk_op *op, int64_t wall_ns)
{
    uint16_t before[WIRE_COPIES_LIMIT];
    uint8_t count = op->chunk->copy_count;
    for (uint8_t i = 0; i < count; i++)
        before[i] = chunk_copies(op->chunk)[i].server;
    record_copies(core, op, wall_ns);
    for (uint8_t i = 0; i < count; i++) {
        struct server *server = servers_find(&core->servers, before[i]);
        if (server->connected && !chunk_find_copy(op->chunk, before[i]))
            server_add_suspect(server, op->chunk->node.id, op->version - 1);
    }
}

/* All have answered. If more was cut meanwhile, or nobody has the version, the chunk stays unsettled for the next
 * try. */
static void finish(struct core *core, struct chunk_op *op, struct core_time now)
{
    struct chunk *chunk = op->chunk;
    bool cut_again = chunk->activity->keep_bytes < op->keep_bytes;
    if (!cut_again)
        record_copies_and_suspects(core, op, now.wall_ns);
    if (chunk_is_unsettled(chunk) && !cut_again)
        chunk->activity->retry_ns = now.mono_ns + CHUNK_OPS_RETRY_NS;
    forget(core, op);
    core->wake = true;
    if (!cut_again || !chunk_ops_raise(core, chunk, NULL, 0, now))
        repair_raised(core, chunk, now);
}

static void answer(struct core *core, struct chunk_op *op, uint32_t server, uint8_t state, struct core_time now)
{
    for (uint8_t i = 0; i < op->told_count; i++)
        if (op->told[i].server == server && op->told[i].state == TOLD_WAITING) {
            op->told[i].state = state;
            op->waiting--;
        }
    if (op->waiting == 0)
        finish(core, op, now);
}

void chunk_ops_result(struct core *core, const struct server *server, const struct server_command *command,
                      const struct wire_command_result *result, struct core_time now)
{
    uint16_t status = result->status;
    struct chunk *chunk = chunk_table_find(&core->chunks, command->chunk);
    struct chunk_op *op = chunk && chunk->activity ? chunk->activity->op : NULL;
    if (status != WIRE_OK)
        log_warning("chunkserver %u did not take version %u of chunk %llu: %s", server->id, command->new_version,
                    (unsigned long long)command->chunk, wire_status_text(status));
    if (!op || op->version != command->new_version)
        return;
    if (status == WIRE_NO_CHUNK || status == WIRE_DAMAGED || status == WIRE_WRONG_VERSION) {
        struct chunk_copy *copy = chunk_find_copy(chunk, server->id);
        if (copy)
            copy->bits |= status == WIRE_DAMAGED ? COPY_DAMAGED : COPY_LOST;
    }
    if (status == WIRE_OK && result->blocks != WIRE_BLOCKS_UNKNOWN &&
        (op->blocks == WIRE_BLOCKS_UNKNOWN || result->blocks > op->blocks))
        op->blocks = result->blocks;
    answer(core, op, server->id, status == WIRE_OK ? TOLD_DONE : TOLD_FAILED, now);
}

void chunk_ops_server_gone(struct core *core, const struct server *server, struct core_time now)
{
    for (struct chunk_op *op = core->ops, *next; op; op = next) {
        next = op->next;
        answer(core, op, server->id, TOLD_FAILED, now);
    }
    repair_server_gone(core, server, now);
}

void chunk_ops_tick(struct core *core, struct core_time now)
{
    for (struct chunk_op *op = core->ops, *next; op; op = next) {
        next = op->next;
        if (now.mono_ns - op->started_ns < CHUNK_OPS_LIMIT_NS)
            continue;
        for (uint8_t i = 0; i < op->told_count; i++)
            if (op->told[i].state == TOLD_WAITING)
                op->told[i].state = TOLD_FAILED;
        op->waiting = 0;
        finish(core, op, now);
    }
    for (struct chunk_activity *a = core->chunks.unsettled, *next; a; a = next) {
        next = a->next_unsettled;
        if (!a->op)
            (void)chunk_ops_raise(core, a->chunk, NULL, 0, now);
    }
}
