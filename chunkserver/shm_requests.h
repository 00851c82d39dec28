/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests that only a client on the same machine can make, over a Unix socket: it reads chunk files by itself, and its writes lie in memory
 * that it shares. What is shared with a connection ends with it; memory for writes that a client gives on many connections is mapped
 * once. For data_requests.c and data_service.c; a connection belongs to its thread.
 *
 * Nothing that the client does to the memory can harm the server: its size is sealed, data is copied before it is checked, and
 * what the client counts there is believed for statistics only.
 */
#ifndef CALF_SHM_REQUESTS_H
#define CALF_SHM_REQUESTS_H

#include "chunkserver/data_connection.h"

/* As data_requests_handle for one message each. -EBADMSG on a connection that is not local. */
int shm_requests_chunk_share(struct data_connection *connection, const struct wire_header *header,
                             const struct wire_chunk_share *message) __attribute__((warn_unused_result));
int shm_requests_memory_share(struct data_connection *connection, const struct wire_header *header,
                              const struct wire_memory_share *message) __attribute__((warn_unused_result));

/* Copies the data of a write from the connection's shared memory to its buffer. -EBADMSG: it does not lie there. */
int shm_requests_take_data(struct data_connection *connection, const struct wire_shared_write *message)
    __attribute__((warn_unused_result));

/* Gives up what the connection shares; it may share anew. */
void shm_requests_end(struct data_connection *connection);

#endif
