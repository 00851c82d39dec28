/* SPDX-License-Identifier: Apache-2.0
 *
 * The control plane's side of the master: registrations and polls of chunkservers, and what administrators ask. A
 * poll is held until there is a command for its server, for a second at most.
 */
#ifndef CALF_SERVER_CONTROL_H
#define CALF_SERVER_CONTROL_H

#include "common/control.h"
#include "master/master_loop.h"

struct server_control;

/* Takes over the control server. */
int server_control_create(struct master *master, struct master_loop *loop, struct control_server *server,
                          struct server_control **control) __attribute__((warn_unused_result));
void server_control_destroy(struct server_control *control);

/* Lets answers go: to be called after the journal has what they promise. */
void server_control_flush(struct server_control *control);

/* Finds servers that do not poll any more. About once a second. */
void server_control_tick(struct server_control *control);

/* Monotonic time at which a held poll must be answered; INT64_MAX: none is held. */
int64_t server_control_deadline(const struct server_control *control);

#endif
