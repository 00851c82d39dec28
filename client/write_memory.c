/* SPDX-License-Identifier: Apache-2.0 */
#include "client/write_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/shared_memory.h"

/* What lies where: the buffers in which requests are received, the places for copies, the segments. */
enum {
    BUFFERS = WRITE_MEMORY_ROOMS + WRITE_MEMORY_HELD,
    COPIES_AT = BUFFERS * WIRE_IO_LIMIT,
    SEGMENTS_AT = COPIES_AT + WRITE_MEMORY_ROOMS * WIRE_IO_LIMIT,
};

/* Numbers that are free; who was given back last is taken first, since the servers have its pages at hand. */
struct free_numbers {
    atomic_uint count;
    uint8_t numbers[WRITE_MEMORY_SEGMENTS];
};

_Static_assert((int)BUFFERS <= (int)WRITE_MEMORY_SEGMENTS && (int)WRITE_MEMORY_ROOMS <= (int)WRITE_MEMORY_SEGMENTS &&
                   WRITE_MEMORY_SEGMENTS <= UINT8_MAX, "all numbers fit");

struct buffer {
    atomic_uint holds; /* by delayed writes; changes under the lock */
    bool owned;        /* some thread receives in it, or will when nobody holds it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct free_numbers free_rooms, free_buffers, free_segments;
static struct buffer buffers[BUFFERS];
static unsigned held; /* buffers with holds */

static uint8_t *_Atomic memory; /* NULL: none */
static int memory_fd = -1;      /* written before `memory` */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local struct write_memory mine;

static uint8_t *base(void)
{
    return atomic_load_explicit(&memory, memory_order_acquire);
}

/* ---- numbers ---- */

static void fill(struct free_numbers *free_ones, unsigned count)
{
    atomic_store(&free_ones->count, count);
    for (unsigned i = 0; i < count; i++)
        free_ones->numbers[i] = (uint8_t)(count - 1 - i);
}

static int take_number_locked(struct free_numbers *free_ones)
{
    unsigned count = atomic_load(&free_ones->count);
    if (!count)
        return -1;
    atomic_store(&free_ones->count, count - 1);
    return free_ones->numbers[count - 1];
}

static void give_number_locked(struct free_numbers *free_ones, size_t number)
{
    free_ones->numbers[atomic_fetch_add(&free_ones->count, 1)] = (uint8_t)number;
}

/* ---- threads ---- */

static size_t buffer_at(const void *data)
{
    return (size_t)((const uint8_t *)data - base()) / WIRE_IO_LIMIT;
}

/* There always is one: threads own WRITE_MEMORY_ROOMS at most, and WRITE_MEMORY_HELD are held. */
static uint8_t *take_buffer_locked(void)
{
    int number = take_number_locked(&free_buffers);
    CHECK(number >= 0);
    buffers[number].owned = true;
    return base() + (size_t)number * WIRE_IO_LIMIT;
}

static void disown_locked(uint8_t *received)
{
    size_t number = buffer_at(received);
    buffers[number].owned = false;
    if (!atomic_load(&buffers[number].holds))
        give_number_locked(&free_buffers, number);
}

static void end_thread(void *copied)
{
    SCOPE_UNLOCK(&lock);
    disown_locked(mine.received);
    give_number_locked(&free_rooms, (size_t)((uint8_t *)copied - base() - COPIES_AT) / WIRE_IO_LIMIT);
    mine = (struct write_memory){0};
}

static void create(void)
{
    void *map;
    int fd = shared_memory_create(WRITE_MEMORY_BYTES, &map);
    if (fd < 0) {
        log_warning("no memory to share with chunkservers: %s; writes go over sockets", strerror(-fd));
        return;
    }
    CHECK(pthread_key_create(&key, end_thread) == 0);
    fill(&free_rooms, WRITE_MEMORY_ROOMS);
    fill(&free_buffers, BUFFERS);
    fill(&free_segments, WRITE_MEMORY_SEGMENTS);
    memory_fd = fd;
    atomic_store(&memory, map);
}

void write_memory_enable(void)
{
    (void)pthread_once(&once, create);
}

const struct write_memory *write_memory_get(void)
{
    if (mine.received)
        return &mine;
    if (!base() || !atomic_load_explicit(&free_rooms.count, memory_order_relaxed))
        return NULL;
    SCOPE_UNLOCK(&lock);
    int number = take_number_locked(&free_rooms);
    if (number < 0)
        return NULL;
    mine.received = take_buffer_locked();
    mine.copied = base() + COPIES_AT + (size_t)number * WIRE_IO_LIMIT;
    CHECK(pthread_setspecific(key, mine.copied) == 0);
    return &mine;
}

/* ---- what delayed writes hold ---- */

const struct write_memory *write_memory_receive(void)
{
    if (!write_memory_get())
        return NULL;
    if (atomic_load_explicit(&buffers[buffer_at(mine.received)].holds, memory_order_acquire)) {
        SCOPE_UNLOCK(&lock);
        disown_locked(mine.received);
        mine.received = take_buffer_locked();
    }
    return &mine;
}

bool write_memory_hold(const void *data)
{
    if (!mine.received || (uintptr_t)data < (uintptr_t)mine.received ||
        (uintptr_t)data - (uintptr_t)mine.received >= WIRE_IO_LIMIT)
        return false;
    SCOPE_UNLOCK(&lock);
    struct buffer *buffer = &buffers[buffer_at(data)];
    if (!atomic_load(&buffer->holds)) {
        if (held == WRITE_MEMORY_HELD)
            return false;
        held++;
    }
    atomic_fetch_add(&buffer->holds, 1);
    return true;
}

void write_memory_drop(const void *data)
{
    SCOPE_UNLOCK(&lock);
    size_t number = buffer_at(data);
    if (atomic_fetch_sub(&buffers[number].holds, 1) > 1)
        return;
    held--;
    if (!buffers[number].owned)
        give_number_locked(&free_buffers, number);
}

/* ---- segments ---- */

uint8_t *write_memory_take_segment(void)
{
    if (!base())
        return NULL;
    SCOPE_UNLOCK(&lock);
    int number = take_number_locked(&free_segments);
    return number < 0 ? NULL : base() + SEGMENTS_AT + (size_t)number * WRITE_MEMORY_SEGMENT_BYTES;
}

void write_memory_give_segment(uint8_t *segment)
{
    (void)madvise(segment, WRITE_MEMORY_SEGMENT_BYTES, MADV_REMOVE);
    SCOPE_UNLOCK(&lock);
    give_number_locked(&free_segments, (size_t)(segment - base() - SEGMENTS_AT) / WRITE_MEMORY_SEGMENT_BYTES);
}

/* ---- all of it ---- */

int64_t write_memory_place(const void *data, size_t bytes)
{
    uintptr_t from = (uintptr_t)base(), at = (uintptr_t)data;
    if (!from || at < from || at - from > WRITE_MEMORY_BYTES || bytes > WRITE_MEMORY_BYTES - (at - from))
        return -1;
    return (int64_t)(at - from);
}

int write_memory_fd(void)
{
    return base() ? memory_fd : -1;
}
