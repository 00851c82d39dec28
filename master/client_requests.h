/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients ask, from decoded request to encoded reply. The table of handlers comes from the schema: a message of
 * class change needs its function in core_apply.h, one of another class a client_request_X here; without it nothing
 * builds.
 *
 * A request that cannot be answered yet is parked by its connection and handled again, from the beginning, when
 * something has happened; so a handler may be called many times and does no step twice.
 */
#ifndef CALF_CLIENT_REQUESTS_H
#define CALF_CLIENT_REQUESTS_H

#include "master/master.h"

enum { CLIENT_REQUEST_PARKED = 0xffff }; /* not a wire status: handle it again later */

struct client_request {
    struct master *master;
    struct session *session; /* NULL: an administrator's connection */
    uint32_t slot;
    int64_t waited_ns; /* since it came; 0 at first */
    struct wire_header header;
    const void *body;
    union wire_any value;
    uint8_t *scratch; /* WIRE_BODY_LIMIT bytes for lists of the reply */
};

/* Decodes and handles. The reply's body goes to `reply`, which has room for WIRE_BODY_LIMIT. Returns its status,
 * CLIENT_REQUEST_PARKED, or WIRE_BAD_MESSAGE for what no honest client sends: close the connection. */
uint16_t client_requests_handle(struct client_request *request, struct wire_out *reply)
    __attribute__((warn_unused_result));

#define CLIENT_REQUEST_DECLARE_change(name)
#define CLIENT_REQUEST_DECLARE_derived(name) CLIENT_REQUEST_DECLARE_query(name)
#define CLIENT_REQUEST_DECLARE_query(name)                                                                           \
    uint16_t client_request_##name(struct client_request *request, const struct wire_##name *asked,                  \
                                   struct wire_##name##_reply *reply) __attribute__((warn_unused_result));
#define CLIENT_REQUEST_DECLARE(name, number, class, payload, reply_payload, meaning)                                 \
    CLIENT_REQUEST_DECLARE_##class(name)
WIRE_MASTER_MESSAGES(CLIENT_REQUEST_DECLARE)

/* After a change of length: true while what was cut off can still be read from some copy. */
bool client_request_must_wait_for_cut(struct client_request *request, inode_id ino);

#endif
