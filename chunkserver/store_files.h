/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of chunk files in a directory (a RAM disk, or a disk), and what its parts share. Only store_files*.c include this, apart from
 * whoever opens one; everybody else knows store.h.
 *
 *     DIR/store.id               whose it is
 *     DIR/chunks/3f/<id>         chunks, by the last two hex digits of the id
 *     DIR/free/<number>          files of deleted chunks, to be used again; whatever lies here is free
 *     DIR/quarantine/<id>        what was found with a damaged header; never used and never deleted by the store itself
 *     DIR/writing                the blocks that writes under way are changing (not counted against the size)
 *
 * Locks, in the order in which they may be taken:
 *     create_lock      one chunk is made at a time
 *     chunk.lock       shared: data is read and written; exclusive: version, existence, opening and closing of the file
 *     stripes[]        of a stripe of a chunk's blocks, by hash, ascending: readers against writers
 *     table_lock, shards[].lock, open_lock, free_lock     none within another
 * Memory is reclaimed with none of them held.
 *
 * While a chunk's file is open its table is kept in memory too, and written through. Chunk files are not mapped: on a virtual machine
 * each mapping costs a hundred microseconds to undo and each first touch tens, which small files would pay for; and a full RAM
 * disk is an error of write(2), never a SIGBUS. What is mapped is DIR/writing, once.
 *
 * On a disk (`durable`) blocks go past the page cache (store_aio.h), and what an operation acknowledges has reached the device:
 * the intent before the first block is touched, then data and checksums, then the answer. On a RAM disk what a kill leaves
 * is all that can be kept.
 *
 * Readers on this machine may have descriptors of chunk files (store_files_share.c). They take no lock: they compare checksums, and then look
 * whether the header still says what it said. So the order of writes in a file binds: data before its checksums (store_files_write.c),
 * checksums that are void before the version, the version before a file is used for anything else. Files are emptied before
 * they are unlinked, so that memory comes back whoever has a descriptor.
 */
#ifndef CALF_STORE_FILES_H
#define CALF_STORE_FILES_H

#include <pthread.h>

#include "chunkserver/chunk_format.h"
#include "chunkserver/store.h"
#include "common/checksum.h"

enum {
    FILES_SHARDS = 256,
    FILES_STRIPE_LOCKS = 1024,
    FILES_STRIPE_BLOCKS = 256,
    FILES_NAME_LIMIT = 64,
    FILES_INTENTS = 1024, /* writes under way at once; more have to wait */
};

enum files_state {
    FILES_LIVE,
    FILES_GONE,        /* deleted, or a copy not committed: whoever still refers to it finds nothing */
    FILES_QUARANTINED, /* only its id is known */
};

struct files_chunk {
    struct files_chunk *next; /* in its shard */
    chunk_id id;
    pthread_rwlock_t lock;
    uint32_t version;
    uint32_t slot; /* in open_chunks; if open */
    _Atomic uint32_t references;
    _Atomic uint32_t pages; /* allocated in its file */
    _Atomic uint32_t used;  /* those of them that hold something: header, table, blocks with data */
    _Atomic uint32_t table_pages; /* as in the header */
    int fd;           /* -1: not open */
    int data_fd;      /* for blocks: fd, or with O_DIRECT on a disk */
    uint64_t **table; /* while open: the pages of the table that are allocated, NULL for the others */
    _Atomic uint32_t unsaved; /* a bit for each page of the table that could not be written: it must not be read again from the file */
    uint32_t lives;   /* while it is only built: for the header */
    uint64_t number;  /* of its file in DIR/free, while it is only built */
    uint8_t *damaged; /* a bit for each block already counted as damaged, or NULL; table_lock */
    _Atomic uint8_t state; /* enum files_state; changes under the lock */
    _Atomic bool touched;
};

/* In DIR/writing, a cache line each. */
struct files_intent {
    uint64_t id;
    uint64_t blocks; /* sealed; 0: none */
    uint64_t zeros[6];
};

struct files_shard {
    pthread_rwlock_t lock;
    struct files_chunk **buckets;
    uint32_t mask;
    _Atomic uint32_t count; /* changes under the lock */
};

