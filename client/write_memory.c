/* SPDX-License-Identifier: Apache-2.0 */
#include "client/write_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/check.h"
#include "common/scope.h"
#include "common/shared_memory.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static struct write_memory *spare;
static unsigned spare_count;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static atomic_bool enabled;
static _Atomic uint64_t numbers;
static _Thread_local struct write_memory *mine;
static _Thread_local bool refused;

static struct write_memory *take_spare(void)
{
    SCOPE_UNLOCK(&lock);
    struct write_memory *memory = spare;
    if (memory) {
        spare = memory->next;
        spare_count--;
    }
    return memory;
}

static bool give_spare(struct write_memory *memory)
{
    SCOPE_UNLOCK(&lock);
    if (spare_count == WRITE_MEMORY_SPARE_LIMIT)
        return false;
    memory->next = spare;
    spare = memory;
    spare_count++;
    return true;
}

static void end(void *argument)
{
    struct write_memory *memory = argument;
    mine = NULL;
    if (give_spare(memory))
        return;
    (void)munmap(memory->received, WRITE_MEMORY_BYTES);
    (void)close(memory->fd);
    free(memory);
}

static void make_key(void)
{
    CHECK(pthread_key_create(&key, end) == 0);
}

static struct write_memory *create(void)
{
    void *map;
    int fd = shared_memory_create(WRITE_MEMORY_BYTES, &map);
    if (fd < 0)
        return NULL;
    struct write_memory *memory = check_alloc(malloc(sizeof *memory));
    *memory = (struct write_memory){.number = atomic_fetch_add(&numbers, 1) + 1,
                                    .fd = fd,
                                    .received = map,
                                    .copied = (uint8_t *)map + WIRE_IO_LIMIT};
    return memory;
}

static void make(void)
{
    mine = take_spare();
    if (!mine)
        mine = create();
    refused = !mine;
    if (refused)
        return;
    (void)pthread_once(&key_once, make_key);
    CHECK(pthread_setspecific(key, mine) == 0);
}

void write_memory_enable(void)
{
    atomic_store(&enabled, true);
}

const struct write_memory *write_memory_get(void)
{
    if (!mine && !refused && atomic_load_explicit(&enabled, memory_order_relaxed))
        make();
    return mine;
}
