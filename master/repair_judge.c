/* SPDX-License-Identifier: Apache-2.0
 *
 * What one chunk needs. Looks only.
 */
#include "master/repair.h"

#include "common/check.h"

/* A copy needs this much room at least, and what lies below the file's length at most. */
enum { LEAST_BYTES = 64 * 1024 };

/* How a chunk's copies stand. */
struct standing {
    uint32_t good, keepers; /* good ones; those of them on servers that are not being emptied */
    uint32_t expected;      /* copies on servers that are away and may come back any moment, to stay */
};

bool repair_is_good(const struct core *core, const struct chunk *chunk, const struct chunk_copy *copy)
{
    return servers_find(&core->servers, copy->server)->connected && !(copy->bits & (COPY_DAMAGED | COPY_LOST)) &&
           (copy->bits & COPY_REPORTED || chunk->bits & CHUNK_MAYBE_ABSENT);
}

static int64_t patience(const struct core *core)
{
    return core->repair.patience_ns ? core->repair.patience_ns : REPAIR_PATIENCE_NS;
}

static bool is_expected(const struct core *core, const struct server *server, struct core_time now)
{
    int64_t since = server->lost_ns > core->all_known_ns ? server->lost_ns : core->all_known_ns;
    return server->registering || (!server->connected && now.mono_ns < since + patience(core));
}

static struct standing look(const struct core *core, struct chunk *chunk, struct core_time now)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    struct standing s = {0};
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&core->servers, copies[i].server);
        bool good = repair_is_good(core, chunk, &copies[i]);
        s.good += good;
        s.keepers += good && !server->draining;
        s.expected += is_expected(core, server, now) && !server->draining && !(copies[i].bits & COPY_DAMAGED);
    }
    return s;
}

bool repair_expects_room(const struct core *core, struct core_time now)
{
    for (uint32_t i = 0; i < core->servers.count; i++) {
        const struct server *server = core->servers.list[i];
        bool may_have_room = !server->total_bytes || server_free_bytes(server) >= LEAST_BYTES;
        if (!server->draining && may_have_room && is_expected(core, server, now))
            return true;
    }
    return false;
}

/* ---- who ---- */

static uint64_t chunk_room(const struct core *core, const struct chunk *chunk)
{
    uint64_t start = (uint64_t)chunk->index * core->chunk_bytes, size = chunk->owner->size;
    uint64_t bytes = size <= start || chunk_is_leased(chunk) ? core->chunk_bytes : size - start;
    if (bytes > core->chunk_bytes)
        bytes = core->chunk_bytes;
    return bytes + LEAST_BYTES;
}

/* The good copy whose server gives away the fewest now. */
static server_id choose_source(const struct core *core, struct chunk *chunk)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    const struct server *best = NULL;
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&core->servers, copies[i].server);
        if (repair_is_good(core, chunk, &copies[i]) && (!best || server->copies_out < best->copies_out))
            best = server;
    }
    return best ? best->id : 0;
}

static bool can_take(const struct server *server, uint64_t room, struct core_time now)
{
    return server->connected && !server->draining && now.mono_ns >= server->full_until_ns &&
           server_free_bytes(server) >= room;
}

/* Where a damaged or absent copy of the set can be replaced in its place, else a server outside of the set, the one
 * with the fewest copies under way and, of those, the emptiest. */
server_id repair_choose_target(const struct core *core, struct chunk *chunk, struct core_time now)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    uint64_t room = chunk_room(core, chunk);
    const struct server *best = NULL;
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&core->servers, copies[i].server);
        if (!repair_is_good(core, chunk, &copies[i]) && can_take(server, room, now))
            return server->id;
    }
    for (uint32_t i = 0; i < core->servers.count; i++) {
        const struct server *server = core->servers.list[i];
        if (!can_take(server, room, now) || chunk_find_copy(chunk, server->id))
            continue;
        if (!best || server->copies_in < best->copies_in ||
            (server->copies_in == best->copies_in && repair_used_ppm(server) < repair_used_ppm(best)))
            best = server;
    }
    return best && chunk->copy_count < WIRE_COPIES_LIMIT ? best->id : 0;
}

/* With enough others: a bad copy on a server that is there, then one on a server that is being emptied, then, if
 * there are too many, the one on the fullest server. */
static server_id choose_victim(const struct core *core, struct chunk *chunk, bool too_many)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    const struct server *draining = NULL, *fullest = NULL;
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&core->servers, copies[i].server);
        if (!server->connected)
            continue;
        if (!repair_is_good(core, chunk, &copies[i]))
            return server->id;
        if (server->draining)
            draining = server;
        if (!fullest || repair_used_ppm(server) > repair_used_ppm(fullest))
            fullest = server;
    }
    if (draining)
        return draining->id;
    return too_many && fullest ? fullest->id : 0;
}

/* ---- what ---- */

/* All copies from the first good one; those that cannot take part are left behind by a new version. */
static void judge_unequal(const struct core *core, struct chunk *chunk, struct repair_need *need)
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    bool whole = true;
    if (chunk_is_leased(chunk))
        return; /* its writer may be about to write the same again; when he is done it is looked at */
    need->class = REPAIR_UNEQUAL;
    for (uint8_t i = 0; i < chunk->copy_count; i++) {
        if (!repair_is_good(core, chunk, &copies[i])) {
            whole = false;
        } else if (!need->source) {
            need->source = copies[i].server;
        } else if (!(copies[i].bits & COPY_EQUAL)) {
            need->target = copies[i].server;
            break;
        }
    }
    if (!whole || !need->source) {
        need->fence = need->only_raise = true;
        need->source = need->target = 0;
    }
}

void repair_judge(const struct core *core, struct chunk *chunk, struct core_time now, struct repair_need *need)
{
    *need = (struct repair_need){.class = REPAIR_NOTHING};
    if (chunk_is_unsettled(chunk) || repair_is_copying(chunk))
        return; /* when that is over it is looked at again */
    struct standing s = look(core, chunk, now);
    uint32_t goal = chunk->owner->goal;
    bool written = !(chunk->bits & CHUNK_MAYBE_ABSENT);
    if (s.good == 0)
        return;
    if (!written && !chunk_is_leased(chunk) && s.keepers == chunk->copy_count)
        return; /* nobody has written to it; a writer makes it whole */
    if (chunk->bits & CHUNK_UNEQUAL && written) {
        judge_unequal(core, chunk, need);
        return;
    }
    need->fence = chunk_is_leased(chunk) || !written;
    if (s.keepers + s.expected < goal) {
        need->source = choose_source(core, chunk);
        need->target = repair_choose_target(core, chunk, now);
        need->unmet = !need->target;
        if (need->target)
            need->class = s.good >= goal ? REPAIR_DRAIN : s.good == 1 ? REPAIR_LAST : REPAIR_BELOW;
    } else if (s.keepers >= goal) {
        need->victim = choose_victim(core, chunk, s.keepers > goal);
        need->class = need->victim ? REPAIR_SURPLUS : REPAIR_NOTHING;
    }
}
