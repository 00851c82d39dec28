/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads, locks, conditions, clocks and randomness as the shipped code calls them, on fibers. A lock's state lives in the
 * memory of the pthread object, all zeros being a lock that nobody holds, as the static initializers make it.
 *
 * Any of these calls may let another fiber run: that is where the threads of a real process would be interrupted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_wrap.h"

enum { YIELD_PER_MILLE = 120 };

/* 2026-01-01, so that times look like times. */
#define WALL_START_NS (INT64_C(1767225600) * NS_PER_S)

struct mutex_state {
    uint32_t holder; /* a fiber's number; 0: nobody */
};

struct condition_state {
    uint32_t clock;
};

struct rwlock_state {
    uint32_t readers, writer; /* writer: a fiber's number */
};

_Static_assert(sizeof(struct mutex_state) <= sizeof(pthread_mutex_t) &&
               sizeof(struct condition_state) <= sizeof(pthread_cond_t) &&
               sizeof(struct rwlock_state) <= sizeof(pthread_rwlock_t), "states fit");

static void perhaps_yield(void)
{
    if (sim_self() && sim_chance(YIELD_PER_MILLE))
        sim_yield();
}

static uint32_t self_number(void)
{
    return sim_self() ? sim_fiber_number(sim_self()) : UINT32_MAX;
}

/* ---- threads ---- */

struct start {
    void *(*run)(void *argument);
    void *argument;
};

SIM_WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    (void)attr;
    *thread = sim_fiber_number(sim_spawn(sim_node(), run, argument));
    perhaps_yield();
    return 0;
}

SIM_WRAP(int, pthread_join, pthread_t thread, void **result)
{
    void *value = sim_join(sim_fiber_find((unsigned)thread));
    if (result)
        *result = value;
    return 0;
}

SIM_WRAP(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *before)
{
    (void)how;
    (void)set;
    if (before)
        (void)sigemptyset(before);
    return 0;
}

SIM_WRAP(pthread_t, pthread_self, void)
{
    return self_number();
}

SIM_WRAP(int, sched_yield, void)
{
    sim_yield();
    return 0;
}

static unsigned keys;

SIM_WRAP(int, pthread_key_create, pthread_key_t *key, void (*destroy)(void *))
{
    CHECK(keys < SIM_KEYS);
    sim_key_destructor(keys, destroy);
    *key = keys++;
    return 0;
}

SIM_WRAP(int, pthread_setspecific, pthread_key_t key, const void *value)
{
    *sim_key_slot(key) = (void *)(uintptr_t)value;
    return 0;
}

SIM_WRAP(void *, pthread_getspecific, pthread_key_t key)
{
    return *sim_key_slot(key);
}

SIM_WRAP(int, pthread_once, pthread_once_t *once, void (*run)(void))
{
    if (*once == 0) {
        *once = 1;
        run(); /* none of the shipped ones waits */
    }
    return 0;
}

/* ---- mutexes ---- */

