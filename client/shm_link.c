/* SPDX-License-Identifier: Apache-2.0 */
#include "client/shm_link.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/shm_read.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/shared_memory.h"

enum { SLOTS = 1024, TRY_AGAIN_MS = 500, PAGE_BYTES = 4096, STACK_BYTES = 64 * 1024 };

/* A chunk's file. Chunks whose ids are SLOTS apart share a place; the newer one has it. */
struct slot {
    uint64_t chunk_id;
    uint32_t version;
    struct shm_share share; /* fd -1: unused */
};

struct shm_link {
    struct address address;
    uint32_t server_id;

    pthread_mutex_t lock; /* guards these */
    int64_t next_try_ns;
    bool told; /* that it could not be brought up */

    pthread_mutex_t watching; /* held while the watcher is started and joined */
    pthread_t watcher;
    bool has_watcher;

    pthread_rwlock_t gate; /* shared: reading; exclusive: changing what follows */
    atomic_bool refuses;   /* to share chunks: its store is not made for it */
    atomic_bool up;        /* changes under the gate; may be looked at without */
    struct stream watch;   /* nothing is said on it; it ends when the server does */
    struct shared_reads *reads;
    struct slot slots[SLOTS];
};

struct shm_link *shm_link_create(const char *directory, uint32_t server_id)
{
    struct shm_link *link = check_alloc(calloc(1, sizeof *link));
    pthread_rwlockattr_t attr;
    shared_memory_socket(directory, server_id, &link->address);
    link->server_id = server_id;
    link->watch.fd = -1;
    for (unsigned i = 0; i < SLOTS; i++)
        link->slots[i].share.fd = -1;
    (void)pthread_mutex_init(&link->lock, NULL);
    (void)pthread_mutex_init(&link->watching, NULL);
    CHECK(pthread_rwlockattr_init(&attr) == 0);
    CHECK(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
    CHECK(pthread_rwlock_init(&link->gate, &attr) == 0);
    (void)pthread_rwlockattr_destroy(&attr);
    return link;
}

const struct address *shm_link_address(const struct shm_link *link)
{
    return &link->address;
}

bool shm_link_is_up(const struct shm_link *link)
{
    return atomic_load(&((struct shm_link *)(uintptr_t)link)->up);
}

bool shm_link_has_chunks(const struct shm_link *link)
{
    return !atomic_load(&((struct shm_link *)(uintptr_t)link)->refuses);
}

/* ---- up and down ---- */

static void drop_slot(struct slot *slot)
{
    if (slot->share.fd >= 0)
        (void)close(slot->share.fd);
    *slot = (struct slot){.share.fd = -1};
}

static void lower(struct shm_link *link)
{
    (void)pthread_rwlock_wrlock(&link->gate);
    if (link->up) {
        link->up = false;
        for (unsigned i = 0; i < SLOTS; i++)
            drop_slot(&link->slots[i]);
        (void)munmap(link->reads, PAGE_BYTES);
        link->reads = NULL;
        /* The descriptor stays until the watcher, which looks at it, is joined. */
    }
    (void)pthread_rwlock_unlock(&link->gate);
}

/* Waits for the end of the connection, so that files of a server that is gone are let go at once. */
static void *watch(void *argument)
{
    struct shm_link *link = argument;
    char byte;
    ssize_t n;
    do {
        n = recv(link->watch.fd, &byte, 1, 0);
    } while (n < 0 && errno == EINTR);
    lower(link);
    return NULL;
}

/* The watching lock is held. */
static void end_watcher(struct shm_link *link)
{
    if (!link->has_watcher)
        return;
    (void)shutdown(link->watch.fd, SHUT_RDWR);
    (void)pthread_join(link->watcher, NULL);
    link->has_watcher = false;
    stream_close(&link->watch);
}

/* The watching lock is held. */
static void start_watcher(struct shm_link *link)
{
    pthread_attr_t attr;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_attr_init(&attr) == 0);
    CHECK(pthread_attr_setstacksize(&attr, STACK_BYTES) == 0);
    CHECK(pthread_create(&link->watcher, &attr, watch, link) == 0);
    (void)pthread_attr_destroy(&attr);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    link->has_watcher = true;
}

void shm_link_destroy(struct shm_link *link)
{
    if (!link)
        return;
    {
        SCOPE_UNLOCK(&link->watching);
        end_watcher(link);
    }
    (void)pthread_rwlock_destroy(&link->gate);
    (void)pthread_mutex_destroy(&link->watching);
    (void)pthread_mutex_destroy(&link->lock);
    free(link);
}

bool shm_link_may_try(struct shm_link *link)
{
    int64_t now = clock_mono_ns();
    if (shm_link_is_up(link))
        return false;
    SCOPE_UNLOCK(&link->lock);
    if (now < link->next_try_ns)
        return false;
    link->next_try_ns = now + TRY_AGAIN_MS * NS_PER_MS;
    return true;
}

void shm_link_failed(struct shm_link *link, int error)
{
    {
        SCOPE_UNLOCK(&link->lock);
        if (link->told)
            return;
        link->told = true;
    }
    log_warning("chunkserver %u: no shared memory at %s: %s; using TCP", link->server_id, link->address.host,
                strerror(-error));
}

/* ---- messages ---- */

