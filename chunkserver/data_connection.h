/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection of the data service, and what handles its requests. Belongs to its thread; only data_service.c and
 * data_requests.c know it.
 */
#ifndef CALF_DATA_CONNECTION_H
#define CALF_DATA_CONNECTION_H

#include <stdbool.h>

#include "chunkserver/chain.h"
#include "chunkserver/serve_counters.h"
#include "chunkserver/store.h"
#include "chunkserver/write_order.h"
#include "common/stream.h"

enum { DATA_CONNECTION_BODY_BYTES = 8192 /* the largest chunk_write, which has a chain of long names */ };

struct data_connection {
    struct data_connection *next, *previous;
    struct data_service *owner;
    struct stream stream;
    bool greeted;
    bool from_server; /* the other end is a chunkserver */
    bool local;       /* over a Unix socket */
    _Atomic uint64_t *gauge; /* counts this connection while it is open; NULL: none */

    /* What a local client shares (shm_requests.c). */
    struct given_memory *shared_writes;
    uint32_t shared_reads_bytes;
    struct serve_reads shared_reads;

    struct store *store;
    struct serve_counters *counters;
    struct chain *chain;
    struct write_order *order;

    uint8_t *data, *scratch; /* WIRE_PAYLOAD_LIMIT bytes and two blocks, both aligned to a page; made by the first request */
    uint64_t sums[WIRE_BLOCKS_LIMIT];
    uint8_t body[DATA_CONNECTION_BODY_BYTES];
};

/* Handles one request whose header and body were received. 0; else the connection is to be closed: -EBADMSG: for what was
 * sent; -errno. */
int data_requests_handle(struct data_connection *connection, const struct wire_header *header, const void *body)
    __attribute__((warn_unused_result));

#endif