/* A file of a deleted chunk. */
struct files_free {
    uint64_t number; /* its name */
    uint32_t pages;
};

struct files_store {
    struct store store;
    struct store_watch watch;
    char *path; /* for messages */
    int directory, chunks, free, quarantine;
    struct store_geometry geometry;
    uint32_t data_offset, table_pages;
    bool durable;                 /* on a disk */
    int intents_fd;               /* of a durable store, to sync it; else -1 */
    struct files_intent *intents; /* mapped */
    _Atomic uint64_t intents_used[FILES_INTENTS / 64];
    uint64_t limit_pages;
    _Atomic uint64_t pages, used, count; /* over all files; count: of live chunks */

    pthread_mutex_t create_lock, table_lock, open_lock, free_lock;

    struct files_shard shards[FILES_SHARDS];
    pthread_rwlock_t stripes[FILES_STRIPE_LOCKS];

    struct files_chunk **open_chunks; /* clock of open files, NULL: unused slot */
    uint32_t open_limit, open_hand;

    struct files_free *free_files;
    size_t free_count, free_room;
    uint64_t free_number, free_pages; /* next name; allocated by all of them */
};

struct store_files_options {
    const char *path;
    uint64_t size_bytes;
    uint32_t open_limit; /* chunk files held open; 0: as many as the process may */
    bool durable;        /* on a disk: O_DIRECT, and synced before an operation returns */
    struct store_watch watch;
};

/* Opens the store in a directory, or makes one in an empty directory; takes stock, which reads every chunk's header. *store is the
 * caller's, for store->ops->destroy. On error the line that says what is wrong has been logged: -EBUSY: another process has
 * it; -ENOENT, -ENOTDIR, -ENOTEMPTY, -EUCLEAN: not a store; -errno. */
int store_files_open(const struct store_files_options *options, struct store **store) __attribute__((warn_unused_result));

/* ---- store_files_index.c: which chunks there are, and their open files ---- */

void store_files_index_init(struct files_store *f, uint32_t open_limit);
void store_files_index_fini(struct files_store *f);

/* A chunk with one reference, the caller's. */
struct files_chunk *store_files_chunk_create(chunk_id id);
void store_files_chunk_release(struct files_chunk *chunk);

/* With a reference for the caller; NULL: none. */
struct files_chunk *store_files_find(struct files_store *f, chunk_id id);
void store_files_insert(struct files_store *f, struct files_chunk *chunk); /* takes a reference of its own */
void store_files_remove(struct files_store *f, struct files_chunk *chunk); /* and gives it back */

/* References to up to `room` chunks of one shard for which want() holds; how many. */
size_t store_files_collect(struct files_store *f, unsigned shard, bool (*want)(const struct files_chunk *),
                           struct files_chunk **chunks, size_t room);

/* Finds the chunk, opens its file and locks it (shared or exclusive) if it is live and has the version (0: any).
 * *chunk is the caller's, for store_files_leave. -ENOMEDIUM, -EKEYEXPIRED, -EUCLEAN (quarantined), -errno. */
int store_files_enter(struct files_store *f, chunk_id id, uint32_t version, bool exclusive, struct files_chunk **chunk)
    __attribute__((warn_unused_result));
void store_files_leave(struct files_chunk *chunk);

/* Takes over an open file, whose table_pages are set, and reads its table. On error fd is the caller's still. */
int store_files_load(struct files_store *f, struct files_chunk *chunk, int fd) __attribute__((warn_unused_result));
/* Enters an open chunk (locked exclusively, or seen by nobody else) into the clock; closes another if there are too many. */
void store_files_track(struct files_store *f, struct files_chunk *chunk);
/* Closes; if `tracked`, also takes it off the clock. */
void store_files_close(struct files_store *f, struct files_chunk *chunk, bool tracked);

/* "3f/00000000000000003f" under DIR/chunks. */
void store_files_name(chunk_id id, char name[FILES_NAME_LIMIT]);

