/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client's hello leads to: a session, new or joined, or a refusal with its reason.
 */
#ifndef CALF_CLIENT_HELLO_H
#define CALF_CLIENT_HELLO_H

#include <stdbool.h>

#include "master/master.h"

/* Fills the reply; *session: the session's, 0 for an administrator. A status other than WIRE_OK is a refusal,
 * already logged. */
uint16_t client_hello_answer(struct master *master, const struct wire_hello *hello, struct wire_hello_reply *reply,
                             session_id *session) __attribute__((warn_unused_result));

/* Ends sessions that have been silent for too long. */
void client_hello_end_silent(struct master *master);

/* Once a second: a newcomer that was told to come again and did not is forgotten. */
void client_hello_forget_newcomer(struct master *master);

/* True if there is one session and nobody waits to be the second: it may believe what it is told for WIRE_ALONE_MS. */
bool client_hello_is_alone(const struct master *master);

#endif
