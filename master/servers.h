/* SPDX-License-Identifier: Apache-2.0
 *
 * The chunkservers: who they are (state: id and node), and what is known of them now (volatile: registration, space,
 * liveness, and the commands on their way). Commands wait here until a poll takes them, and then for their result;
 * one that is not answered is sent again, since a reply to a poll may be lost. Pure: times are monotonic and come
 * in. One thread.
 */
#ifndef CALF_SERVERS_H
#define CALF_SERVERS_H

#include <stdbool.h>

#include "common/clock.h"
#include "common/wire.h"
#include "master/ids.h"

enum { SERVERS_LIMIT = 1024 };

#define SERVER_AWAY_NS (5 * NS_PER_S)         /* without a poll for longer it is away */
#define SERVER_RESEND_NS (3 * NS_PER_S)       /* a command without a result is sent again */

struct server_command {
    struct server_command *next;
    int64_t sent_ns; /* 0: not yet */
    uint64_t number;
    uint8_t action; /* enum wire_action */
    bool create;
    uint64_t chunk;
    uint32_t version, new_version, keep_bytes;
    server_id source;
    uint64_t after; /* held: until the journal is on the disk up to this record */
};

struct server_commands {
    struct server_command *first, **last;
    uint32_t count;
};

/* A copy that a server reported and that may have to go, once it is certain that a newer one is good. */
struct server_suspect {
    chunk_id chunk;
    uint32_t version;
};

struct server {
    server_id id;
    uint64_t node;
    bool draining;             /* gets no new chunks, and its copies move off */
    /* volatile */
    bool connected;            /* registered, and polls */
    bool registering;          /* between the first and the last part of its report */
    uint64_t start;            /* which registration */
    char *host;
    uint16_t port;
    uint64_t total_bytes, used_bytes, chunks;
    struct wire_counters counters;
    int64_t last_poll_ns;      /* 0: never */
    int64_t lost_ns;           /* since when it is away; 0: since the master started */
    uint64_t turn;             /* placement: who has the least is next */
    /* repair.h: copies being made here and from here; no room for more until then; what it uses after the moves of this
     * round of balancing */
    uint32_t copies_in, copies_out;
    int64_t full_until_ns;
    uint64_t planned_bytes;
    uint64_t next_number;
    struct server_commands waiting, sent;
    struct server_commands fresh, held; /* deletions, until the journal has what they rest on: see server_hold */
    struct server_suspect *suspects;
    uint32_t suspect_count, suspect_room;
    uint64_t strange_chunks;   /* reported, with ids that were never given */
};

struct servers {
    struct server **list; /* by id - 1 */
    uint32_t count;
    bool hold_deletions; /* volatile: a deletion waits for server_release */
};

void servers_fini(struct servers *servers);
struct server *servers_find(const struct servers *servers, server_id id); /* NULL: unknown */
struct server *servers_find_node(const struct servers *servers, uint64_t node);

/* Gives the next id to a node. The caller looked that there is room. */
struct server *servers_add(struct servers *servers, uint64_t node);

static inline uint64_t server_free_bytes(const struct server *server)
{
    return server->used_bytes < server->total_bytes ? server->total_bytes - server->used_bytes : 0;
}

/* Where it is reached, for a message; the text is the server's. */
struct wire_server server_where(const struct server *server);

/* As people see it. now_ns is monotonic. */
struct wire_server_state server_state(const struct server *server, int64_t now_ns);

/* Begins a registration; commands of the one before are forgotten. */
void server_begin(struct server *server, uint64_t start, struct wire_bytes host, uint16_t port);

/* Not there any more: commands are forgotten. */
void server_lost(struct server *server);

/* Queues a command (next, sent_ns and number are set here) and returns its number. */
uint64_t server_queue(struct server *server, struct server_command command);

/* Queues a deletion; version as in the schema. With hold_deletions it waits for server_release, so that no copy is gone
 * whose chunk a master that lost the end of its journal still counts on. */
void server_queue_delete(const struct servers *servers, struct server *server, chunk_id chunk, uint32_t version);

/* The journal's last record is `last`, and it is on the disk up to `synced`: lets deletions go that rest on no later
 * one. To be called after each commit. */
void server_release(struct server *server, uint64_t last, uint64_t synced);

/* True if a command for the chunk is under way or waits, or if there are too many to look through. */
bool server_has_command(const struct server *server, chunk_id chunk);

static inline bool server_has_work(const struct server *server)
{
    return server->waiting.first && server->sent.count < WIRE_COMMANDS_LIMIT;
}

/* Moves commands, waiting ones and those sent too long ago, into a reply's list. */
void server_take_commands(struct server *server, const struct servers *servers, int64_t now_ns, struct wire_out *room,
                          struct wire_list *commands);

/* Forgets the command that a result names. False: unknown, as with a result that comes twice; else *command is what
 * it was. */
bool server_take_result(struct server *server, uint64_t number, struct server_command *command)
    __attribute__((warn_unused_result));

void server_add_suspect(struct server *server, chunk_id chunk, uint32_t version);

#endif
