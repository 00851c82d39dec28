/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions begin and end.
 */
#include <stdlib.h>

#include "master/core_apply.h"

uint16_t core_apply_j_session(struct core *core, const struct core_change *change, const struct wire_j_session *record)
{
    (void)change;
    if (record->session == 0 || sessions_find(&core->sessions, record->session))
        return WIRE_INVALID;
    (void)sessions_add(&core->sessions, record->session, record->exclusive != 0, record->node);
    return WIRE_OK;
}

/* In ascending order of inode, so that replay frees in the same order. */
static void end_opens(struct core *core, struct session *session)
{
    struct id_node **opens = id_table_sorted(&session->opens);
    size_t count = session->opens.count;
    for (size_t i = 0; i < count; i++) {
        struct inode *inode = namespace_find(&core->names, opens[i]->id);
        session_release(session, inode, UINT32_MAX);
        core_let_go(core, inode);
    }
    free(opens);
}

uint16_t core_apply_j_session_end(struct core *core, const struct core_change *change,
                                  const struct wire_j_session_end *record)
{
    struct session *session = sessions_find(&core->sessions, record->session);
    (void)change;
    if (!session)
        return WIRE_NO_SESSION;
    while (session->leases) {
        core_mark_unequal(session->leases->chunk);
        core_end_lease(core, session->leases, false);
    }
    end_opens(core, session);
    sessions_append_give_all(&core->sessions, record->session);
    core_end_locks(core, record->session);
    sessions_remove(&core->sessions, session);
    core->wake = true;
    return WIRE_OK;
}
