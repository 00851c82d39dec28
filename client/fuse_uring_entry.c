/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fuse_uring_entry.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/mman.h>

#include "client/thread_buffer.h"
#include "common/check.h"
#include "common/scope.h"

/* Of the kernel's FUSE protocol 7.42, newer than the headers may be: one header for each entry, filled by whoever hands it over. */
enum { HEADER_ROOM = 128 };

struct in_out {
    uint64_t flags, commit_id;
    uint32_t payload_bytes, padding;
    uint64_t reserved;
};

struct headers {
    uint8_t header[HEADER_ROOM];    /* fuse_in_header, and fuse_out_header the other way */
    uint8_t operation[HEADER_ROOM]; /* what follows it, but for names and data */
    struct in_out in_out;
};

/* The payload begins a page. Before it is room for both headers of a request, and before that what the kernel fills. */
enum { PAGE = 4096, HEADERS_AT = 1024, PAYLOAD_BYTES = THREAD_BUFFER_BYTES };
_Static_assert(sizeof(struct fuse_uring_entry) <= HEADERS_AT, "an entry begins with its own structure");
_Static_assert(HEADERS_AT + sizeof(struct headers) + 2 * HEADER_ROOM <= PAGE, "and its headers lie in the same page");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what is said of entries that are aside */
static struct fuse_uring_entry *asides;

static struct headers *headers_of(const struct fuse_uring_entry *entry)
{
    return (struct headers *)entry->pieces[0].iov_base;
}

static uint8_t *payload_of(const struct fuse_uring_entry *entry)
{
    return (uint8_t *)entry->pieces[1].iov_base;
}

struct fuse_uring_entry *fuse_uring_entry_create(struct fuse_uring_queue *queue)
{
    uint8_t *memory = mmap(NULL, PAGE + PAYLOAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct fuse_uring_entry *entry = (struct fuse_uring_entry *)memory;
    entry->queue = queue;
    entry->pieces[0] = (struct iovec){.iov_base = memory + HEADERS_AT, .iov_len = sizeof(struct headers)};
    entry->pieces[1] = (struct iovec){.iov_base = memory + PAGE, .iov_len = PAYLOAD_BYTES};
    (void)pthread_cond_init(&entry->answered, NULL);
    return entry;
}

void fuse_uring_entry_destroy(struct fuse_uring_entry *entry)
{
    (void)pthread_cond_destroy(&entry->answered);
    (void)munmap(entry, PAGE + PAYLOAD_BYTES);
}

/* ---- requests ---- */

const void *fuse_uring_entry_request(struct fuse_uring_entry *entry, size_t *bytes)
{
    const struct headers *headers = headers_of(entry);
    struct fuse_in_header header;
    memcpy(&header, headers->header, sizeof header);
    entry->unique = header.unique;
    entry->replied = false;
    size_t payload = headers->in_out.payload_bytes;
    if (header.len < sizeof header + payload || header.len - sizeof header - payload > HEADER_ROOM || payload > PAYLOAD_BYTES)
        return NULL;
    size_t operation = header.len - sizeof header - payload;
    uint8_t *begin = payload_of(entry) - operation - sizeof header;
    memcpy(begin, &header, sizeof header);
    memcpy(begin + sizeof header, headers->operation, operation);
    *bytes = header.len;
    return begin;
}

uint8_t *fuse_uring_entry_room(const struct fuse_uring_entry *entry)
{
    return headers_of(entry)->in_out.payload_bytes == 0 ? payload_of(entry) : NULL;
}

/* ---- replies ---- */

void fuse_uring_entry_reply(struct fuse_uring_entry *entry, const struct iovec *pieces, int count)
{
    struct headers *headers = headers_of(entry);
    uint8_t *to = payload_of(entry);
    CHECK(pieces[0].iov_len == sizeof(struct fuse_out_header));
    memcpy(headers->header, pieces[0].iov_base, pieces[0].iov_len);
    for (int i = 1; i < count; i++) {
        CHECK(pieces[i].iov_len <= (size_t)(payload_of(entry) + PAYLOAD_BYTES - to));
        /* What was read for this request lies there already, or a little further on. */
        if (pieces[i].iov_base != to)
            memmove(to, pieces[i].iov_base, pieces[i].iov_len);
        to += pieces[i].iov_len;
    }
    headers->in_out.payload_bytes = (uint32_t)(to - payload_of(entry));
    entry->replied = true;
}

void fuse_uring_entry_fail(struct fuse_uring_entry *entry, int error)
{
    struct fuse_out_header header = {.len = sizeof header, .error = error, .unique = entry->unique};
    const struct iovec piece = {.iov_base = &header, .iov_len = sizeof header};
    fuse_uring_entry_reply(entry, &piece, 1);
}

/* ---- replies that come later ---- */

void fuse_uring_entry_put_aside(struct fuse_uring_entry *entry)
{
    SCOPE_UNLOCK(&lock);
    entry->aside = true;
    entry->next = asides;
    asides = entry;
}

bool fuse_uring_entry_reply_aside(const struct iovec *pieces, int count)
{
    const struct fuse_out_header *header = (const struct fuse_out_header *)pieces[0].iov_base;
    SCOPE_UNLOCK(&lock);
    struct fuse_uring_entry **link = &asides;
    while (*link && (*link)->unique != header->unique)
        link = &(*link)->next;
    struct fuse_uring_entry *entry = *link;
    if (!entry)
        return false;
    *link = entry->next;
    fuse_uring_entry_reply(entry, pieces, count);
    (void)pthread_cond_signal(&entry->answered);
    return true;
}

void fuse_uring_entry_wait(struct fuse_uring_entry *entry)
{
    SCOPE_UNLOCK(&lock);
    while (!entry->replied)
        (void)pthread_cond_wait(&entry->answered, &lock);
    entry->aside = false;
}
