/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client's hello leads to: a session, new or joined, or a refusal with its reason.
 */
#ifndef CALF_CLIENT_HELLO_H
#define CALF_CLIENT_HELLO_H

#include "master/master.h"

/* Fills the reply; *session: the session's, 0 for an administrator. A status other than WIRE_OK is a refusal,
 * already logged. */
uint16_t client_hello_answer(struct master *master, const struct wire_hello *hello, struct wire_hello_reply *reply,
                             session_id *session) __attribute__((warn_unused_result));

/* Ends sessions that have been silent for too long. */
void client_hello_end_silent(struct master *master);

#endif
