/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fuse_uring.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/core_list.h"
#include "client/fuse_device.h"
#include "client/fuse_uring_entry.h"
#include "client/fuse_uring_ring.h"
#include "client/thread_buffer.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

enum {
    /* Entries of a queue that do not wait for locks: as many requests of one core may be under way at once. */
    ENTRIES_MOST = 256,
    ENTRIES_LEAST = 64,
    ENTRIES_ALL_QUEUES = 1024, /* as far as those two let it */
    /* Requests of one core that may wait for locks; each holds a thread, asleep. */
    ASIDE_LIMIT = 1024,
    QUEUES_LIMIT = 4096,
    CORES_BYTES = 1024,
};

struct fuse_uring_queue {
    unsigned number; /* of the queue and of its core */
    int wake;        /* an eventfd */
    pthread_t keeper;
    struct fuse_uring_ring ring;
    atomic_uint entries, busy; /* the kernel has; that hold a request which we know of */
    unsigned asides;           /* of them, waiting for locks; under the lock */
    atomic_uint wanted;        /* entries beside those */
    int error;                 /* why the kernel did not take an entry */
};

struct worker {
    pthread_t thread;
    struct fuse_uring_queue *queue;
    struct fuse_uring_entry *entry;
    struct fuse_uring_ring ring;
    struct worker *next;
};

enum phase { PHASE_NONE, PHASE_PREPARED, PHASE_STARTED, PHASE_ENDING };

static struct {
    struct fuse_session *session;
    pthread_mutex_t lock; /* guards what follows, but for the queues' own */
    pthread_cond_t changed;
    _Atomic enum phase phase;
    atomic_bool used; /* the kernel has taken entries for every queue */
    struct fuse_uring_queue *queues;
    unsigned queue_count, ready; /* ready: queues that have registered their entries, or could not */
    struct worker *workers;
    unsigned running; /* of them, and not asleep for a lock */
    int end;          /* an eventfd that can be read at the end */
    cpu_set_t allowed;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .end = -1};

static _Thread_local struct fuse_uring_entry *current;
static _Thread_local bool is_worker;

/* ---- cores ---- */

/* One of the kernel's lists of cores, "possible" or "online". */
static void read_cores(const char *name, char *list, int bytes)
{
    char path[64];
    list[0] = '\0';
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/%s", name);
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    if (!file || !fgets(list, bytes, file))
        log_debug("cannot read %s", path);
}

