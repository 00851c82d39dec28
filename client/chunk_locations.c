/* SPDX-License-Identifier: Apache-2.0 */
#include "client/chunk_locations.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

/* Locations that only serve reading are dropped beyond this many entries; leases are as many as there are. */
enum { ENTRIES_KEPT = 16384, FIRST_ROOM = 4 };

void chunk_locations_fini(struct chunk_locations *table)
{
    free(table->entries);
    *table = (struct chunk_locations){0};
}

/* The position of the index, or where it would go. */
static uint32_t position_of(const struct chunk_locations *table, uint32_t index)
{
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->entries[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct chunk_entry *chunk_locations_find(const struct chunk_locations *table, uint32_t index)
{
    uint32_t at = position_of(table, index);
    return at < table->count && table->entries[at].index == index ? &table->entries[at] : NULL;
}

/* Keeps the entries that are leased. */
static void drop_unleased(struct chunk_locations *table)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->entries[i].leased)
            table->entries[kept++] = table->entries[i];
    table->count = kept;
}

static struct chunk_entry *insert(struct chunk_locations *table, uint32_t index)
{
    if (table->count >= ENTRIES_KEPT && table->leases < table->count / 2)
        drop_unleased(table);
    if (table->count == table->room) {
        table->room = table->room ? 2 * table->room : FIRST_ROOM;
        table->entries = check_alloc(realloc(table->entries, table->room * sizeof *table->entries));
    }
    uint32_t at = position_of(table, index);
    memmove(table->entries + at + 1, table->entries + at, (table->count - at) * sizeof *table->entries);
    table->count++;
    table->entries[at] = (struct chunk_entry){.index = index, .blocks = WIRE_BLOCKS_UNKNOWN};
    return &table->entries[at];
}

struct chunk_entry *chunk_locations_put(struct chunk_locations *table, uint32_t index, const struct chunk_location *location,
                                        bool leased)
{
    struct chunk_entry *entry = chunk_locations_find(table, index);
    if (!entry)
        entry = insert(table, index);
    if (entry->location.chunk_id != location->chunk_id || entry->location.version != location->version) {
        entry->blocks = WIRE_BLOCKS_UNKNOWN;
        entry->untold = false;
    }
    entry->location = *location;
    entry->usable = true;
    if (leased && !entry->leased) {
        entry->leased = true;
        entry->written = false;
        entry->blocks = WIRE_BLOCKS_UNKNOWN;
        entry->untold = false;
        table->leases++;
    }
    return entry;
}

void chunk_locations_outdated(struct chunk_locations *table, uint32_t index, const struct chunk_location *location)
{
    struct chunk_entry *entry = chunk_locations_find(table, index);
    if (entry && entry->location.chunk_id == location->chunk_id && entry->location.version == location->version)
        entry->usable = false;
}

void chunk_locations_all_outdated(struct chunk_locations *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        table->entries[i].usable = false;
}

void chunk_locations_failed_write(struct chunk_locations *table, uint32_t index)
{
    struct chunk_entry *entry = chunk_locations_find(table, index);
    if (entry && entry->writers)
        entry->writers--;
}

/* Replies may come in another order than the writes were done in: the highest number counts, unless blocks were freed. */
void chunk_locations_end_write(struct chunk_locations *table, uint32_t index, uint32_t version, uint32_t blocks, bool frees)
{
    struct chunk_entry *entry = chunk_locations_find(table, index);
    if (!entry || entry->writers == 0)
        return; /* the table was cleared meanwhile */
    entry->writers--;
    entry->written = true;
    entry->location.create = false;
    if (entry->location.version == version &&
        (frees || entry->blocks == WIRE_BLOCKS_UNKNOWN || blocks > entry->blocks)) {
        entry->untold = entry->untold || blocks != entry->blocks;
        entry->blocks = blocks;
    }
}

void chunk_locations_clear(struct chunk_locations *table)
{
    table->count = 0;
    table->leases = 0;
}

uint32_t chunk_locations_take_leases(struct chunk_locations *table, struct wire_released_lease *released, uint32_t limit)
{
    uint32_t taken = 0, kept = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        struct chunk_entry *entry = &table->entries[i];
        if (entry->leased && entry->writers == 0 && taken < limit) {
            released[taken++] = (struct wire_released_lease){.index = entry->index,
                                                             .written = entry->written,
                                                             .version = entry->location.version,
                                                             .blocks = entry->blocks};
            table->leases--;
            entry->leased = false;
            entry->usable = entry->usable && !entry->location.create;
        }
        if (entry->leased || entry->usable)
            table->entries[kept++] = *entry;
    }
    table->count = kept;
    return taken;
}

uint32_t chunk_locations_take_blocks(struct chunk_locations *table, struct wire_released_lease *released, uint32_t limit)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < table->count && taken < limit; i++) {
        struct chunk_entry *entry = &table->entries[i];
        if (!entry->leased || !entry->untold)
            continue;
        released[taken++] = (struct wire_released_lease){
            .index = entry->index, .kept = 1, .version = entry->location.version, .blocks = entry->blocks};
        entry->untold = false;
    }
    return taken;
}

bool chunk_locations_take_unwritten(struct chunk_locations *table, uint32_t index, struct wire_released_lease *released)
{
    struct chunk_entry *entry = chunk_locations_find(table, index);
    if (!entry || !entry->leased || entry->written || entry->writers)
        return false;
    *released = (struct wire_released_lease){
        .index = index, .version = entry->location.version, .blocks = WIRE_BLOCKS_UNKNOWN};
    entry->leased = entry->usable = false;
    table->leases--;
    return true;
}
