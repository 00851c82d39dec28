/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to other chunkservers: connections that said hello, kept for the next use, and forwarded writes on them.
 *
 * A forwarded write is started, the caller does its own work meanwhile, and finishes it. A kept connection may have died
 * since: then the write goes out once more on a new one (writes may be repeated).
 * Any thread; a call in progress belongs to one thread. Blocks for some seconds at most, longer the longer the rest of the chain.
 */
#ifndef CALF_CHAIN_H
#define CALF_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "chunkserver/store.h"
#include "common/stream.h"

struct chain;
struct chain_peer;

/* *chain is the caller's, for chain_destroy. The store gives the cluster that a hello names. */
struct chain *chain_create(const struct store *store);
void chain_destroy(struct chain *chain);

/* Connects to the chunkserver of this id and says hello. -errno of the connection, or that of the status it refused with. */
int chain_connect(const struct store *store, const struct address *address, uint32_t server_id, int timeout_ms,
                  struct stream *stream) __attribute__((warn_unused_result));

struct chain_call {
    struct chain *chain;
    struct chain_peer *peer;
    struct stream stream;
    struct address address;
    struct wire_header header;
    const void *body, *payload;
    uint32_t server_id;
    int timeout_ms;
    int error; /* so far */
    bool kept; /* the connection was not made for this call */
};

/* Sends the write to the first server of its chain, with the rest of the chain. body is room for the encoded message; it and
 * the payload must stay until the call is finished. Errors are kept for chain_finish. */
void chain_start(struct chain *chain, struct chain_call *call, const struct wire_chunk_write *write,
                 const void *payload, uint32_t payload_bytes, void *body, size_t body_room);

/* Waits for the answer: its status, and whose fault it is unless WIRE_OK. */
uint16_t chain_finish(struct chain_call *call, uint32_t *failed_server) __attribute__((warn_unused_result));

#endif
