/* SPDX-License-Identifier: Apache-2.0 */
#include "client/ending.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "client/retry.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"

#define POKE_NS (20 * NS_PER_MS)

static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; held while the hook runs */
static bool stopped;
static void (*current_hook)(void *);
static void *current_argument;

static sigset_t ending_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    return set;
}

/* False once there is nothing more to do. */
static bool poke(void)
{
    SCOPE_UNLOCK(&lock);
    if (!stopped && current_hook)
        current_hook(current_argument);
    return !stopped;
}

static void *wait_for_signal(void *argument)
{
    sigset_t set = ending_signals();
    int number;
    bool still_wanted;
    (void)argument;
    (void)sigwait(&set, &number);
    {
        SCOPE_UNLOCK(&lock);
        still_wanted = !stopped;
    }
    if (still_wanted) {
        log_info("ending (signal %d)", number);
        retry_stop_all();
    }
    while (poke())
        clock_sleep_ns(POKE_NS);
    return NULL;
}

void ending_start(void)
{
    sigset_t set = ending_signals();
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    CHECK(pthread_create(&thread, NULL, wait_for_signal, NULL) == 0);
}

void ending_set_hook(void (*hook)(void *argument), void *argument)
{
    SCOPE_UNLOCK(&lock);
    current_hook = hook;
    current_argument = argument;
}

void ending_stop(void)
{
    {
        SCOPE_UNLOCK(&lock);
        stopped = true;
    }
    (void)pthread_kill(thread, SIGTERM);
    (void)pthread_join(thread, NULL);
}