/* Locks that keep [first, first + count) of a chunk; at most three stripes, else lock the chunk exclusively. */
struct files_stripes {
    pthread_rwlock_t *locks[3];
    unsigned count;
};
void store_files_lock_stripes(struct files_store *f, const struct files_chunk *chunk, uint32_t first, uint32_t count,
                              bool exclusive, struct files_stripes *held);
void store_files_unlock_stripes(struct files_stripes *held);

/* ---- the table of an open chunk ---- */

static inline uint64_t *store_files_table_page(const struct files_chunk *chunk, uint32_t block)
{
    return __atomic_load_n(&chunk->table[block / CHUNK_FORMAT_PAGE_ENTRIES], __ATOMIC_ACQUIRE);
}

static inline uint64_t store_files_entry(const struct files_chunk *chunk, uint32_t block)
{
    const uint64_t *page = store_files_table_page(chunk, block);
    return page ? __atomic_load_n(&page[block % CHUNK_FORMAT_PAGE_ENTRIES], __ATOMIC_RELAXED) : CHECKSUM_NONE;
}

/* The page must be there. */
static inline void store_files_set_entry(struct files_chunk *chunk, uint32_t block, uint64_t entry)
{
    __atomic_store_n(&store_files_table_page(chunk, block)[block % CHUNK_FORMAT_PAGE_ENTRIES], entry, __ATOMIC_RELAXED);
}

/* Writes entries that were set to the file, those of pages that are there. What cannot be written now is tried again with the next entries,
 * and before the chunk's file is closed: blocks whose data was written, but not the checksum, are no damage yet. */
int store_files_save_entries(struct files_store *f, struct files_chunk *chunk, uint32_t first, uint32_t count)
    __attribute__((warn_unused_result));
/* Tries again. True: the file has all entries. */
bool store_files_save_rest(struct files_chunk *chunk);

/* Adds a page, counted already, to the table: in the file, its header, and memory. table_lock is held. */
int store_files_add_table_page(struct files_store *f, struct files_chunk *chunk, uint32_t page)
    __attribute__((warn_unused_result));

/* Whole blocks of an open chunk's data, from a byte of the chunk on. */
int store_files_read_data(const struct files_store *f, const struct files_chunk *chunk, void *data, size_t bytes,
                          uint64_t offset) __attribute__((warn_unused_result));

/* On a disk: what was written to the chunk's file so far is on the device when it returns. On a RAM disk nothing to do. */
int store_files_settle(const struct files_store *f, const struct files_chunk *chunk) __attribute__((warn_unused_result));
/* The same for the names in a directory. */
int store_files_settle_names(const struct files_store *f, int directory) __attribute__((warn_unused_result));

/* All `bytes`, or an error; pread: -EIO at the end of the file. */
int store_files_pread(int fd, void *data, size_t bytes, uint64_t offset) __attribute__((warn_unused_result));
int store_files_pwrite(int fd, const void *data, size_t bytes, uint64_t offset) __attribute__((warn_unused_result));

/* ---- store_files_intents.c: what a kill may interrupt ---- */

int store_files_intents_open(struct files_store *f) __attribute__((warn_unused_result));
void store_files_intents_close(struct files_store *f);

/* Says that these blocks are being changed, until store_files_intent_end with the returned number. Between, a kill leaves
 * blocks whose checksum the next start makes anew. Waits only if a thousand others write. */
unsigned store_files_intent_begin(struct files_store *f, chunk_id id, uint32_t first, uint32_t count);
/* Puts it on the device; nothing to do on a RAM disk. */
int store_files_intent_settle(const struct files_store *f) __attribute__((warn_unused_result));
void store_files_intent_end(struct files_store *f, unsigned number);

/* At the start, when all chunks are known. */
int store_files_intents_recover(struct files_store *f) __attribute__((warn_unused_result));

/* ---- store_files_space.c: accounting, deleted files, memory taken back ---- */

/* Takes that many pages of the size; false: there are not so many. */
bool store_files_reserve(struct files_store *f, uint64_t pages) __attribute__((warn_unused_result));
void store_files_unreserve(struct files_store *f, uint64_t pages);

/* Takes back memory of deleted files and cut blocks, at least `pages` if there is so much; holds no lock before and
 * after. False: there is nothing to take back. */
