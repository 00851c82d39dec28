/* SPDX-License-Identifier: Apache-2.0 */
#include "master/client_hello.h"

#include <stdlib.h>
#include <sys/random.h>

#include "common/check.h"
#include "common/log.h"

static uint64_t random_id(void)
{
    uint64_t id = 0;
    while (id == 0)
        CHECK(getrandom(&id, sizeof id, 0) == sizeof id);
    return id;
}

/* From the first to the second session: what the first one was told last may be believed for WIRE_ALONE_MS after it asked, and is
 * handed to its kernel a little later. */
#define SHARING_DELAY_NS (2 * WIRE_ALONE_MS * NS_PER_MS)
/* A newcomer that does not come back has changed its mind. */
#define SHARING_FORGOTTEN_NS (10 * NS_PER_S)

bool client_hello_is_alone(const struct master *master)
{
    return master->core.sessions.table.count == 1 && master->sharing_since_ns == 0;
}

/* Whether one more session may begin now. */
static bool may_share(struct master *master)
{
    if (master->core.sessions.table.count != 1)
        return true;
    if (master->sharing_since_ns == 0)
        master->sharing_since_ns = master->now.mono_ns;
    master->sharing_asked_ns = master->now.mono_ns;
    return master->now.mono_ns - master->sharing_since_ns >= SHARING_DELAY_NS;
}

void client_hello_forget_newcomer(struct master *master)
{
    if (master->core.sessions.table.count <= 1 && master->now.mono_ns - master->sharing_asked_ns > SHARING_FORGOTTEN_NS)
        master->sharing_since_ns = 0;
}

static uint16_t open_session(struct master *master, const struct wire_hello *hello, session_id *session)
{
    const struct sessions *sessions = &master->core.sessions;
    union wire_any record = {
        .j_session = {.session = random_id(), .exclusive = hello->exclusive != 0, .node = hello->node}};
    if (sessions->exclusive_count || (hello->exclusive && sessions->table.count))
        return WIRE_EXCLUSIVE;
    if (sessions->table.count >= SESSIONS_LIMIT)
        return WIRE_BUSY;
    if (!may_share(master))
        return WIRE_AGAIN;
    uint16_t status = core_decide(&master->core, WIRE_TYPE_j_session, &record, master->now.wall_ns);
    *session = record.j_session.session;
    if (status == WIRE_OK)
        log_info("session %016llx of %.*s begins%s", (unsigned long long)*session, (int)hello->node.length,
                 (const char *)hello->node.data, hello->exclusive ? ", exclusive" : "");
    return status;
}

static uint16_t check_hello(struct master *master, const struct wire_hello *hello, session_id *session)
{
    if (hello->protocol != WIRE_PROTOCOL)
        return WIRE_WRONG_PROTOCOL;
    if (hello->cluster && hello->cluster != master->core.cluster)
        return WIRE_WRONG_CLUSTER;
    *session = 0;
    if (hello->role == WIRE_ROLE_ADMIN)
        return WIRE_OK;
    if (hello->role != WIRE_ROLE_CLIENT || hello->slot >= SESSION_SLOTS_LIMIT)
        return WIRE_BAD_MESSAGE;
    if (hello->session == 0)
        return open_session(master, hello, session);
    *session = hello->session;
    return sessions_find(&master->core.sessions, hello->session) ? WIRE_OK : WIRE_NO_SESSION;
}

uint16_t client_hello_answer(struct master *master, const struct wire_hello *hello, struct wire_hello_reply *reply,
                             session_id *session)
{
    uint16_t status = check_hello(master, hello, session);
    if (status == WIRE_AGAIN)
        return status;
    if (status != WIRE_OK) {
        log_warning("%.*s is refused: %s", (int)hello->node.length, (const char *)hello->node.data,
                    wire_status_text(status));
        return status;
    }
    struct session *found = sessions_find(&master->core.sessions, *session);
    if (found)
        found->last_heard_ns = master->now.mono_ns;
    *reply = (struct wire_hello_reply){
        .cluster = master->core.cluster,
        .session = *session,
        .chunk_bytes = master->core.chunk_bytes,
        .block_bytes = WIRE_BLOCK_BYTES,
        .session_timeout_ms = master->session_timeout_ms,
        .journal = wire_text(master_sync_name(master)),
    };
    return WIRE_OK;
}

void client_hello_end_silent(struct master *master)
{
    struct id_walk walk;
    const struct id_table *table = &master->core.sessions.table;
    for (struct id_node *node = id_table_first(table, &walk); node; node = id_table_next(table, &walk)) {
        const struct session *session = (struct session *)node;
        union wire_any record = {.j_session_end = {.session = node->id}};
        if (master->now.mono_ns - session->last_heard_ns <= master->session_timeout_ms * NS_PER_MS)
            continue;
        log_warning("session %016llx of %s was silent for too long and ends", (unsigned long long)node->id,
                    session->name);
        CHECK(core_decide(&master->core, WIRE_TYPE_j_session_end, &record, master->now.wall_ns) == WIRE_OK);
    }
}