/* A thread works on its queue's core, if this process may use that. */
static void go_to_core(unsigned core)
{
    cpu_set_t one;
    if (core >= CPU_SETSIZE || !CPU_ISSET(core, &all.allowed))
        return;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/* ---- one request ---- */

static bool reads(const struct fuse_in_header *header)
{
    return header->opcode == FUSE_READ || header->opcode == FUSE_READDIR;
}

/* Has the request in the entry answered. */
static void handle(struct fuse_uring_entry *entry)
{
    struct fuse_uring_queue *queue = entry->queue;
    size_t bytes = 0;
    atomic_fetch_add(&queue->busy, 1);
    const void *request = fuse_uring_entry_request(entry, &bytes);
    if (request) {
        struct fuse_buf buf = {.mem = (void *)(uintptr_t)request, .size = bytes};
        fuse_device_note_request(request, bytes);
        if (reads(request))
            thread_buffer_lend(fuse_uring_entry_room(entry));
        current = entry;
        fuse_session_process_buf(all.session, &buf);
        current = NULL;
        thread_buffer_lend(NULL);
    }
    if (entry->aside) {
        fuse_uring_entry_wait(entry);
        SCOPE_UNLOCK(&all.lock);
        queue->asides--;
        all.running++;
    } else if (!entry->replied) {
        fuse_uring_entry_fail(entry, -EIO);
    }
    atomic_fetch_sub(&queue->busy, 1);
}

bool fuse_uring_take_reply(const struct iovec *pieces, int count)
{
    const struct fuse_out_header *header = (const struct fuse_out_header *)pieces[0].iov_base;
    if (current && !current->aside && !current->replied && header->unique == current->unique) {
        fuse_uring_entry_reply(current, pieces, count);
        return true;
    }
    if (atomic_load(&all.phase) < PHASE_STARTED || header->unique == 0) /* a notification */
        return false;
    return fuse_uring_entry_reply_aside(pieces, count);
}

static unsigned entries_for(unsigned queues)
{
    unsigned share = ENTRIES_ALL_QUEUES / queues;
    return share < ENTRIES_LEAST ? ENTRIES_LEAST : share > ENTRIES_MOST ? ENTRIES_MOST : share;
}

static void wake(int fd)
{
    const uint64_t one = 1;
    CHECK(write(fd, &one, sizeof one) == sizeof one);
}

bool fuse_uring_put_aside(void)
{
    struct fuse_uring_entry *entry = current;
    if (!entry)
        return true;
    struct fuse_uring_queue *queue = entry->queue;
    SCOPE_UNLOCK(&all.lock);
    /* Requests that find no entry are fetched when another is answered. So there must always be one that will be. */
    if (!is_worker || all.phase == PHASE_ENDING || queue->asides >= ASIDE_LIMIT || queue->entries <= queue->busy)
        return false;
    queue->asides++;
    all.running--;
    (void)pthread_cond_broadcast(&all.changed);
    fuse_uring_entry_put_aside(entry);
    if (queue->entries < queue->wanted + queue->asides)
        wake(queue->wake);
    return true;
}

/* ---- workers ---- */

static void lose_entry(struct fuse_uring_entry *entry, int error)
{
    if (error != -ENOTCONN && error != -ECONNABORTED && error != -ECANCELED)
        log_warning("the kernel does not take a reply by io_uring: %s", strerror(-error));
    atomic_fetch_sub(&entry->queue->entries, 1);
    fuse_uring_entry_destroy(entry);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct fuse_uring_entry *entry = worker->entry, *from;
    int result = 0;
    is_worker = true;
    go_to_core(worker->queue->number);
    fuse_uring_ring_enable(&worker->ring);
    fuse_uring_ring_watch(&worker->ring, all.end);
    do {
        handle(entry);
        fuse_uring_ring_commit(&worker->ring, entry);
        if (fuse_uring_ring_wait(&worker->ring, &from, &result) < 0)
            result = -EIO;
    } while (result == 0 && from == entry);
    fuse_uring_ring_fini(&worker->ring);
    lose_entry(entry, result < 0 ? result : -ECANCELED);
    SCOPE_UNLOCK(&all.lock);
    all.running--;
    (void)pthread_cond_broadcast(&all.changed);
    return NULL;
}

/* Has a thread of its own handle the request in the entry, and all that come by it later. False if there can be none. */
static bool start_worker(struct fuse_uring_queue *queue, struct fuse_uring_entry *entry)
{
    struct worker *worker = check_alloc(calloc(1, sizeof *worker));
    worker->queue = queue;
    worker->entry = entry;
    int rc = fuse_uring_ring_init(&worker->ring, queue->ring.device, queue->number, 0);
    if (rc < 0) {
        log_warning("no more threads for requests: %s", strerror(-rc));
        free(worker);
        return false;
    }
    SCOPE_UNLOCK(&all.lock);
    rc = pthread_create(&worker->thread, NULL, work, worker);
    if (rc != 0) {
        log_warning("no more threads for requests: %s", strerror(rc));
        fuse_uring_ring_fini(&worker->ring);
        free(worker);
        return false;
    }
    worker->next = all.workers;
    all.workers = worker;
    all.running++;
    return true;
}

/* ---- what is not used yet ---- */

/* What came out of the keeper's ring for an entry: its first request, or that there will be none. */
static void pass_on(struct fuse_uring_queue *queue, struct fuse_uring_entry *entry, int result)
{
    if (result < 0) {
        queue->error = result;
        atomic_fetch_sub(&queue->entries, 1);
        fuse_uring_entry_destroy(entry);
        return;
    }
    queue->wanted = entries_for(all.queue_count);
    if (!start_worker(queue, entry)) {
        handle(entry);
        fuse_uring_ring_commit(&queue->ring, entry);
    }
}

static void take_event(struct fuse_uring_queue *queue, struct fuse_uring_entry *entry, int result)
{
    uint64_t count;
    if (entry) {
        pass_on(queue, entry, result);
        return;
    }
    if (read(queue->wake, &count, sizeof count) < 0)
        log_debug("woken for nothing");
    fuse_uring_ring_watch(&queue->ring, queue->wake);
}

/* How many entries a queue should get now, a few at a time. */
static unsigned count_missing(struct fuse_uring_queue *queue)
{
    SCOPE_UNLOCK(&all.lock);
    unsigned wanted = queue->wanted + queue->asides, entries = queue->entries;
    return entries >= wanted ? 0 : wanted - entries < FUSE_URING_RING_PUT ? wanted - entries : FUSE_URING_RING_PUT;
}

/* The kernel says at once if it does not take one; the queue has an error then and gets no more. */
static void add_entries(struct fuse_uring_queue *queue)
{
    unsigned missing;
    while (queue->error == 0 && (missing = count_missing(queue)) > 0) {
        struct fuse_uring_entry *entry;
        int result, rc = -ENOMEM;
        for (unsigned i = 0; i < missing && (entry = fuse_uring_entry_create(queue)); i++) {
            atomic_fetch_add(&queue->entries, 1);
            fuse_uring_ring_register(&queue->ring, entry);
            rc = 0;
        }
        if (rc == 0)
            rc = fuse_uring_ring_send(&queue->ring);
        while (fuse_uring_ring_take(&queue->ring, &entry, &result))
            take_event(queue, entry, result);
        if (rc < 0)
            queue->error = rc;
    }
}

static bool wait_for_start(void)
{
    SCOPE_UNLOCK(&all.lock);
    while (all.phase == PHASE_PREPARED)
        (void)pthread_cond_wait(&all.changed, &all.lock);
    return all.phase == PHASE_STARTED;
}

static void say_ready(void)
{
    SCOPE_UNLOCK(&all.lock);
    all.ready++;
    (void)pthread_cond_broadcast(&all.changed);
}

static void *keep(void *argument)
{
    struct fuse_uring_queue *queue = argument;
    struct fuse_uring_entry *entry;
    int result;
    go_to_core(queue->number);
    if (!wait_for_start())
        return NULL;
    fuse_uring_ring_enable(&queue->ring);
    add_entries(queue);
    say_ready();
    fuse_uring_ring_watch(&queue->ring, queue->wake);
    while (all.phase != PHASE_ENDING && fuse_uring_ring_wait(&queue->ring, &entry, &result) == 0) {
        take_event(queue, entry, result);
        add_entries(queue);
    }
    return NULL;
}

/* ---- the whole ---- */

static int prepare_queue(struct fuse_uring_queue *queue, unsigned number, bool online)
{
    queue->number = number;
    queue->wanted = online ? entries_for(all.queue_count) : 1;
    queue->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->wake < 0)
        return -errno;
    int rc = fuse_uring_ring_init(&queue->ring, fuse_session_fd(all.session), number, 2 * ENTRIES_MOST);
    if (rc == 0) {
        rc = -pthread_create(&queue->keeper, NULL, keep, queue);
        if (rc < 0)
            fuse_uring_ring_fini(&queue->ring);
    }
    if (rc < 0)
        (void)close(queue->wake);
    return rc;
}