bool store_files_reclaim(struct files_store *f, uint64_t pages) __attribute__((warn_unused_result));

/* A deleted file for reuse; false: none. */
bool store_files_take_free(struct files_store *f, struct files_free *file) __attribute__((warn_unused_result));
/* The file DIR/free/number, whose pages are counted already, is free. */
void store_files_put_free(struct files_store *f, uint64_t number, uint32_t pages);
uint64_t store_files_next_free(struct files_store *f); /* a name never used before */
void store_files_free_name(uint64_t number, char name[FILES_NAME_LIMIT]);
/* Empties and unlinks a file; 0 too if there is none. */
int store_files_unlink(int directory, const char *name) __attribute__((warn_unused_result));
int64_t store_files_prefault(struct store *store, const _Atomic bool *stop);

/* ---- store_files_create.c: how chunk files come and go ---- */

/* A chunk that nobody sees: its file lies in DIR/free, without a version, open. *chunk has one reference. -ENOSPC, -errno. */
int store_files_build(struct files_store *f, chunk_id id, struct files_chunk **chunk) __attribute__((warn_unused_result));
/* Gives a built chunk its version and its place; 0 or -errno (it is as before). create_lock is held. */
int store_files_install(struct files_store *f, struct files_chunk *chunk, uint32_t version)
    __attribute__((warn_unused_result));
/* Makes the file of a live chunk, locked exclusively, a free one; the chunk is gone then. */
int store_files_retire(struct files_store *f, struct files_chunk *chunk) __attribute__((warn_unused_result));
/* The same with one that was built and not installed; gives back the caller's reference. */
void store_files_discard(struct files_store *f, struct files_chunk *chunk);
/* An empty chunk if there is none with that id. 0 too if there is one. -ENOSPC, -errno. */
int store_files_create_absent(struct files_store *f, chunk_id id, uint32_t version) __attribute__((warn_unused_result));

int store_files_set_version(struct store *store, chunk_id id, uint32_t version, uint32_t new_version,
                            uint32_t keep_bytes, bool create);
int store_files_delete(struct store *store, chunk_id id, uint32_t version);
int store_files_copy_begin(struct store *store, chunk_id id, uint32_t version, struct store_copy **copy);
int store_files_copy_write(struct store *store, struct store_copy *copy, const struct store_write *write);
int store_files_copy_end(struct store *store, struct store_copy *copy, bool commit);

/* ---- store_files_share.c ---- */

int store_files_share(struct store *store, chunk_id id, uint32_t version, struct store_share *share);

/* ---- store_files_read.c, store_files_write.c ---- */

int store_files_read(struct store *store, const struct store_read *read, void *data, uint64_t *sums);
int store_files_check_header(struct store *store, chunk_id id);
int store_files_read_map(struct store *store, chunk_id id, uint32_t version, uint8_t *bits);
int store_files_write(struct store *store, const struct store_write *write);

/* A block that does not match: counted and reported once for each block and version. */
void store_files_note_damage(struct files_store *f, struct files_chunk *chunk, uint32_t block);
/* Blocks that were written anew are not damaged any more. */
void store_files_forget_damage(struct files_store *f, struct files_chunk *chunk, uint32_t first, uint32_t count);

/* Whether blocks of the chunk are known to be damaged. */
bool store_files_is_damaged(struct files_store *f, const struct files_chunk *chunk);

/* Writes to a chunk whose blocks are locked. -ENOSPC: *wanted is how many pages it needs. */
int store_files_put(struct files_store *f, struct files_chunk *chunk, const struct store_write *write, uint64_t *wanted)
    __attribute__((warn_unused_result));
/* The range reads as zeros from now on; likewise. Needs scratch only if it does not start and end at a block. */
int store_files_zero(struct files_store *f, struct files_chunk *chunk, uint32_t offset, uint32_t length, void *scratch)
    __attribute__((warn_unused_result));

/* ---- store_files_scan.c: taking stock at the start ---- */

int store_files_scan(struct files_store *f) __attribute__((warn_unused_result));

#endif
