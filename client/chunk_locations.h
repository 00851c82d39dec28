/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the chunks of one file are, as far as this client knows, and which of them it holds a write lease on. Not thread-safe:
 * the table belongs to an open file and is guarded by that file's lock.
 *
 * A location goes out of use when a server or the master says that it has changed; a lease is kept until it is given
 * back, so that no chunk is forgotten on which the master counts. Holes are not kept: somebody may fill them at any time.
 */
#ifndef CALF_CHUNK_LOCATIONS_H
#define CALF_CHUNK_LOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"

struct chunk_server;

struct chunk_location {
    uint64_t chunk_id; /* 0: a hole */
    uint32_t version;
    bool create;       /* of a lease: the first write makes the chunk where it is absent. Of a located chunk: absent is zeros */
    uint8_t count;     /* of servers; 0: none can be reached now */
    struct chunk_server *servers[WIRE_COPIES_LIMIT]; /* for writing: the chain, head first; not owned */
};

struct chunk_entry {
    struct chunk_location location;
    uint32_t index;   /* of the chunk in the file */
    uint32_t writers; /* writes under way under this lease */
    bool usable;      /* the location is not known to be out of date */
    bool leased;      /* to be given back */
    bool written;     /* a write under the lease was acknowledged */
    uint32_t blocks;  /* that the chunk had after such a write, in this version; WIRE_BLOCKS_UNKNOWN: there was none */
    bool untold;      /* the master has not been told them */
};

struct chunk_locations {
    struct chunk_entry *entries; /* by index */
    uint32_t count, room;
    uint32_t leases; /* entries that are leased */
};

/* Zeroed memory is an empty table. */
void chunk_locations_fini(struct chunk_locations *table);

/* The entry of a chunk, or NULL. Valid until the table changes. */
struct chunk_entry *chunk_locations_find(const struct chunk_locations *table, uint32_t index);

/* Notes where a chunk is, under a lease or not; what was known of it before gives way, a lease already held stays. */
struct chunk_entry *chunk_locations_put(struct chunk_locations *table, uint32_t index, const struct chunk_location *location,
                                        bool leased);

/* The location with that chunk id and version is out of date; any other has been learned since and stays. */
void chunk_locations_outdated(struct chunk_locations *table, uint32_t index, const struct chunk_location *location);

/* All locations are out of date. */
void chunk_locations_all_outdated(struct chunk_locations *table);

/* One of the writes counted in an entry's writers is over; it was not acknowledged. */
void chunk_locations_failed_write(struct chunk_locations *table, uint32_t index);

/* Likewise, acknowledged under that version; the chunk had so many blocks then. frees: it may have made them fewer. */
void chunk_locations_end_write(struct chunk_locations *table, uint32_t index, uint32_t version, uint32_t blocks, bool frees);

/* Forgets everything: the session that held the leases is over. */
void chunk_locations_clear(struct chunk_locations *table);

/* Takes up to `limit` leases without writers off the table and into `released`; returns how many. Where a chunk is stays
 * known, for reading. */
uint32_t chunk_locations_take_leases(struct chunk_locations *table, struct wire_released_lease *released, uint32_t limit);

/* Takes the lease on a chunk off the table and into `released` if nothing was written under it and nobody is writing. */
bool chunk_locations_take_unwritten(struct chunk_locations *table, uint32_t index, struct wire_released_lease *released);

/* What the master has not been told of chunks whose leases are kept; at most `limit`, returns how many. */
uint32_t chunk_locations_take_blocks(struct chunk_locations *table, struct wire_released_lease *released, uint32_t limit);

#endif
