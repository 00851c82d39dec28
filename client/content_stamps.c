/* SPDX-License-Identifier: Apache-2.0 */
#include "client/content_stamps.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/scope.h"

enum { SLOTS = 1 << 16, LOCKS = 64 };

struct stamp {
    uint64_t ino; /* 0: empty */
    uint64_t change;
};

struct content_stamps {
    pthread_mutex_t locks[LOCKS];
    struct stamp slots[SLOTS];
};

struct content_stamps *content_stamps_create(void)
{
    struct content_stamps *stamps = check_alloc(calloc(1, sizeof *stamps));
    for (unsigned i = 0; i < LOCKS; i++)
        (void)pthread_mutex_init(&stamps->locks[i], NULL);
    return stamps;
}

void content_stamps_destroy(struct content_stamps *stamps)
{
    if (!stamps)
        return;
    for (unsigned i = 0; i < LOCKS; i++)
        (void)pthread_mutex_destroy(&stamps->locks[i]);
    free(stamps);
}

bool content_stamps_open(struct content_stamps *stamps, uint64_t ino, uint64_t change)
{
    SCOPE_UNLOCK(&stamps->locks[ino % LOCKS]);
    struct stamp *slot = &stamps->slots[ino % SLOTS];
    bool current = slot->ino == ino && slot->change == change;
    *slot = (struct stamp){ino, change};
    return current;
}

void content_stamps_own_change(struct content_stamps *stamps, uint64_t ino, uint64_t change)
{
    SCOPE_UNLOCK(&stamps->locks[ino % LOCKS]);
    struct stamp *slot = &stamps->slots[ino % SLOTS];
    if (slot->ino == ino && slot->change + 1 == change)
        slot->change = change;
}

void content_stamps_forget(struct content_stamps *stamps, uint64_t ino)
{
    SCOPE_UNLOCK(&stamps->locks[ino % LOCKS]);
    struct stamp *slot = &stamps->slots[ino % SLOTS];
    if (slot->ino == ino)
        slot->ino = 0;
}
