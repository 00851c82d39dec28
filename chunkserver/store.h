/* SPDX-License-Identifier: Apache-2.0
 *
 * The chunk store as the rest of the chunkserver sees it: a table of operations, so that stores can differ (files on a
 * RAM disk, files on a disk) and can be stacked (one that injects faults over another). A store knows chunks, versions, blocks and
 * checksums; it knows no connection and no master.
 *
 * Any thread may call any operation at any time, but for adopt, which comes once before the first of the others. What
 * two calls do to one block happens one after the other: a reader sees a block as it was before or after a write, never
 * between. All of them block for as long as the storage takes.
 *
 * Errors, besides those of the storage: -ENOMEDIUM: no such chunk; -EKEYEXPIRED: it has another version; -EUCLEAN: it
 * does not match its checksum; -ENOSPC; -EINVAL: a range outside of the chunk. wire_status_from_error() knows them all.
 */
#ifndef CALF_STORE_H
#define CALF_STORE_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t chunk_id;

struct store_geometry {
    uint32_t chunk_bytes, block_bytes; /* 0: not known yet */
};

/* Who a store is; zero where not known yet. */
struct store_identity {
    uint64_t node;    /* random, made with the store */
    uint64_t cluster; /* taken from the first master it joins */
    struct store_geometry geometry;
};

struct store_usage {
    uint64_t total_bytes; /* what the store may use */
    uint64_t used_bytes;  /* space of deleted chunks and cut blocks is free, even while it waits to be reused */
    uint64_t chunks;
};

/* A whole number of blocks. */
struct store_read {
    chunk_id id;
    uint32_t version, offset, length;
    bool absent_ok; /* zeros if there is no such chunk */
    bool verify;    /* compare the data with the checksums: -EUCLEAN */
};

/* Any range of bytes inside the chunk. */
struct store_write {
    chunk_id id;
    uint32_t version, offset, length;
    bool create;         /* make the chunk if it is absent */
    const void *data;    /* NULL: the range becomes zeros; else at most WIRE_IO_LIMIT bytes */
    const uint8_t *sums; /* of the pieces of the range, already verified; not aligned */
    void *scratch;       /* two blocks for the store's use, aligned to a page */
    uint32_t *blocks;    /* gets how many blocks the chunk has after it; may be NULL */
};

struct store_report {
    chunk_id id;
    uint32_t version; /* 0: not known */
    bool damaged;
};

/* A chunk's file, for a reader on this machine that checks for itself what it reads. Of three u64 at guard_at, the first and the third
 * are as here for as long as it is this chunk in this version; a u64 for each block at table_at is its checksum, or below
 * CHECKSUM_FIRST for one that is zeros; the blocks are at data_at. */
struct store_share {
    int fd; /* for reading only; the caller's */
    uint32_t guard_at, table_at, data_at;
    uint64_t guard_first, guard_third;
};

struct store;
struct store_copy; /* a chunk that is being copied from another server: nobody sees it yet */

struct store_ops {
    void (*destroy)(struct store *store);

    /* The store, empty until now, belongs to this cluster from now on; durable when it returns. */
    int (*adopt)(struct store *store, uint64_t cluster, const struct store_geometry *geometry);

    /* Fills data and one checksum for each block. */
    int (*read)(struct store *store, const struct store_read *read, void *data, uint64_t *sums);

    /* May be NULL: the store has nothing to share. */
    int (*share)(struct store *store, chunk_id id, uint32_t version, struct store_share *share);

    /* All or nothing towards readers of each block; towards the whole range only if it succeeds. */
    int (*write)(struct store *store, const struct store_write *write);

    /* Compares the chunk's header in the storage with what is known of it; a difference is noted as damage. */
    int (*check_header)(struct store *store, chunk_id id);

    /* Sets a bit for each block with data, lowest first; bits has room for all blocks of a chunk. */
    int (*map)(struct store *store, chunk_id id, uint32_t version, uint8_t *bits);

    /* Raises the version from `version` or a later one; all bytes at or above keep_bytes read as zero then. 0 too if it
     * has new_version. An absent chunk is made if `create`. */
    int (*set_version)(struct store *store, chunk_id id, uint32_t version, uint32_t new_version, uint32_t keep_bytes,
                       bool create);

    /* Only if the chunk has this version (0: any; WIRE_QUARANTINED: only if its header is damaged); 0 too if there is none. */
    int (*remove)(struct store *store, chunk_id id, uint32_t version);

    /* copy_begin: *copy is the caller's, for exactly one copy_end. copy_write as write (id, version and create are ignored); one
     * thread at a time for a copy. copy_end with commit puts the chunk in the place of what was there under its id, also of
     * the same version, which may be an old try; -EBUSY if there is a newer one. Otherwise nothing is left of it. */
    int (*copy_begin)(struct store *store, chunk_id id, uint32_t version, struct store_copy **copy);
    int (*copy_write)(struct store *store, struct store_copy *copy, const struct store_write *write);
    int (*copy_end)(struct store *store, struct store_copy *copy, bool commit);

    /* All chunks, in no order: *reports is the caller's to free; the count is returned. */
    int64_t (*list)(struct store *store, struct store_report **reports);

    void (*usage)(struct store *store, struct store_usage *usage);

    /* Touches memory ahead of its use until the whole size was touched or *stop is set. Bytes touched, or an error. */
    int64_t (*prefault)(struct store *store, const _Atomic bool *stop);
};

/* Embedded first in each kind of store. identity changes only in adopt; `ready` says that it is complete. */
struct store {
    const struct store_ops *ops;
    struct store_identity identity;
    _Atomic uint32_t server_id; /* that the master gave it; 0: not told since the start */
    _Atomic bool ready;
};

/* Told, from within an operation and with locks of the store held, of each block newly found damaged; must not call the store. */
struct store_watch {
    void (*damaged)(void *context, chunk_id id, uint32_t version);
    void *context;
};

#endif
