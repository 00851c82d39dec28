/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections to chunkservers and the requests that go over them. Each address has a stack of idle connections; a request takes
 * the one given back last, or makes a new one, and has it alone until its reply is complete, so there are as
 * many as threads at work. Nothing is retried here but a connection that broke while it lay idle: what an error means for
 * a file is decided in read_path.c and write_path.c. Another transport to a chunkserver would hide behind these functions.
 *
 * Any thread may call any function; create and destroy come first and last. Errors of all requests: what the server
 * answered (-ENOMEDIUM: no such chunk, -EKEYEXPIRED: another version, -EUCLEAN: damaged, -ENOSPC, ...), or what befell the connection
 * (-ECONNREFUSED, -ETIMEDOUT, ...; -EBADMSG: what came was no proper reply).
 */
#ifndef CALF_CHUNK_CONNECTIONS_H
#define CALF_CHUNK_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"

struct chunk_connections;

/* One chunkserver at one address. Lives as long as the set it belongs to, so pointers to it may be kept. */
struct chunk_server;

/* cluster goes into every hello: a server of another cluster refuses. shm_directory, if not NULL: where servers on this machine have
 * sockets for sharing memory (see shm_link.h); servers that have none there are reached by TCP. */
struct chunk_connections *chunk_connections_create(uint64_t cluster, const char *shm_directory);
void chunk_connections_destroy(struct chunk_connections *connections);

/* The server of that id and address, made when it is seen first. NULL if the set is full (thousands of addresses). Does
 * not block. */
struct chunk_server *chunk_connections_server(struct chunk_connections *connections, const struct wire_server *server);

/* Its id, host and port; the host points into the server. */
void chunk_connections_describe(const struct chunk_server *server, struct wire_server *description);

/* Reads request->length bytes into `into` and verifies their checksums. -EILSEQ: the data does not match them. Blocks. */
int chunk_connections_read(struct chunk_server *server, const struct wire_chunk_read *request, void *into)
    __attribute__((warn_unused_result));

/* Writes; data may be NULL with WIRE_WRITE_ZERO. 0: every copy of the chain has it, and the chunk has *blocks blocks now. With an
 * error, *failed is the id of the server that could not. Blocks. */
int chunk_connections_write(struct chunk_server *server, const struct wire_chunk_write *request, const void *data,
                            uint32_t *failed, uint32_t *blocks) __attribute__((warn_unused_result));

/* Whether requests to the server go through shared memory now. Does not block. */
bool chunk_connections_shares_memory(const struct chunk_server *server);

enum { CHUNK_MAP_BYTES = 2048 };

/* Which blocks of the chunk hold data, a bit each, lowest first; the rest of the map is zero. Blocks. */
int chunk_connections_map(struct chunk_server *server, uint64_t chunk_id, uint32_t version, uint8_t map[CHUNK_MAP_BYTES])
    __attribute__((warn_unused_result));

/* What the server has served up to now. Blocks. */
int chunk_connections_counters(struct chunk_server *server, struct wire_counters *counters)
    __attribute__((warn_unused_result));

#endif
