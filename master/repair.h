/* SPDX-License-Identifier: Apache-2.0
 *
 * Sees to it that each chunk has as many good copies as its file's goal says, on servers that are to keep them: makes
 * copies when some are lost, damaged or on a server that is being emptied, makes copies equal that a dead writer may have left
 * different, and takes away what is too much. Also moves chunks when servers are filled unevenly.
 *
 * Rules, whatever fails in between:
 *  - A copy counts when its server has verified and stored it and the record of it (j_copies) is made; never before.
 *  - While a copy is made nobody writes the chunk under the version that is being copied. A chunk on which there is a lease gets
 *    a new version first (the record before the servers), and who asks for a lease meanwhile waits. A lease asked for on a chunk
 *    that had none raises the version, and the copy under the old one is thrown away.
 *  - A copy goes only when as many good ones as wanted are on connected servers, after the record; or when it is stale.
 *  - A copy whose server is away is missed only after a while, and stays in the set until the chunk is written or changed.
 *
 * Deterministic and pure: times come in, chunks are visited in the order of the table. One thread.
 */
#ifndef CALF_REPAIR_H
#define CALF_REPAIR_H

#include "master/chunk_ops.h"

#define REPAIR_PATIENCE_NS (10 * NS_PER_S) /* a server that is away for longer is missed, unless patience_ns says otherwise */
#define REPAIR_UNMET_NS (10 * NS_PER_S)    /* chunks for whose copies there is no place are tried again */
#define REPAIR_FAILED_NS (3 * NS_PER_S)    /* after a copy that failed */
#define REPAIR_FULL_NS (3 * NS_PER_S)      /* a server that had no room for a copy is not asked again */
#define REPAIR_JOB_NS (600 * NS_PER_S)     /* a copy takes no longer */

enum {
    REPAIR_COPIES_IN = 4,        /* copies being made at once on a server; it works on one and has the next at hand */
    REPAIR_COPIES_OUT = 4,       /* and from a server */
    REPAIR_PASS_CHUNKS = 50000,  /* looked at in a second */
    REPAIR_TRIES = 64,           /* chunks of a queue looked at for one that can begin */
};

/* What a chunk needs, as far as can be seen now. */
struct repair_need {
    uint8_t class;   /* REPAIR_NOTHING: nothing, or nothing can be done */
    bool unmet;      /* it wants a copy and there is no server for it */
    bool fence;      /* the version rises first */
    bool only_raise; /* nothing but that is to be done */
    server_id source, target; /* of a copy; both 0: none is to be made */
    server_id victim;         /* whose copy goes; 0: nobody's */
};

void repair_judge(const struct core *core, struct chunk *chunk, struct core_time now, struct repair_need *need);

/* Where one more copy of the chunk can be made now; 0: nowhere. */
server_id repair_choose_target(const struct core *core, struct chunk *chunk, struct core_time now);

/* A copy that can be read now and is the chunk's. */
bool repair_is_good(const struct core *core, const struct chunk *chunk, const struct chunk_copy *copy);

/* True while a server that is away may come back any moment, with room for chunks as far as is known: too early to say that
 * the cluster is full. */
bool repair_expects_room(const struct core *core, struct core_time now);

/* The chunk is to be looked at: something happened to it. */
void repair_note(struct core *core, struct chunk *chunk);

/* All chunks are to be looked at, now or at a monotonic time. */
void repair_look_at(struct core *core, int64_t when_ns);

/* About once a second. */
void repair_tick(struct core *core, struct core_time now);

/* Begins what can be begun; repair_tick and repair_result do it too. */
void repair_run(struct core *core, struct core_time now);

/* A server answered a copy command. */
void repair_result(struct core *core, struct server *server, const struct server_command *command, uint16_t status,
                   struct core_time now);

/* A server is gone or registers anew. */
void repair_server_gone(struct core *core, const struct server *server, struct core_time now);

/* A version change is over (chunk_ops.h): a job that waited for it goes on, or ends if the chunk is still unsettled. */
void repair_raised(struct core *core, struct chunk *chunk, struct core_time now);

/* Forgets the chunk's job: its content or version changes, or it is freed. */
void repair_cancel(struct core *core, struct chunk *chunk);

/* True if whoever wants to write must wait for the chunk's copy to be made. */
static inline bool repair_keeps_writers(const struct chunk *chunk)
{
    return chunk->activity && chunk->activity->repair && chunk->activity->repair->fenced;
}

static inline bool repair_is_copying(const struct chunk *chunk)
{
    return chunk->activity && chunk->activity->repair;
}

/* Chunks that wait. */
uint64_t repair_queue_length(const struct core *core);

/* True if nothing waits and nothing is under way. */
bool repair_is_idle(const struct core *core);

void repair_fini(struct core *core);

/* ---- repair_full.c ---- */

/* A writer of the settled chunk was told that this server is full. True: the chunk goes on without it, or on another server, as
 * soon as that is possible; the writer waits for a new lease. False: no other server has room, or the chunk has nothing that was
 * written (as the writer says), so that it need not be moved. */
bool repair_full(struct core *core, struct chunk *chunk, server_id full, bool written, struct core_time now)
    __attribute__((warn_unused_result));

/* ---- repair_balance.c ---- */

/* Share of a server's space that is used, in millionths. */
uint64_t repair_used_ppm(const struct server *server);

/* Begins moves if servers are filled unevenly and nothing else is to be done. */
void repair_balance(struct core *core, struct core_time now);

#endif
