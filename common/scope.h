/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleanup at the end of the scope, for the local variables that own something.
 *
 *     SCOPE_FREE char *text = NULL;     free(text) on every way out
 *     SCOPE_CLOSE int fd = -1;          close(fd) if fd >= 0
 *     SCOPE_FCLOSE FILE *f = NULL;      fclose(f) if f
 *     SCOPE_UNLOCK(&mutex);             locks now, unlocks on every way out
 */
#ifndef CALF_SCOPE_H
#define CALF_SCOPE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scope_free_at(void *p)
{
    free(*(void **)p);
}

static inline void scope_close_at(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void scope_fclose_at(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

static inline void scope_unlock_at(pthread_mutex_t **m)
{
    (void)pthread_mutex_unlock(*m);
}

static inline pthread_mutex_t *scope_lock(pthread_mutex_t *m)
{
    (void)pthread_mutex_lock(m);
    return m;
}

#define SCOPE_FREE __attribute__((cleanup(scope_free_at)))
#define SCOPE_CLOSE __attribute__((cleanup(scope_close_at)))
#define SCOPE_FCLOSE __attribute__((cleanup(scope_fclose_at)))
#define SCOPE_PASTE2(a, b) a##b
#define SCOPE_PASTE(a, b) SCOPE_PASTE2(a, b)
#define SCOPE_UNLOCK(mutex)                                                                         \
    __attribute__((cleanup(scope_unlock_at), unused)) pthread_mutex_t *SCOPE_PASTE(scope_lock_,     \
                                                                                   __LINE__) =      \
        scope_lock(mutex)

#endif