static void set_phase(enum phase phase)
{
    SCOPE_UNLOCK(&all.lock);
    all.phase = phase;
    (void)pthread_cond_broadcast(&all.changed);
}

static void join_keepers(void)
{
    for (unsigned i = 0; i < all.queue_count; i++) {
        struct fuse_uring_queue *queue = &all.queues[i];
        (void)pthread_join(queue->keeper, NULL);
        fuse_uring_ring_fini(&queue->ring);
    }
}

static void free_queues(void)
{
    for (unsigned i = 0; i < all.queue_count; i++)
        (void)close(all.queues[i].wake);
    (void)close(all.end);
    free(all.queues);
    all.queues = NULL;
    all.end = -1;
}

/* Each thread has a ring, and so a descriptor. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int fuse_uring_prepare(struct fuse_session *session)
{
    char possible[CORES_BYTES], online[CORES_BYTES];
    int rc = 0;
    read_cores("possible", possible, sizeof possible);
    read_cores("online", online, sizeof online);
    unsigned count = core_list_count(possible);
    if (count == 0 || count > QUEUES_LIMIT)
        return -ENODEV;
    raise_descriptor_limit();
    CPU_ZERO(&all.allowed);
    (void)sched_getaffinity(0, sizeof all.allowed, &all.allowed);
    all.session = session;
    all.end = eventfd(0, EFD_CLOEXEC);
    if (all.end < 0)
        return -errno;
    all.queues = check_alloc(calloc(count, sizeof *all.queues));
    all.queue_count = count;
    set_phase(PHASE_PREPARED);
    for (unsigned i = 0; i < count && rc == 0; i++) {
        rc = prepare_queue(&all.queues[i], i, core_list_has(online, i));
        if (rc < 0)
            all.queue_count = i;
    }
    if (rc == 0)
        return 0;
    set_phase(PHASE_NONE);
    join_keepers();
    free_queues();
    return rc;
}

void fuse_uring_start(void)
{
    int error = 0;
    set_phase(PHASE_STARTED);
    {
        SCOPE_UNLOCK(&all.lock);
        while (all.ready < all.queue_count)
            (void)pthread_cond_wait(&all.changed, &all.lock);
    }
    for (unsigned i = 0; i < all.queue_count; i++)
        if (all.queues[i].entries == 0)
            error = all.queues[i].error;
    all.used = error == 0;
    if (error)
        log_warning("requests come by /dev/fuse: the kernel takes no entries for io_uring: %s", strerror(-error));
    else
        log_info("requests come by io_uring, %u queues", all.queue_count);
}

bool fuse_uring_is_used(void)
{
    return all.used;
}

void fuse_uring_stop(void)
{
    if (all.phase == PHASE_NONE)
        return;
    set_phase(PHASE_ENDING);
    wake(all.end);
    for (unsigned i = 0; i < all.queue_count; i++)
        wake(all.queues[i].wake);
    join_keepers();
    SCOPE_UNLOCK(&all.lock);
    while (all.running > 0)
        (void)pthread_cond_wait(&all.changed, &all.lock);
}

/* Entries that were never used stay with the kernel until the device is closed. */
void fuse_uring_join(void)
{
    if (all.phase == PHASE_NONE)
        return;
    while (all.workers) {
        struct worker *worker = all.workers;
        all.workers = worker->next;
        (void)pthread_join(worker->thread, NULL);
        free(worker);
    }
    free_queues();
    all.phase = PHASE_NONE;
}
