/* SPDX-License-Identifier: Apache-2.0 */
#include "client/xattr_absence.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client/believable.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"
#include "common/wire.h"

enum { SLOTS = 1 << 15, LOCKS = 64 };

struct absent {
    uint64_t ino; /* 0: empty */
    int64_t until_ns;
};

struct xattr_absence {
    /* Rises when one is set: what was asked before may be answered by now and noted after. */
    _Atomic uint64_t changes;
    pthread_mutex_t locks[LOCKS]; /* of the slots with that rest */
    struct absent slots[SLOTS];
};

struct xattr_absence *xattr_absence_create(void)
{
    struct xattr_absence *absence = check_alloc(calloc(1, sizeof *absence));
    for (unsigned i = 0; i < LOCKS; i++)
        (void)pthread_mutex_init(&absence->locks[i], NULL);
    return absence;
}

void xattr_absence_destroy(struct xattr_absence *absence)
{
    if (!absence)
        return;
    for (unsigned i = 0; i < LOCKS; i++)
        (void)pthread_mutex_destroy(&absence->locks[i]);
    free(absence);
}

uint64_t xattr_absence_before(struct xattr_absence *absence)
{
    return atomic_load(&absence->changes);
}

void xattr_absence_note(struct xattr_absence *absence, uint64_t before, const struct wire_attr *attr)
{
    int64_t left_ns = attr->xattrs ? 0 : believable_left_ns();
    if (left_ns == 0)
        return;
    SCOPE_UNLOCK(&absence->locks[attr->ino % LOCKS]);
    if (atomic_load(&absence->changes) == before)
        absence->slots[attr->ino % SLOTS] = (struct absent){attr->ino, clock_mono_ns() + left_ns};
}

bool xattr_absence_is_known(struct xattr_absence *absence, uint64_t ino)
{
    SCOPE_UNLOCK(&absence->locks[ino % LOCKS]);
    const struct absent *slot = &absence->slots[ino % SLOTS];
    return slot->ino == ino && clock_mono_ns() < slot->until_ns;
}

void xattr_absence_end(struct xattr_absence *absence, uint64_t ino)
{
    (void)atomic_fetch_add(&absence->changes, 1);
    SCOPE_UNLOCK(&absence->locks[ino % LOCKS]);
    struct absent *slot = &absence->slots[ino % SLOTS];
    if (slot->ino == ino)
        slot->ino = 0;
}