/* Sends memory and receives the answer. 0, or what the server answered, in *result. */
static int give(struct stream *stream, uint32_t sequence, uint8_t purpose, uint32_t bytes, int fd, int *result)
{
    uint8_t body[32];
    struct wire_memory_share message = {.purpose = purpose, .bytes = bytes};
    struct wire_out out = wire_out_on(body, sizeof body);
    wire_put_memory_share(&out, &message);
    CHECK(!out.failed);
    struct wire_header header = {
        .body_bytes = (uint32_t)out.used, .type = WIRE_TYPE_memory_share, .sequence = sequence}, reply;
    const void *answer;
    int rc = stream_send_fd(stream, &header, body, fd);
    if (rc == 0)
        rc = stream_recv(stream, &reply, &answer);
    if (rc < 0)
        return rc;
    if (reply.type != (WIRE_TYPE_memory_share | WIRE_REPLY) || reply.sequence != sequence)
        return -EBADMSG;
    *result = -wire_status_errno(reply.status);
    return 0;
}

int shm_link_give_memory(struct stream *stream, uint32_t sequence, int fd, uint32_t bytes, int *result)
{
    return give(stream, sequence, WIRE_MEMORY_WRITES, bytes, fd, result);
}

int shm_link_raise(struct shm_link *link, struct stream *stream, uint32_t sequence)
{
    void *map;
    int result;
    SCOPE_UNLOCK(&link->watching);
    SCOPE_CLOSE int fd = shared_memory_create(PAGE_BYTES, &map);
    if (fd < 0)
        return fd;
    int rc = give(stream, sequence, WIRE_MEMORY_READS, PAGE_BYTES, fd, &result);
    if (rc == 0)
        rc = result;
    if (rc == 0)
        rc = stream_set_timeout(stream, 0);
    if (rc < 0 || link->up) {
        (void)munmap(map, PAGE_BYTES);
        return rc < 0 ? rc : -EALREADY;
    }
    end_watcher(link);
    (void)pthread_rwlock_wrlock(&link->gate);
    link->watch = *stream;
    link->reads = map;
    link->up = true;
    link->refuses = false;
    (void)pthread_rwlock_unlock(&link->gate);
    start_watcher(link);
    {
        SCOPE_UNLOCK(&link->lock);
        link->told = false;
    }
    log_info("chunkserver %u: shares memory through %s", link->server_id, link->address.host);
    return 0;
}

/* Keeps what the server shared; fd is the link's from now on. */
static void keep_share(struct shm_link *link, const struct wire_chunk_read *wanted,
                       const struct wire_chunk_share_reply *reply, int fd)
{
    struct slot *slot = &link->slots[wanted->chunk_id % SLOTS];
    (void)pthread_rwlock_wrlock(&link->gate);
    drop_slot(slot);
    if (link->up)
        *slot = (struct slot){.chunk_id = wanted->chunk_id,
                              .version = wanted->version,
                              .share = {.fd = fd,
                                        .guard_at = reply->guard_at,
                                        .table_at = reply->table_at,
                                        .data_at = reply->data_at,
                                        .guard_first = reply->guard_first,
                                        .guard_third = reply->guard_third}};
    else
        (void)close(fd);
    (void)pthread_rwlock_unlock(&link->gate);
}

int shm_link_ask(struct shm_link *link, struct stream *stream, uint32_t sequence, const struct wire_chunk_read *wanted,
                 int *result)
{
    union wire_any request = {.chunk_share = {.chunk_id = wanted->chunk_id, .version = wanted->version}};
    struct wire_chunk_share_reply reply;
    struct wire_header header;
    const void *body;
    int rc = stream_call(stream, WIRE_TYPE_chunk_share, sequence, &request, &header, &body);
    if (rc < 0)
        return rc;
    *result = -wire_status_errno(header.status);
    if (*result == -EOPNOTSUPP)
        link->refuses = true;
    if (*result < 0)
        return 0;
    int fd = stream_take_fd(stream);
    if (fd < 0 || wire_get_chunk_share_reply(body, header.body_bytes, &reply) < 0) {
        if (fd >= 0)
            (void)close(fd);
        return -EBADMSG;
    }
    keep_share(link, wanted, &reply, fd);
    return 0;
}

/* ---- reading ---- */

/* The kernel closes a process's connections before anybody else can know that it is gone. */
static bool server_lives(const struct shm_link *link)
{
    char byte;
    return recv(link->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* The gate is held, shared. */
static int read_slot(struct shm_link *link, const struct wire_chunk_read *request, void *into)
{
    const struct slot *slot = &link->slots[request->chunk_id % SLOTS];
    if (!link->up || slot->share.fd < 0 || slot->chunk_id != request->chunk_id || slot->version != request->version)
        return -EAGAIN;
    if (!server_lives(link))
        return -ENOTCONN;
    int rc = shm_read_blocks(&slot->share, request->offset, request->length, into);
    if (rc == 0) {
        (void)atomic_fetch_add_explicit(&link->reads->bytes, request->length, memory_order_relaxed);
        (void)atomic_fetch_add_explicit(&link->reads->requests, 1, memory_order_relaxed);
    }
    return rc == -ESTALE ? -EAGAIN : rc;
}

int shm_link_read(struct shm_link *link, const struct wire_chunk_read *request, void *into)
{
    if (!shm_link_is_up(link))
        return -EAGAIN;
    (void)pthread_rwlock_rdlock(&link->gate);
    int rc = read_slot(link, request, into);
    (void)pthread_rwlock_unlock(&link->gate);
    if (rc != -ENOTCONN)
        return rc;
    lower(link); /* the watcher has not come to it yet */
    return -EAGAIN;
}
