/* SPDX-License-Identifier: Apache-2.0 */
#include "client/write_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/check.h"
#include "common/shared_memory.h"

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static atomic_bool enabled;
static _Atomic uint64_t numbers;
static _Thread_local struct write_memory *mine;
static _Thread_local bool refused;

static void end(void *argument)
{
    struct write_memory *memory = argument;
    (void)munmap(memory->received, WRITE_MEMORY_BYTES);
    (void)close(memory->fd);
    free(memory);
    mine = NULL;
}

static void make_key(void)
{
    CHECK(pthread_key_create(&key, end) == 0);
}

static void make(void)
{
    void *map;
    int fd = shared_memory_create(WRITE_MEMORY_BYTES, &map);
    refused = fd < 0;
    if (refused)
        return;
    mine = check_alloc(malloc(sizeof *mine));
    *mine = (struct write_memory){.number = atomic_fetch_add(&numbers, 1) + 1,
                                  .fd = fd,
                                  .received = map,
                                  .copied = (uint8_t *)map + WIRE_IO_LIMIT};
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
