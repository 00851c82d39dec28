/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections of clients: non-blocking streams, one request at a time each. A malformed or misplaced frame closes
 * its connection and is counted. Replies are queued and leave after the journal has what they promise; who does not
 * take his replies gets no more requests done.
 */
#ifndef CALF_CLIENT_CONNECTIONS_H
#define CALF_CLIENT_CONNECTIONS_H

#include "master/master_loop.h"

struct client_connections;

/* Listens on listen_fd, which it takes over. *connections is the caller's. */
int client_connections_create(struct master *master, struct master_loop *loop, int listen_fd,
                              struct client_connections **connections) __attribute__((warn_unused_result));
void client_connections_destroy(struct client_connections *connections);

/* Handles parked requests again, in the order they came; those parked for too long get WIRE_TIMED_OUT. */
void client_connections_retry(struct client_connections *connections);

/* Goes on with requests that were left for this round; true if there are more of them. */
bool client_connections_go_on(struct client_connections *connections);

/* Sends what is queued. */
void client_connections_flush(struct client_connections *connections);

/* Closes those that never said hello, and ends sessions that are silent. About once a second. */
void client_connections_tick(struct client_connections *connections);

bool client_connections_has_parked(const struct client_connections *connections);

#endif
