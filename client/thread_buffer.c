/* SPDX-License-Identifier: Apache-2.0 */
#include "client/thread_buffer.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/check.h"

enum { ALIGNMENT = 4096 };

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static _Thread_local uint8_t *buffer, *lent;

static void make_key(void)
{
    CHECK(pthread_key_create(&key, free) == 0);
}

uint8_t *thread_buffer_get(void)
{
    if (lent)
        return lent;
    if (!buffer) {
        (void)pthread_once(&key_once, make_key);
        buffer = check_alloc(aligned_alloc(ALIGNMENT, THREAD_BUFFER_BYTES));
        CHECK(pthread_setspecific(key, buffer) == 0);
    }
    return buffer;
}

void thread_buffer_lend(uint8_t *memory)
{
    lent = memory;
}
