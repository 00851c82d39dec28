/* SPDX-License-Identifier: Apache-2.0 */
#include "client/lock_waits.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "client/fs_state.h"
#include "client/retry.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"

enum { EVENTS_WAIT_MS = 1000 };

struct lock_waits {
    struct fs *fs;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* of anything below */
    struct fs_lock_wait *first, **last;
    uint64_t looks; /* rises when asking again may help */
    bool started, end;
    pthread_t asking, listening;
};

/* ---- asking ---- */

/* Takes a wait out of the list. */
static void unlink_locked(struct lock_waits *waits, struct fs_lock_wait *wait)
{
    struct fs_lock_wait **link = &waits->first;
    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    if (waits->last == &wait->next)
        waits->last = link;
}

/* True if one of those that wait is dying: the request under way is not worth waiting for. */
static bool any_given_up(void *argument)
{
    struct lock_waits *waits = argument;
    SCOPE_UNLOCK(&waits->lock);
    if (waits->end)
        return true;
    for (struct fs_lock_wait *wait = waits->first; wait; wait = wait->next)
        if (wait->interrupted && wait->is_given_up(wait))
            return true;
    return false;
}

/* Ends those that were interrupted while nobody asks for them, and those that have their lock or an error. `wait` stays in the list
 * while it is asked for, so only this thread may take it out. */
static struct fs_lock_wait *ask_for(struct lock_waits *waits, struct fs_lock_wait *wait, bool ask)
{
    bool known = true, interrupted = wait->interrupted || waits->end;
    int rc = -EAGAIN;
    if (ask && !waits->end) {
        (void)pthread_mutex_unlock(&waits->lock);
        rc = fs_lock_set(waits->fs, wait->handle, &wait->lock, &known);
        (void)pthread_mutex_lock(&waits->lock);
    }
    struct fs_lock_wait *next = wait->next;
    if (rc == -EINTR && !wait->is_given_up(wait) && !waits->end)
        rc = -EAGAIN; /* another one is dying */
    if (rc == -EAGAIN && !interrupted)
        return next;
    unlink_locked(waits, wait);
    (void)pthread_mutex_unlock(&waits->lock);
    wait->done(wait, rc == -EAGAIN ? -EINTR : rc, known);
    (void)pthread_mutex_lock(&waits->lock);
    (void)pthread_cond_broadcast(&waits->changed);
    return next;
}

static bool has_interrupted_locked(const struct lock_waits *waits)
{
    for (const struct fs_lock_wait *wait = waits->first; wait; wait = wait->next)
        if (wait->interrupted)
            return true;
    return false;
}

static void *ask_again(void *argument)
{
    struct lock_waits *waits = argument;
    uint64_t seen = 0;
    retry_set_interrupted(any_given_up, waits);
    SCOPE_UNLOCK(&waits->lock);
    while (!waits->end || waits->first) {
        if (seen == waits->looks && !waits->end && !has_interrupted_locked(waits)) {
            (void)pthread_cond_wait(&waits->changed, &waits->lock);
            continue;
        }
        bool ask = seen != waits->looks;
        seen = waits->looks;
        for (struct fs_lock_wait *wait = waits->first; wait;)
            wait = ask_for(waits, wait, ask);
    }
    return NULL;
}

/* ---- listening ---- */

static bool is_idle(struct lock_waits *waits)
{
    SCOPE_UNLOCK(&waits->lock);
    while (!waits->first && !waits->end)
        (void)pthread_cond_wait(&waits->changed, &waits->lock);
    return waits->end;
}

static bool at_end(void *argument)
{
    struct lock_waits *waits = argument;
    SCOPE_UNLOCK(&waits->lock);
    return waits->end;
}

/* A second without news, or none that could be had. */
static void pause_a_little(struct lock_waits *waits)
{
    struct retry retry;
    retry_start(&retry, NS_PER_S);
    while (!at_end(waits) && retry_wait(&retry) == 0)
        ;
}

static void *listen_for_events(void *argument)
{
    struct lock_waits *waits = argument;
    uint64_t seen = 0;
    uint32_t generation = 0;
    retry_set_interrupted(at_end, waits);
    while (!is_idle(waits)) {
        struct master_call call;
        union wire_any request = {.lock_events = {.seen = seen, .wait_ms = EVENTS_WAIT_MS}};
        int rc = master_session_call(waits->fs->session, MASTER_ANY_GENERATION, WIRE_TYPE_lock_events, &request, &call);
        if (rc < 0) {
            pause_a_little(waits);
            continue;
        }
        uint64_t count = call.reply.lock_events_reply.count;
        bool new = count != seen || call.generation != generation;
        seen = count;
        generation = call.generation;
        master_session_finish(waits->fs->session, &call);
        if (new)
            lock_waits_look(waits);
    }
    return NULL;
}

/* ---- for everybody ---- */

struct lock_waits *lock_waits_create(struct fs *fs)
{
    struct lock_waits *waits = check_alloc(calloc(1, sizeof *waits));
    waits->fs = fs;
    waits->last = &waits->first;
    (void)pthread_mutex_init(&waits->lock, NULL);
    (void)pthread_cond_init(&waits->changed, NULL);
    return waits;
}

static void start_locked(struct lock_waits *waits)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&waits->asking, NULL, ask_again, waits) == 0);
    CHECK(pthread_create(&waits->listening, NULL, listen_for_events, waits) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    waits->started = true;
}

void lock_waits_add(struct lock_waits *waits, struct fs_lock_wait *wait)
{
    SCOPE_UNLOCK(&waits->lock);
    if (!waits->started && !waits->end)
        start_locked(waits);
    wait->next = NULL;
    wait->interrupted = wait->interrupted || !waits->started;
    *waits->last = wait;
    waits->last = &wait->next;
    waits->looks++; /* it may have been freed since it was refused and, the other way round, nobody listened yet */
    (void)pthread_cond_broadcast(&waits->changed);
}

void lock_waits_interrupt(struct lock_waits *waits, struct fs_lock_wait *wait)
{
    SCOPE_UNLOCK(&waits->lock);
    wait->interrupted = true;
    (void)pthread_cond_broadcast(&waits->changed);
}

void lock_waits_look(struct lock_waits *waits)
{
    SCOPE_UNLOCK(&waits->lock);
    if (!waits->first)
        return;
    waits->looks++;
    (void)pthread_cond_broadcast(&waits->changed);
}

void lock_waits_end(struct lock_waits *waits)
{
    SCOPE_UNLOCK(&waits->lock);
    waits->end = true;
    (void)pthread_cond_broadcast(&waits->changed);
    while (waits->first && waits->started)
        (void)pthread_cond_wait(&waits->changed, &waits->lock);
}

void lock_waits_destroy(struct lock_waits *waits)
{
    if (!waits)
        return;
    lock_waits_end(waits);
    if (waits->started) {
        (void)pthread_join(waits->asking, NULL);
        (void)pthread_join(waits->listening, NULL);
    }
    (void)pthread_cond_destroy(&waits->changed);
    (void)pthread_mutex_destroy(&waits->lock);
    free(waits);
}
