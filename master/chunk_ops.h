/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of chunk versions that are on their way. Raising a version takes two records: the new version, which
 * stands in the journal before any server hears of it, and, when the servers have answered, which of them have it.
 * In between the chunk is unsettled, and who wants to read or write it waits. A copy that fails or is away is left
 * out as soon as one other has the new version; with none, the chunk stays unsettled, and another try is made with
 * what is there then.
 *
 * All of this is volatile; a master that starts finds the unsettled chunks in its state and tries anew. Pure: times
 * come in. One thread.
 */
#ifndef CALF_CHUNK_OPS_H
#define CALF_CHUNK_OPS_H

#include "master/core.h"

#define CHUNK_OPS_LIMIT_NS (10 * NS_PER_S) /* a server that polls but does not answer counts as failed then */

#define CHUNK_OPS_RETRY_NS (NS_PER_S / 2)  /* after a failure */

struct chunk_op {
    struct chunk_op *next, *previous;
    struct chunk *chunk;
    uint32_t version, keep_bytes;
    int64_t started_ns;
    uint32_t blocks; /* the highest number that a copy has said; WIRE_BLOCKS_UNKNOWN: none has */
    uint8_t told_count, waiting;
    struct chunk_told {
        uint16_t server;
        uint8_t state; /* enum chunk_told_state */
    } told[WIRE_COPIES_LIMIT];
};

enum chunk_told_state { TOLD_WAITING, TOLD_DONE, TOLD_FAILED };

/* Both clocks, as they are now. */
struct core_time {
    int64_t wall_ns, mono_ns;
};

/* Raises the chunk's version on its copies, leaving out (if others are there) the servers in `without`. True: it is
 * on its way, now or since earlier. False: no copy can be reached now, or it is too early to give up on one that is
 * away. */
bool chunk_ops_raise(struct core *core, struct chunk *chunk, const uint16_t *without, int without_count,
                     struct core_time now);

/* True if the copy can be used: its server is there, and it is neither lost nor damaged; a damaged one can be used
 * too if there is no better one. */
bool chunk_ops_is_usable(const struct core *core, struct chunk *chunk, const struct chunk_copy *copy);

/* True if all copies are lost for certain, so that waiting is of no use. */
bool chunk_ops_is_hopeless(const struct core *core, struct chunk *chunk);

/* A server answered a set_version command. */
void chunk_ops_result(struct core *core, const struct server *server, const struct server_command *command,
                      const struct wire_command_result *result, struct core_time now);

/* A server is gone or registers anew: what it was told counts as failed. */
void chunk_ops_server_gone(struct core *core, const struct server *server, struct core_time now);

/* Gives up on servers that do not answer, and begins what can be begun for unsettled chunks. To be called about once
 * a second, and after a server came, while there are unsettled chunks. */
void chunk_ops_tick(struct core *core, struct core_time now);

/* The chunk is being freed: forget its operation. */
void chunk_ops_cancel(struct core *core, struct chunk *chunk);

void chunk_ops_fini(struct core *core);

#endif
