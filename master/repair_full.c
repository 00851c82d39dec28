/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer was told by a server that it is full. Its chunk goes on elsewhere, if there is room anywhere.
 */
#include "common/clock.h"
#include "master/repair_jobs.h"

/* Good ones on other servers. */
static uint32_t other_copies(const struct core *core, struct chunk *chunk, server_id full)
{
    uint32_t count = 0;
    for (uint8_t i = 0; i < chunk->copy_count; i++)
        count += chunk_copies(chunk)[i].server != full && repair_is_good(core, chunk, &chunk_copies(chunk)[i]);
    return count;
}

bool repair_full(struct core *core, struct chunk *chunk, server_id full, bool written, struct core_time now)
{
    struct server *server = servers_find(&core->servers, full);
    if (!server || !chunk_find_copy(chunk, full))
        return true; /* he is behind */
    server->full_until_ns = now.mono_ns + REPAIR_FULL_NS;
    server->used_bytes = server->total_bytes; /* until its next poll */
    if (!written)
        return false; /* it may not even have made the chunk; the writer begins another */
    if (repair_is_copying(chunk))
        return true;
    uint32_t others = other_copies(core, chunk, full);
    server_id target = repair_choose_target(core, chunk, now);
    uint16_t without = (uint16_t)full;
    struct repair_need need = {.class = REPAIR_LAST, .fence = true, .source = full, .target = target};
    if (others >= chunk->owner->goal || (others && target)) {
        (void)chunk_ops_raise(core, chunk, &without, 1, now); /* what is missing then is made as any copy */
        return true;
    }
    bool begun = target && repair_jobs_begin(core, chunk, &need, now);
    return begun || target; /* if it cannot begin now: when he asks again */
}