SIM_WRAP(int, pthread_mutex_init, pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    (void)attr;
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

SIM_WRAP(int, pthread_mutex_destroy, pthread_mutex_t *mutex)
{
    CHECK(((struct mutex_state *)mutex)->holder == 0);
    return 0;
}

SIM_WRAP(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
    struct mutex_state *state = (struct mutex_state *)mutex;
    perhaps_yield();
    CHECK(state->holder != self_number()); /* a thread that locks twice waits for ever */
    while (state->holder)
        (void)sim_wait(mutex, SIM_NEVER);
    state->holder = self_number();
    return 0;
}

SIM_WRAP(int, pthread_mutex_trylock, pthread_mutex_t *mutex)
{
    struct mutex_state *state = (struct mutex_state *)mutex;
    if (state->holder)
        return EBUSY;
    state->holder = self_number();
    return 0;
}

SIM_WRAP(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
    struct mutex_state *state = (struct mutex_state *)mutex;
    CHECK(state->holder == self_number());
    state->holder = 0;
    sim_wake(mutex);
    perhaps_yield();
    return 0;
}

/* ---- conditions ---- */

SIM_WRAP(int, pthread_condattr_init, pthread_condattr_t *attr)
{
    memset(attr, 0, sizeof *attr);
    return 0;
}

SIM_WRAP(int, pthread_condattr_destroy, pthread_condattr_t *attr)
{
    (void)attr;
    return 0;
}

SIM_WRAP(int, pthread_condattr_setclock, pthread_condattr_t *attr, clockid_t clock)
{
    *(uint32_t *)attr = (uint32_t)clock;
    return 0;
}

SIM_WRAP(int, pthread_cond_init, pthread_cond_t *condition, const pthread_condattr_t *attr)
{
    memset(condition, 0, sizeof *condition);
    if (attr)
        memcpy(condition, attr, sizeof(uint32_t));
    return 0;
}

SIM_WRAP(int, pthread_cond_destroy, pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

static int wait_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns)
{
    ((struct mutex_state *)mutex)->holder = 0;
    sim_wake(mutex);
    bool woken = true;
    if (sim_chance(20))
        sim_yield(); /* POSIX lets it return for nothing */
    else
        woken = sim_wait(condition, deadline_ns);
    while (((struct mutex_state *)mutex)->holder)
        (void)sim_wait(mutex, SIM_NEVER);
    ((struct mutex_state *)mutex)->holder = self_number();
    return woken ? 0 : ETIMEDOUT;
}

SIM_WRAP(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return wait_condition(condition, mutex, SIM_NEVER);
}

SIM_WRAP(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    int64_t deadline = until->tv_sec > INT64_MAX / NS_PER_S ? SIM_NEVER : until->tv_sec * NS_PER_S + until->tv_nsec;
    if (((struct condition_state *)condition)->clock == CLOCK_REALTIME && deadline != SIM_NEVER)
        deadline -= WALL_START_NS;
    if (deadline <= sim_now()) {
        (void)wait_condition(condition, mutex, sim_now());
        return ETIMEDOUT;
    }
    return wait_condition(condition, mutex, deadline);
}

SIM_WRAP(int, pthread_cond_signal, pthread_cond_t *condition)
{
    sim_wake_one(condition);
    return 0;
}

SIM_WRAP(int, pthread_cond_broadcast, pthread_cond_t *condition)
{
    sim_wake(condition);
    return 0;
}

/* ---- read-write locks ---- */

SIM_WRAP(int, pthread_rwlockattr_init, pthread_rwlockattr_t *attr)
{
    memset(attr, 0, sizeof *attr);
    return 0;
}

SIM_WRAP(int, pthread_rwlockattr_destroy, pthread_rwlockattr_t *attr)
{
    (void)attr;
    return 0;
}

SIM_WRAP(int, pthread_rwlockattr_setkind_np, pthread_rwlockattr_t *attr, int kind)
{
    (void)attr;
    (void)kind;
    return 0;
}

SIM_WRAP(int, pthread_rwlock_init, pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr)
{
    (void)attr;
    memset(lock, 0, sizeof *lock);
    return 0;
}

SIM_WRAP(int, pthread_rwlock_destroy, pthread_rwlock_t *lock)
{
    const struct rwlock_state *state = (struct rwlock_state *)lock;
    CHECK(state->readers == 0 && state->writer == 0);
    return 0;
}

SIM_WRAP(int, pthread_rwlock_rdlock, pthread_rwlock_t *lock)
{
    struct rwlock_state *state = (struct rwlock_state *)lock;
    perhaps_yield();
    while (state->writer)
        (void)sim_wait(lock, SIM_NEVER);
    state->readers++;
    return 0;
}

SIM_WRAP(int, pthread_rwlock_wrlock, pthread_rwlock_t *lock)
{
    struct rwlock_state *state = (struct rwlock_state *)lock;
    perhaps_yield();
    while (state->writer || state->readers)
        (void)sim_wait(lock, SIM_NEVER);
    state->writer = self_number();
    return 0;
}

SIM_WRAP(int, pthread_rwlock_tryrdlock, pthread_rwlock_t *lock)
{
    struct rwlock_state *state = (struct rwlock_state *)lock;
    if (state->writer)
        return EBUSY;
    state->readers++;
    return 0;
}

SIM_WRAP(int, pthread_rwlock_trywrlock, pthread_rwlock_t *lock)
{
    struct rwlock_state *state = (struct rwlock_state *)lock;
    if (state->writer || state->readers)
        return EBUSY;
    state->writer = self_number();
    return 0;
}

SIM_WRAP(int, pthread_rwlock_unlock, pthread_rwlock_t *lock)
{
    struct rwlock_state *state = (struct rwlock_state *)lock;
    CHECK(state->writer || state->readers);
    if (state->writer)
        state->writer = 0;
    else
        state->readers--;
    sim_wake(lock);
    perhaps_yield();
    return 0;
}

/* ---- clocks and randomness ---- */

/* Who looks at the clock again and again sees it move. */
SIM_WRAP(int, clock_gettime, clockid_t clock, struct timespec *now)
{
    sim_pass(100);
    int64_t ns = sim_now() + (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? WALL_START_NS : 0);
    *now = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    return 0;
}

SIM_WRAP(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    (void)clock;
    (void)left;
    CHECK(flags == 0);
    sim_sleep(time->tv_sec * NS_PER_S + time->tv_nsec);
    return 0;
}

SIM_WRAP(ssize_t, getrandom, void *into, size_t bytes, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)into)[i] = (uint8_t)sim_random();
    return (ssize_t)bytes;
}

SIM_WRAP(int, gethostname, char *name, size_t room)
{
    (void)snprintf(name, room, "node%u", sim_node());
    return 0;
}

SIM_WRAP(pid_t, getpid, void)
{
    return 1000 + (pid_t)sim_node();
}
