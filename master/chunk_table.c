/* SPDX-License-Identifier: Apache-2.0 */
#include "master/chunk_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

/* More chunks than any master makes in the second that a journal without sync may lose. */
#define SKIP_IDS (UINT64_C(1) << 20)

enum { GAPS_LIMIT = 4096 };

void chunk_table_init(struct chunk_table *chunks)
{
    *chunks = (struct chunk_table){.next_id = 1};
}

static void free_chunk(struct chunk *chunk)
{
    if (chunk->copy_count > CHUNK_COPIES_INSIDE)
        free(chunk->copies.outside);
    free(chunk->activity);
    free(chunk);
}

void chunk_table_fini(struct chunk_table *chunks)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(&chunks->table, &walk); node;
         node = id_table_next(&chunks->table, &walk))
        free_chunk((struct chunk *)node);
    id_table_fini(&chunks->table);
    free(chunks->gaps);
    *chunks = (struct chunk_table){0};
}

struct chunk *chunk_table_find(const struct chunk_table *chunks, chunk_id id)
{
    return (struct chunk *)id_table_find(&chunks->table, id);
}

struct chunk *chunk_table_add(struct chunk_table *chunks, chunk_id id)
{
    struct chunk *chunk = check_alloc(calloc(1, sizeof *chunk));
    chunk->node.id = id;
    id_table_add(&chunks->table, &chunk->node);
    if (id >= chunks->next_id)
        chunks->next_id = id + 1;
    return chunk;
}

void chunk_table_remove(struct chunk_table *chunks, struct chunk *chunk)
{
    if (chunk->activity) {
        CHECK(!chunk->activity->leases && !chunk->activity->op && !chunk->activity->repair);
        if (chunk->activity->unsettled)
            chunk_table_settle(chunks, chunk);
    }
    CHECK(id_table_remove(&chunks->table, chunk->node.id) == &chunk->node);
    free_chunk(chunk);
}

void chunk_table_skip_ids(struct chunk_table *chunks)
{
    chunk_id first = chunks->next_id;
    chunks->next_id += SKIP_IDS;
    if (chunks->gap_count && chunks->gaps[chunks->gap_count - 1].end == first) {
        chunks->gaps[chunks->gap_count - 1].end = chunks->next_id;
        return;
    }
    if (chunks->gap_count == GAPS_LIMIT) { /* two old gaps become one, with what was between: on doubt it stays */
        chunks->gaps[1].first = chunks->gaps[0].first;
        memmove(chunks->gaps, chunks->gaps + 1, --chunks->gap_count * sizeof *chunks->gaps);
    }
    chunks->gaps = check_alloc(realloc(chunks->gaps, (chunks->gap_count + 1) * sizeof *chunks->gaps));
    chunks->gaps[chunks->gap_count++] = (struct chunk_gap){first, chunks->next_id};
}

bool chunk_table_was_removed(const struct chunk_table *chunks, chunk_id id)
{
    if (id == 0 || id >= chunks->next_id || chunk_table_find(chunks, id))
        return false;
    for (uint32_t i = 0; i < chunks->gap_count; i++)
        if (id >= chunks->gaps[i].first && id < chunks->gaps[i].end)
            return false;
    return true;
}

struct chunk_copy *chunk_copies(struct chunk *chunk)
{
    return chunk->copy_count > CHUNK_COPIES_INSIDE ? chunk->copies.outside : chunk->copies.inside;
}

struct chunk_copy *chunk_find_copy(struct chunk *chunk, server_id server)
{
    struct chunk_copy *copies = chunk_copies(chunk);
    for (uint8_t i = 0; i < chunk->copy_count; i++)
        if (copies[i].server == server)
            return &copies[i];
    return NULL;
}

void chunk_set_copies(struct chunk *chunk, const uint16_t *servers, uint8_t count)
{
    struct chunk_copy made[WIRE_COPIES_LIMIT];
    CHECK(count <= WIRE_COPIES_LIMIT);
    for (uint8_t i = 0; i < count; i++) {
        struct chunk_copy *old = chunk_find_copy(chunk, servers[i]);
        made[i] = old ? *old : (struct chunk_copy){.server = servers[i]};
    }
    if (chunk->copy_count > CHUNK_COPIES_INSIDE)
        free(chunk->copies.outside);
    memset(&chunk->copies, 0, sizeof chunk->copies);
    if (count > CHUNK_COPIES_INSIDE)
        chunk->copies.outside = check_alloc(malloc(count * sizeof *made));
    chunk->copy_count = count;
    if (count)
        memcpy(chunk_copies(chunk), made, count * sizeof *made);
}

struct chunk_activity *chunk_activity_of(struct chunk *chunk)
{
    if (!chunk->activity) {
        chunk->activity = check_alloc(calloc(1, sizeof *chunk->activity));
        chunk->activity->chunk = chunk;
    }
    return chunk->activity;
}

void chunk_rest(struct chunk *chunk)
{
    struct chunk_activity *activity = chunk->activity;
    if (activity && !activity->leases && !activity->unsettled && !activity->op && !activity->repair) {
        free(activity);
        chunk->activity = NULL;
    }
}

void chunk_table_unsettle(struct chunk_table *chunks, struct chunk *chunk, uint32_t keep_bytes)
{
    struct chunk_activity *activity = chunk_activity_of(chunk);
    if (activity->unsettled) {
        if (keep_bytes < activity->keep_bytes)
            activity->keep_bytes = keep_bytes;
        return;
    }
    activity->unsettled = true;
    activity->keep_bytes = keep_bytes;
    activity->oldest_version = chunk->version;
    activity->previous_unsettled = NULL;
    activity->next_unsettled = chunks->unsettled;
    if (chunks->unsettled)
        chunks->unsettled->previous_unsettled = activity;
    chunks->unsettled = activity;
    chunks->unsettled_count++;
}

void chunk_table_settle(struct chunk_table *chunks, struct chunk *chunk)
{
    struct chunk_activity *activity = chunk->activity;
    CHECK(activity && activity->unsettled);
    if (activity->previous_unsettled)
        activity->previous_unsettled->next_unsettled = activity->next_unsettled;
    else
        chunks->unsettled = activity->next_unsettled;
    if (activity->next_unsettled)
        activity->next_unsettled->previous_unsettled = activity->previous_unsettled;
    activity->unsettled = false;
    chunks->unsettled_count--;
    chunk_rest(chunk);
}
