/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of programs: taken, given back, gone with their session or their file. Whoever waits is told that something was
 * freed by a count that rises, and asks again.
 */
#include <stdlib.h>

#include "master/core_apply.h"

static void tell_waiters(struct core *core, inode_id ino)
{
    struct lock_waiter *list = file_locks_take_waiters(&core->locks, ino);
    while (list) {
        struct lock_waiter *next = list->next;
        struct session *session = sessions_find(&core->sessions, list->session);
        if (session)
            session->lock_events++;
        core->wake = true;
        free(list);
        list = next;
    }
}

uint16_t core_apply_lock_set(struct core *core, const struct core_change *change, const struct wire_lock_set *request,
                             struct wire_lock_set_reply *reply)
{
    const struct inode *inode = namespace_find(&core->names, request->ino);
    bool freed;
    if (!sessions_find(&core->sessions, change->session))
        return WIRE_NO_SESSION;
    if (!inode)
        return WIRE_STALE;
    if (request->type > WIRE_LOCK_WRITE || request->start > request->end || request->flock > 1)
        return WIRE_INVALID;
    struct file_lock lock = {.session = change->session,
                             .owner = request->owner,
                             .start = request->start,
                             .end = request->end,
                             .pid = request->pid,
                             .type = request->type,
                             .flock = request->flock != 0};
    uint16_t status = file_locks_set(&core->locks, request->ino, &lock, &freed);
    if (status == WIRE_LOCKED && request->wait)
        file_locks_add_waiter(&core->locks, request->ino, change->session);
    if (status != WIRE_OK)
        return status;
    if (freed)
        tell_waiters(core, request->ino);
    inode_attr(inode, &reply->attr);
    return WIRE_OK;
}

void core_end_locks(struct core *core, session_id session)
{
    struct id_node **files = id_table_sorted(&core->locks.files);
    size_t count = core->locks.files.count;
    for (size_t i = 0; i < count; i++) {
        inode_id ino = files[i]->id; /* the node may go with the last lock */
        if (file_locks_drop(&core->locks, ino, session))
            tell_waiters(core, ino);
    }
    free(files);
}

void core_forget_locks(struct core *core, inode_id ino)
{
    (void)file_locks_drop(&core->locks, ino, 0);
    tell_waiters(core, ino);
}
