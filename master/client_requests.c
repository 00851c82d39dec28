/* SPDX-License-Identifier: Apache-2.0 */
#include "master/client_requests.h"

#include <string.h>

#include "common/check.h"

/* ---- changes ---- */

/* A change of length is done at once but answered only when no copy shows the old bytes any more. */
static bool is_cut(const struct client_request *request)
{
    switch (request->header.type) {
    case WIRE_TYPE_setattr:
        return request->value.setattr.valid & WIRE_SET_SIZE;
    case WIRE_TYPE_open:
        return request->value.open.flags & WIRE_OPEN_TRUNCATE;
    case WIRE_TYPE_create:
        return request->value.create.flags & WIRE_OPEN_TRUNCATE;
    }
    return false;
}

/* The replies to all of these are the file's attributes, which begin with its inode number. */
static bool must_wait_for_cut(struct client_request *request, const uint8_t *reply)
{
    return is_cut(request) && client_request_must_wait_for_cut(request, wire_load_u64(reply));
}

/* Only now it is known how many blocks the cut has left. */
static void put_cut_reply(const struct client_request *request, const struct slot *slot, struct wire_out *reply)
{
    struct wire_setattr_reply answer;
    CHECK(wire_get_setattr_reply(slot->reply, slot->reply_bytes, &answer) == 0);
    const struct inode *inode = namespace_find(&request->master->core.names, answer.attr.ino);
    if (inode)
        answer.attr.used_bytes = inode->file.blocks * WIRE_BLOCK_BYTES;
    wire_put_setattr_reply(reply, &answer);
}

static uint16_t answer_again(struct client_request *request, const struct slot *slot, struct wire_out *reply)
{
    if (slot->type != request->header.type)
        return WIRE_BAD_MESSAGE;
    if (must_wait_for_cut(request, slot->reply))
        return CLIENT_REQUEST_PARKED;
    if (is_cut(request)) {
        put_cut_reply(request, slot, reply);
        return WIRE_OK;
    }
    CHECK(slot->reply_bytes <= reply->room - reply->used);
    if (slot->reply_bytes)
        memcpy(reply->data + reply->used, slot->reply, slot->reply_bytes);
    reply->used += slot->reply_bytes;
    return WIRE_OK;
}

/* True if another session's append lock stands in the way. */
static bool must_wait_for_append(const struct client_request *request)
{
    if (request->header.type != WIRE_TYPE_append_begin)
        return false;
    session_id holder = sessions_append_holder(&request->master->core.sessions, request->value.append_begin.ino);
    return holder && holder != request->session->node.id;
}

static uint16_t handle_change(struct client_request *request, struct wire_out *reply)
{
    if (!request->session && request->header.type != WIRE_TYPE_set_goal)
        return WIRE_NO_SESSION;
    if (request->session) {
        const struct slot *slot = session_slot(request->session, request->slot);
        int32_t newer = (int32_t)(request->header.sequence - slot->sequence);
        if (slot->type && newer == 0)
            return answer_again(request, slot, reply);
        if (slot->type && newer < 0)
            return WIRE_BAD_MESSAGE;
        if (must_wait_for_append(request))
            return CLIENT_REQUEST_PARKED;
    }
    struct core_change change = {
        .type = request->header.type,
        .session = request->session ? request->session->node.id : 0,
        .slot = request->slot,
        .sequence = request->header.sequence,
        .time_ns = request->master->now.wall_ns,
        .value = &request->value,
        .body = request->body,
        .body_bytes = request->header.body_bytes,
    };
    size_t before = reply->used;
    uint16_t status = core_apply(&request->master->core, &change, reply);
    if (status == WIRE_OK && must_wait_for_cut(request, reply->data + before)) {
        reply->used = before;
        return CLIENT_REQUEST_PARKED;
    }
    return status;
}

/* ---- the table ---- */

#define HANDLE_change(name)                                                                                          \
    case WIRE_TYPE_##name:                                                                                           \
        return handle_change(request, reply);
#define HANDLE_derived(name)                                                                                         \
    case WIRE_TYPE_##name:                                                                                           \
        if (!request->session)                                                                                       \
            return WIRE_NO_SESSION;                                                                                  \
        return answer_##name(request, reply);
#define HANDLE_query(name)                                                                                           \
    case WIRE_TYPE_##name:                                                                                           \
        return answer_##name(request, reply);
#define HANDLE_ROW(name, number, class, payload, reply_payload, meaning) HANDLE_##class(name)

#define ANSWER_change(name)
#define ANSWER_derived(name) ANSWER_query(name)
#define ANSWER_query(name)                                                                                           \
    static uint16_t answer_##name(struct client_request *request, struct wire_out *reply)                            \
    {                                                                                                                \
        struct wire_##name##_reply answer;                                                                           \
        memset(&answer, 0, sizeof answer);                                                                           \
        uint16_t status = client_request_##name(request, &request->value.name, &answer);                             \
        if (status == WIRE_OK)                                                                                       \
            wire_put_##name##_reply(reply, &answer);                                                                 \
        return status;                                                                                               \
    }
#define ANSWER_ROW(name, number, class, payload, reply_payload, meaning) ANSWER_##class(name)
WIRE_MASTER_MESSAGES(ANSWER_ROW)

uint16_t client_requests_handle(struct client_request *request, struct wire_out *reply)
{
    if (request->header.type & WIRE_REPLY ||
        wire_get_any(request->header.type, request->body, request->header.body_bytes, &request->value) < 0)
        return WIRE_BAD_MESSAGE;
    switch (request->header.type) {
        WIRE_MASTER_MESSAGES(HANDLE_ROW)
    }
    return WIRE_BAD_MESSAGE;
}
