/* SPDX-License-Identifier: Apache-2.0 */
#include "client/retry.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "common/clock.h"

#define FIRST_PAUSE_NS (1 * NS_PER_MS)
#define LONGEST_PAUSE_NS (500 * NS_PER_MS)
/* A long pause is slept in steps, so that an end or an interrupt is noticed soon. */
#define STEP_NS (50 * NS_PER_MS)

static atomic_bool stopped;
static _Thread_local bool (*thread_interrupted)(void *);
static _Thread_local void *thread_argument;

void retry_start(struct retry *retry, int64_t limit_ns)
{
    *retry = (struct retry){.deadline_ns = clock_mono_ns() + limit_ns, .pause_ns = FIRST_PAUSE_NS};
}

void retry_set_interrupted(bool (*interrupted)(void *argument), void *argument)
{
    thread_interrupted = interrupted;
    thread_argument = argument;
}

void retry_stop_all(void)
{
    atomic_store(&stopped, true);
}

bool retry_is_let_go(void)
{
    return atomic_load(&stopped) || (thread_interrupted && thread_interrupted(thread_argument));
}

int retry_wait(struct retry *retry)
{
    for (int64_t left = retry->pause_ns; left > 0; left -= STEP_NS) {
        if (retry_is_let_go())
            return -EINTR;
        if (clock_mono_ns() >= retry->deadline_ns)
            return -EIO;
        clock_sleep_ns(left < STEP_NS ? left : STEP_NS);
    }
    if (retry->pause_ns < LONGEST_PAUSE_NS)
        retry->pause_ns *= 2;
    return retry_is_let_go() ? -EINTR : 0;
}
