/* SPDX-License-Identifier: Apache-2.0 */
#include "client/chunk_verify.h"

#include <errno.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/scope.h"

static int read_run(struct chunk_server *server, struct wire_chunk_read *request, void *into)
{
    int rc = chunk_connections_read(server, request, into);
    return rc == -EILSEQ ? chunk_connections_read(server, request, into) : rc; /* a write may have passed by */
}

uint8_t chunk_verify_copy(struct fs *fs, const struct wire_chunk_copy *copy, uint64_t file_size)
{
    uint64_t start = (uint64_t)copy->index * fs->chunk_bytes;
    uint64_t bytes = file_size > start ? file_size - start : 0;
    struct chunk_server *server = chunk_connections_server(fs->connections, &copy->server);
    SCOPE_FREE void *data = check_alloc(aligned_alloc(WIRE_BLOCK_BYTES, WIRE_IO_LIMIT));
    struct wire_chunk_read request = {
        .chunk_id = copy->chunk_id, .version = copy->version, .absent_ok = 1, .verify = 1};
    if (bytes > fs->chunk_bytes)
        bytes = fs->chunk_bytes;
    if (!server)
        return WIRE_COPY_AWAY;
    while (request.offset < bytes) {
        uint64_t left = (bytes - request.offset + WIRE_BLOCK_BYTES - 1) / WIRE_BLOCK_BYTES * WIRE_BLOCK_BYTES;
        request.length = (uint32_t)(left < WIRE_IO_LIMIT ? left : WIRE_IO_LIMIT);
        int rc = read_run(server, &request, data);
        if (rc == -EUCLEAN || rc == -EILSEQ || rc == -ENOMEDIUM)
            return WIRE_COPY_DAMAGED;
        if (rc < 0)
            return rc == -EKEYEXPIRED ? WIRE_COPY_PENDING : WIRE_COPY_AWAY;
        request.offset += request.length;
    }
    return WIRE_COPY_VALID;
}
