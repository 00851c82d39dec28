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

enum { ROOM_BYTES = 2 * WIRE_IO_LIMIT, SEGMENTS_AT = WRITE_MEMORY_ROOMS * ROOM_BYTES };

/* Numbers that are free; who was given back last is taken first, since the servers have its pages at hand. */
struct free_numbers {
    atomic_uint count;
    uint8_t numbers[WRITE_MEMORY_SEGMENTS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static struct free_numbers free_rooms, free_segments;

static uint8_t *_Atomic memory; /* NULL: none */
static int memory_fd = -1;      /* written before `memory` */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local struct write_memory mine;

static void fill(struct free_numbers *free_ones, unsigned count)
{
    atomic_store(&free_ones->count, count);
    for (unsigned i = 0; i < count; i++)
        free_ones->numbers[i] = (uint8_t)(count - 1 - i);
}

static int take_number(struct free_numbers *free_ones)
{
    if (!atomic_load_explicit(&free_ones->count, memory_order_relaxed))
        return -1;
    SCOPE_UNLOCK(&lock);
    unsigned count = atomic_load(&free_ones->count);
    if (!count)
        return -1;
    atomic_store(&free_ones->count, count - 1);
    return free_ones->numbers[count - 1];
}

static void give_number(struct free_numbers *free_ones, size_t number)
{
    SCOPE_UNLOCK(&lock);
    free_ones->numbers[atomic_fetch_add(&free_ones->count, 1)] = (uint8_t)number;
}

static void end_thread(void *room)
{
    mine = (struct write_memory){0};
    give_number(&free_rooms, (size_t)((uint8_t *)room - atomic_load(&memory)) / ROOM_BYTES);
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
    fill(&free_segments, WRITE_MEMORY_SEGMENTS);
    memory_fd = fd;
    atomic_store(&memory, map);
}

void write_memory_enable(void)
{
    (void)pthread_once(&once, create);
}

static uint8_t *base(void)
{
    return atomic_load_explicit(&memory, memory_order_acquire);
}

const struct write_memory *write_memory_get(void)
{
    if (mine.received)
        return &mine;
    int number = base() ? take_number(&free_rooms) : -1;
    if (number < 0)
        return NULL;
    mine.received = base() + (size_t)number * ROOM_BYTES;
    mine.copied = mine.received + WIRE_IO_LIMIT;
    CHECK(pthread_setspecific(key, mine.received) == 0);
    return &mine;
}

uint8_t *write_memory_take_segment(void)
{
    int number = base() ? take_number(&free_segments) : -1;
    return number < 0 ? NULL : base() + SEGMENTS_AT + (size_t)number * WRITE_MEMORY_SEGMENT_BYTES;
}

void write_memory_give_segment(uint8_t *segment)
{
    (void)madvise(segment, WRITE_MEMORY_SEGMENT_BYTES, MADV_REMOVE);
    give_number(&free_segments, (size_t)(segment - base() - SEGMENTS_AT) / WRITE_MEMORY_SEGMENT_BYTES);
}

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
