/* SPDX-License-Identifier: Apache-2.0 */
#include "client/late_releases.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "client/fs_state.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"

enum { BATCH = 32, ENCODED_BYTES = 12 };

#define DELAY_NS (20 * NS_PER_MS)

struct late_releases {
    struct fs *fs;
    pthread_t thread;
    pthread_mutex_t telling; /* held over one message, so that who finds nothing knows it told; taken first */
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t some;
    bool stopped;
    uint32_t generation; /* of all of them */
    _Atomic uint32_t count; /* read without the lock, too */
    struct wire_ended_open opens[BATCH];
};

void late_releases_tell(struct late_releases *late)
{
    uint8_t encoded[BATCH * ENCODED_BYTES];
    struct wire_out room = wire_out_on(encoded, sizeof encoded);
    union wire_any request = {.releases = {.opens = {0}}};
    uint32_t generation;
    if (late->count == 0)
        return;
    SCOPE_UNLOCK(&late->telling);
    {
        SCOPE_UNLOCK(&late->lock);
        generation = late->generation;
        for (uint32_t i = 0; i < late->count; i++)
            CHECK(wire_append_ended_open(&room, &request.releases.opens, &late->opens[i]));
    }
    if (request.releases.opens.count == 0)
        return;
    struct master_call call;
    if (master_session_call(late->fs->session, generation, WIRE_TYPE_releases, &request, &call) == 0)
        master_session_finish(late->fs->session, &call);
    /* Only now, so that nobody takes for told what is under way. What came meanwhile moves up. */
    SCOPE_UNLOCK(&late->lock);
    uint32_t told = request.releases.opens.count, left = late->count - told;
    for (uint32_t i = 0; i < left; i++)
        late->opens[i] = late->opens[told + i];
    late->count = left;
}

/* False: there is no room, or what is there belongs to another session. */
static bool add(struct late_releases *late, uint64_t ino, uint32_t count, uint32_t generation, bool *full)
{
    SCOPE_UNLOCK(&late->lock);
    if (late->count == BATCH || (late->count && late->generation != generation))
        return false;
    late->generation = generation;
    late->opens[late->count++] = (struct wire_ended_open){.ino = ino, .count = count};
    *full = late->count == BATCH;
    if (late->count == 1)
        (void)pthread_cond_signal(&late->some);
    return true;
}

void late_releases_add(struct late_releases *late, uint64_t ino, uint32_t count, uint32_t generation)
{
    bool full = false;
    while (!add(late, ino, count, generation, &full))
        late_releases_tell(late);
    if (full)
        late_releases_tell(late);
}

static void *tell_sometimes(void *argument)
{
    struct late_releases *late = argument;
    for (;;) {
        {
            SCOPE_UNLOCK(&late->lock);
            while (late->count == 0 && !late->stopped)
                (void)pthread_cond_wait(&late->some, &late->lock);
            if (late->stopped)
                return NULL;
        }
        clock_sleep_ns(DELAY_NS);
        late_releases_tell(late);
    }
}

struct late_releases *late_releases_create(struct fs *fs)
{
    struct late_releases *late = check_alloc(calloc(1, sizeof *late));
    sigset_t all, before;
    late->fs = fs;
    (void)pthread_mutex_init(&late->telling, NULL);
    (void)pthread_mutex_init(&late->lock, NULL);
    (void)pthread_cond_init(&late->some, NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&late->thread, NULL, tell_sometimes, late) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return late;
}

void late_releases_destroy(struct late_releases *late)
{
    {
        SCOPE_UNLOCK(&late->lock);
        late->stopped = true;
        (void)pthread_cond_signal(&late->some);
    }
    (void)pthread_join(late->thread, NULL);
    late_releases_tell(late);
    (void)pthread_cond_destroy(&late->some);
    (void)pthread_mutex_destroy(&late->lock);
    (void)pthread_mutex_destroy(&late->telling);
    free(late);
}
