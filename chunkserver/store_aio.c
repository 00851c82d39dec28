/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/store_aio.h"

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/wire_schema.h"

enum {
    ALIGNMENT = 4096,
    SEGMENT_BYTES = 256 * 1024, /* one request to the kernel */
    SEGMENTS = WIRE_PAYLOAD_LIMIT / SEGMENT_BYTES + 2,
};

/* What a thread keeps between calls. */
struct aio_thread {
    io_context_t context;
    bool has_context;
    uint8_t *bounce;
    size_t bounce_bytes;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end_thread(void *argument)
{
    struct aio_thread *t = (struct aio_thread *)argument;
    if (t->has_context)
        (void)io_destroy(t->context);
    free(t->bounce);
    free(t);
}

static void make_key(void)
{
    CHECK(pthread_key_create(&key, end_thread) == 0);
}

static struct aio_thread *this_thread(void)
{
    CHECK(pthread_once(&once, make_key) == 0);
    struct aio_thread *t = (struct aio_thread *)pthread_getspecific(key);
    if (t)
        return t;
    t = check_alloc(calloc(1, sizeof *t));
    /* The kernel limits contexts (fs.aio-max-nr); a thread that gets none moves its segments one after the other. */
    t->has_context = io_setup(SEGMENTS, &t->context) == 0;
    CHECK(pthread_setspecific(key, t) == 0);
    return t;
}

static uint8_t *bounce(struct aio_thread *t, size_t bytes)
{
    if (t->bounce_bytes < bytes) {
        free(t->bounce);
        t->bounce = check_alloc(aligned_alloc(ALIGNMENT, bytes));
        t->bounce_bytes = bytes;
    }
    return t->bounce;
}

static bool is_aligned(const void *memory)
{
    return (uintptr_t)memory % ALIGNMENT == 0;
}

int store_aio_open(int fd)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
    return direct < 0 ? -errno : direct;
}

/* ---- moving segments ---- */

/* One segment, or the rest of one that was moved in part. Its bytes, or -errno. */
static int64_t move_one(int fd, bool writes, uint8_t *data, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        off_t at = (off_t)(offset + done);
        ssize_t n = writes ? pwrite(fd, data + done, bytes - done, at) : pread(fd, data + done, bytes - done, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return writes ? -ENOSPC : -EIO;
        done += (size_t)n;
    }
    return (int64_t)done;
}

/* Submits all and waits for all; results[i] is what the kernel says of segment i. False: not a single one went. */
static bool submit_and_wait(struct aio_thread *t, struct iocb *blocks, unsigned count, int64_t *results)
{
    struct iocb *list[SEGMENTS];
    struct io_event events[SEGMENTS];
    unsigned submitted = 0, ended = 0;
    for (unsigned i = 0; i < count; i++) {
        list[i] = &blocks[i];
        results[i] = 0;
    }
    while (submitted < count) {
        int n = io_submit(t->context, (long)(count - submitted), list + submitted);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            break;
        submitted += (unsigned)n;
    }
    while (ended < submitted) {
        int n = io_getevents(t->context, 1, (long)(submitted - ended), events, NULL);
        CHECK(n > 0 || n == -EINTR);
        for (int i = 0; i < n; i++)
            results[(size_t)(events[i].obj - blocks)] = (int64_t)(long)events[i].res;
        ended += n > 0 ? (unsigned)n : 0;
    }
    return submitted > 0;
}

/* Bytes moved from the start; *rc: why not all. */
static uint64_t move(struct aio_thread *t, int fd, bool writes, uint8_t *data, size_t bytes, uint64_t offset, int *rc)
{
    struct iocb blocks[SEGMENTS];
    int64_t results[SEGMENTS];
    unsigned count = 0;
    for (size_t at = 0; at < bytes; at += SEGMENT_BYTES, count++) {
        size_t n = bytes - at < SEGMENT_BYTES ? bytes - at : SEGMENT_BYTES;
        CHECK(count < SEGMENTS);
        if (writes)
            io_prep_pwrite(&blocks[count], fd, data + at, n, (long long)(offset + at));
        else
            io_prep_pread(&blocks[count], fd, data + at, n, (long long)(offset + at));
    }
    /* With a single segment nothing is gained by a queue. */
    if (!t->has_context || count == 1 || !submit_and_wait(t, blocks, count, results))
        memset(results, 0, count * sizeof *results);
    *rc = 0;
    size_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t n = bytes - at < SEGMENT_BYTES ? bytes - at : SEGMENT_BYTES;
        int64_t got = results[i];
        if (got >= 0 && (size_t)got < n) {
            got = got / ALIGNMENT * ALIGNMENT;
            int64_t rest = move_one(fd, writes, data + at + got, n - (size_t)got, offset + at + (size_t)got);
            got = rest < 0 ? rest : got + rest;
        }
        if (got < 0) {
            *rc = (int)got;
            break;
        }
        at += n;
    }
    return at;
}

int store_aio_read(int fd, void *data, size_t bytes, uint64_t offset)
{
    struct aio_thread *t = this_thread();
    int rc;
    uint8_t *into = is_aligned(data) ? data : bounce(t, bytes);
    (void)move(t, fd, false, into, bytes, offset, &rc);
    if (rc == 0 && into != data)
        memcpy(data, into, bytes);
    return rc;
}

uint64_t store_aio_write(int fd, const struct iovec *pieces, int count, uint64_t offset, int *rc)
{
    struct aio_thread *t = this_thread();
    if (count == 1 && is_aligned(pieces[0].iov_base))
        return move(t, fd, true, pieces[0].iov_base, pieces[0].iov_len, offset, rc);
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += pieces[i].iov_len;
    uint8_t *all = bounce(t, total);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        memcpy(all + at, pieces[i].iov_base, pieces[i].iov_len);
        at += pieces[i].iov_len;
    }
    return move(t, fd, true, all, total, offset, rc);
}
