/* SPDX-License-Identifier: Apache-2.0
 *
 * What writes under way are changing, in a small file that is mapped once and allocated as a whole before: a store into
 * it costs nothing and outlives a kill.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

enum { FILE_BYTES = FILES_INTENTS * (int)sizeof(struct files_intent) };

int store_files_intents_open(struct files_store *f)
{
    SCOPE_CLOSE int fd = openat(f->directory, "writing", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, FILE_BYTES) < 0)
        return -errno;
    SCOPE_FREE void *all = check_alloc(calloc(1, FILE_BYTES));
    int rc = store_files_pread(fd, all, FILE_BYTES, 0);
    /* Every page is there after this: touching the mapping cannot fail. */
    if (rc == 0)
        rc = store_files_pwrite(fd, all, FILE_BYTES, 0);
    if (rc < 0)
        return rc;
    void *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    f->intents = map;
    if (f->durable) {
        f->intents_fd = dup(fd);
        if (f->intents_fd < 0 || fdatasync(fd) < 0)
            return -errno;
    }
    return 0;
}

void store_files_intents_close(struct files_store *f)
{
    if (f->intents)
        (void)munmap(f->intents, FILE_BYTES);
    f->intents = NULL;
    if (f->intents_fd >= 0)
        (void)close(f->intents_fd);
    f->intents_fd = -1;
}

int store_files_intent_settle(const struct files_store *f)
{
    return f->durable && fdatasync(f->intents_fd) < 0 ? -errno : 0;
}

static bool claim(_Atomic uint64_t *word, unsigned *bit)
{
    uint64_t used = *word;
    while (~used) {
        *bit = (unsigned)__builtin_ctzll(~used);
        if (atomic_compare_exchange_weak(word, &used, used | UINT64_C(1) << *bit))
            return true;
    }
    return false;
}

unsigned store_files_intent_begin(struct files_store *f, chunk_id id, uint32_t first, uint32_t count)
{
    /* Each thread starts at a word of its own, so that threads seldom meet. */
    static _Atomic unsigned threads;
    static __thread unsigned start;
    if (start == 0)
        start = ++threads;
    unsigned word = start % (FILES_INTENTS / 64), bit = 0;
    for (unsigned tries = 1; !claim(&f->intents_used[word], &bit); tries++) {
        word = (word + 1) % (FILES_INTENTS / 64);
        if (tries % (FILES_INTENTS / 64) == 0)
            (void)sched_yield();
    }
    struct files_intent *intent = &f->intents[word * 64 + bit];
    __atomic_store_n(&intent->id, id, __ATOMIC_RELEASE);
    __atomic_store_n(&intent->blocks, chunk_format_seal(id, CHUNK_SEAL_INTENT, chunk_format_intent(first, count)),
                     __ATOMIC_RELEASE);
    return word * 64 + bit;
}

void store_files_intent_end(struct files_store *f, unsigned number)
{
    __atomic_store_n(&f->intents[number].blocks, 0, __ATOMIC_RELEASE);
    (void)atomic_fetch_and(&f->intents_used[number / 64], ~(UINT64_C(1) << number % 64));
}

/* ---- at the start ---- */

/* What had data keeps what is there now, old, new or, within a write that nobody was told of, torn; what had none has none. */
static int mend(struct files_store *f, struct files_chunk *chunk, uint32_t first, uint32_t count)
{
    uint32_t bytes = f->geometry.block_bytes, renewed = 0;
    SCOPE_FREE uint8_t *data = check_alloc(malloc(bytes));
    for (uint32_t block = first; block < first + count; block++) {
        uint64_t entry = store_files_entry(chunk, block), at = f->data_offset + (uint64_t)block * bytes;
        if (entry == CHECKSUM_NONE)
            (void)fallocate(chunk->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, bytes);
        if (entry < CHECKSUM_FIRST)
            continue;
        int rc = store_files_read_data(f, chunk, data, bytes, (uint64_t)block * bytes);
        if (rc < 0)
            return rc;
        uint64_t sum = checksum_of(data, bytes);
        if (sum == entry)
            continue;
        store_files_set_entry(chunk, block, sum);
        renewed++;
    }
    log_info("chunk %016" PRIx64 ": a write was interrupted; %" PRIu32 " checksums made anew", chunk->id, renewed);
    int rc = store_files_save_entries(f, chunk, first, count);
    return rc < 0 ? rc : store_files_settle(f, chunk);
}

static int recover_one(struct files_store *f, const struct files_intent *intent)
{
    struct files_chunk *chunk;
    uint32_t value;
    if (chunk_format_unseal(intent->id, CHUNK_SEAL_INTENT, intent->blocks, &value) < 0) {
        log_warning("%s/writing: a damaged entry is ignored", f->path);
        return 0;
    }
    uint32_t first = value >> 16, count = (value & 0xffff) + 1;
    /* The chunk may have been a copy that was not complete. */
    if (first + count > chunk_format_blocks(&f->geometry) || store_files_enter(f, intent->id, 0, true, &chunk) < 0)
        return 0;
    int rc = mend(f, chunk, first, count);
    store_files_leave(chunk);
    return rc;
}

int store_files_intents_recover(struct files_store *f)
{
    for (unsigned i = 0; i < FILES_INTENTS; i++) {
        if (f->intents[i].blocks == 0)
            continue;
        int rc = recover_one(f, &f->intents[i]);
        if (rc < 0)
            return rc;
        f->intents[i].blocks = 0;
    }
    return 0;
}
