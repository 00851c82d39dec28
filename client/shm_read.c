/* SPDX-License-Identifier: Apache-2.0 */
#include "client/shm_read.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/checksum.h"
#include "common/wire_schema.h"

enum {
    BLOCK = WIRE_BLOCK_BYTES,
    RUN_BLOCKS = 32, /* read and then checked at once: they are still in the core's cache */
    TRIES = 3,       /* for a block that is being written while it is read */
};

static int read_all(int fd, void *into, size_t bytes, uint64_t at)
{
    uint8_t *next = into;
    while (bytes) {
        ssize_t n = pread(fd, next, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -ESTALE; /* it was emptied */
        next += n;
        bytes -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

/* The first block of the run that does not match its checksum, or count. */
static uint32_t check_run(const uint64_t *sums, uint32_t count, uint8_t *data)
{
    for (uint32_t i = 0; i < count; i++, data += BLOCK) {
        if (sums[i] < CHECKSUM_FIRST)
            memset(data, 0, BLOCK);
        else if (checksum_of(data, BLOCK) != sums[i])
            return i;
    }
    return count;
}

static bool has_data(const uint64_t *sums, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (sums[i] >= CHECKSUM_FIRST)
            return true;
    return false;
}

static int read_run(const struct shm_share *share, uint32_t first, uint32_t count, uint8_t *into)
{
    uint64_t sums[RUN_BLOCKS];
    for (int tries = 0; tries < TRIES; tries++) {
        int rc = read_all(share->fd, sums, 8 * (size_t)count, share->table_at + 8 * (uint64_t)first);
        if (rc == 0 && has_data(sums, count))
            rc = read_all(share->fd, into, (size_t)count * BLOCK, share->data_at + (uint64_t)first * BLOCK);
        if (rc < 0)
            return rc;
        uint32_t good = check_run(sums, count, into);
        if (good == count)
            return 0;
        /* What was good is not read again. */
        first += good;
        count -= good;
        into += (size_t)good * BLOCK;
    }
    return -EILSEQ;
}

/* Everything read before this was read from that chunk in that version. */
static int look_at_guard(const struct shm_share *share)
{
    uint64_t guard[3];
    __sync_synchronize(); /* not before the data, on any machine */
    int rc = read_all(share->fd, guard, sizeof guard, share->guard_at);
    if (rc == 0 && (guard[0] != share->guard_first || guard[2] != share->guard_third))
        rc = -ESTALE;
    return rc;
}

int shm_read_blocks(const struct shm_share *share, uint32_t offset, uint32_t length, uint8_t *into)
{
    uint32_t first = offset / BLOCK, count = length / BLOCK;
    int result = 0;
    CHECK(offset % BLOCK == 0 && length % BLOCK == 0 && length <= WIRE_PAYLOAD_LIMIT);
    while (count && result == 0) {
        uint32_t n = count < RUN_BLOCKS ? count : RUN_BLOCKS;
        result = read_run(share, first, n, into);
        first += n;
        count -= n;
        into += (size_t)n * BLOCK;
    }
    int rc = look_at_guard(share);
    return rc < 0 ? rc : result;
}
