/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client shares with one chunkserver on the same machine: descriptors of chunk files, from which it reads without asking, and
 * memory in which it counts these reads. The link is up while a connection to the server's Unix socket stands: what a
 * server shared is worth nothing once it is gone, since nobody keeps its chunks at their versions then.
 *
 * Messages go over connections of chunk_connections.c; this file knows what is in them, and what is shared. Any thread may call any
 * function; create and destroy come first and last.
 */
#ifndef CALF_SHM_LINK_H
#define CALF_SHM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/stream.h"
#include "common/units.h"
#include "common/wire.h"

struct shm_link;

/* For the server with that id, whose socket is in the directory, if it has one. */
struct shm_link *shm_link_create(const char *directory, uint32_t server_id);
void shm_link_destroy(struct shm_link *link);

/* Where the server's socket is. Points into the link. */
const struct address *shm_link_address(const struct shm_link *link);

bool shm_link_is_up(const struct shm_link *link);

/* Whether it is worth asking for chunks to read from; a store on a disk has none to share. */
bool shm_link_has_chunks(const struct shm_link *link);

/* True for one caller in a while, if the link is down: that one tries to bring it up, then says how that went. */
bool shm_link_may_try(struct shm_link *link);

/* Takes over a connection that said hello, if it succeeds; blocks. 0; -errno: the stream is still the caller's. */
int shm_link_raise(struct shm_link *link, struct stream *stream, uint32_t sequence) __attribute__((warn_unused_result));

/* It could not be brought up: logs why, once until it has been up again. */
void shm_link_failed(struct shm_link *link, int error);

/* Reads, counts, and verifies. 0; -EAGAIN: nothing good is shared for this chunk in this version (any more); -EILSEQ: the data does
 * not match its checksums. Sends no message. */
int shm_link_read(struct shm_link *link, const struct wire_chunk_read *request, void *into)
    __attribute__((warn_unused_result));

/* Asks over a local connection for what shm_link_read needs. 0: an orderly reply came, and *result is 0 or what the server answered
 * (-ENOMEDIUM, -EKEYEXPIRED, ...); else the connection is of no more use. */
int shm_link_ask(struct shm_link *link, struct stream *stream, uint32_t sequence, const struct wire_chunk_read *wanted,
                 int *result) __attribute__((warn_unused_result));

/* Gives the server the descriptor of that many bytes for the data of writes on this local connection, in place of what it had. *result:
 * 0, or why the server does not want it. -errno: the connection is of no more use. */
int shm_link_give_memory(struct stream *stream, uint32_t sequence, int fd, uint32_t bytes, int *result)
    __attribute__((warn_unused_result));

#endif
