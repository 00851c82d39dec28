/* SPDX-License-Identifier: Apache-2.0
 *
 * What administrators ask over the control plane.
 */
#ifndef CALF_ADMIN_REQUESTS_H
#define CALF_ADMIN_REQUESTS_H

#include "master/master.h"

void admin_requests_status(struct master *master, struct wire_admin_status_reply *reply);

/* The list's records are written to room. */
void admin_requests_servers(struct master *master, struct wire_out *room, struct wire_admin_servers_reply *reply);

/* Records that a server is to be emptied, or not any more. WIRE_NO_ENTRY: no such server. The answer must wait for the
 * record's commit. */
uint16_t admin_requests_drain(struct master *master, const struct wire_admin_drain *asked,
                              struct wire_admin_drain_reply *reply) __attribute__((warn_unused_result));

#endif
