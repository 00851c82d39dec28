/* SPDX-License-Identifier: Apache-2.0
 *
 * The control plane: request and reply over nng, with the same frames (header and body, no payload) as the streams.
 * For what is rare: registration, polls, commands, administration, the coordination of load workers. A request may be held
 * and answered much later, and requests survive a restart of the server: the client sends them again by itself.
 *
 * A server belongs to one thread (it has a descriptor to poll); a client serialises its callers. nng appears in control.c only.
 */
#ifndef CALF_CONTROL_H
#define CALF_CONTROL_H

#include <stdint.h>

#include "common/units.h"
#include "common/wire.h"

struct control_server;
struct control_request; /* a request not answered yet */
struct control_client;

/* Listens. *bound, if not NULL, gets the address with the port picked for port 0. *server is the caller's, for
 * control_server_destroy. 0; -EADDRINUSE, -EHOSTUNREACH, ... */
int control_listen(const struct address *address, struct address *bound, struct control_server **server)
    __attribute__((warn_unused_result));
void control_server_destroy(struct control_server *server); /* answer or drop all requests first */

/* Becomes readable when a request may be there; level-triggered. */
int control_server_fd(const struct control_server *server);

/* Takes the next request; never blocks. 1: *request is the caller's, for exactly one of control_reply and control_drop; header
 * and *body are valid until then. 0: none. Malformed frames are counted, not shown. */
int control_recv(struct control_server *server, struct control_request **request, struct wire_header *header,
                 const void **body) __attribute__((warn_unused_result));

/* Answers and frees the request; never blocks. With a status other than WIRE_OK, value is ignored and may be NULL. A
 * client that is gone is no error. */
void control_reply(struct control_server *server, struct control_request *request, uint16_t status,
                   const union wire_any *value);
void control_drop(struct control_request *request);

uint64_t control_bad_frames(const struct control_server *server);

/* A client of the server at address, which need not be up yet. *client is the caller's, for control_client_destroy. */
int control_connect(const struct address *address, struct control_client **client) __attribute__((warn_unused_result));
void control_client_destroy(struct control_client *client);

/* Sends a request and waits for its reply for at most timeout_ms. 0: reply->status says how it went and, if WIRE_OK, *value is
 * the decoded reply; what it points to is valid until the next call. -ETIMEDOUT: nobody answered; -EBADMSG: not a reply to this. */
int control_call(struct control_client *client, uint16_t type, const union wire_any *request, int timeout_ms,
                 struct wire_header *reply, union wire_any *value) __attribute__((warn_unused_result));

/* Makes a call that waits in another thread return -ECANCELED now, and all later ones at once. */
void control_client_cancel(struct control_client *client);

#endif
