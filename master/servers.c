/* SPDX-License-Identifier: Apache-2.0 */
#include "master/servers.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

/* ---- the list ---- */

struct server *servers_find(const struct servers *servers, server_id id)
{
    return id >= 1 && id <= servers->count ? servers->list[id - 1] : NULL;
}

struct server *servers_find_node(const struct servers *servers, uint64_t node)
{
    for (uint32_t i = 0; i < servers->count; i++)
        if (servers->list[i]->node == node)
            return servers->list[i];
    return NULL;
}

struct server *servers_add(struct servers *servers, uint64_t node)
{
    struct server *server = check_alloc(calloc(1, sizeof *server));
    CHECK(servers->count < SERVERS_LIMIT);
    servers->list = check_alloc(realloc(servers->list, (servers->count + 1) * sizeof(struct server *)));
    servers->list[servers->count++] = server;
    server->id = servers->count;
    server->node = node;
    server->next_number = 1;
    server->waiting.last = &server->waiting.first;
    server->sent.last = &server->sent.first;
    server->fresh.last = &server->fresh.first;
    server->held.last = &server->held.first;
    return server;
}

struct wire_server server_where(const struct server *server)
{
    return (struct wire_server){server->id, wire_text(server->host ? server->host : ""), server->port};
}

struct wire_server_state server_state(const struct server *server, int64_t now_ns)
{
    return (struct wire_server_state){
        .server = server_where(server),
        .connected = server->connected,
        .total_bytes = server->total_bytes,
        .used_bytes = server->used_bytes,
        .chunks = server->chunks,
        .counters = server->counters,
        .draining = server->draining,
        .since_poll_ms = server->last_poll_ns ? (uint64_t)((now_ns - server->last_poll_ns) / NS_PER_MS) : UINT64_MAX,
    };
}

/* ---- commands ---- */

static void append(struct server_commands *commands, struct server_command *command)
{
    command->next = NULL;
    *commands->last = command;
    commands->last = &command->next;
    commands->count++;
}

static struct server_command *take(struct server_commands *commands, struct server_command **link)
{
    struct server_command *command = *link;
    *link = command->next;
    if (commands->last == &command->next)
        commands->last = link;
    commands->count--;
    return command;
}

static void forget_all(struct server_commands *commands)
{
    while (commands->first)
        free(take(commands, &commands->first));
}

static void forget_commands(struct server *server)
{
    forget_all(&server->waiting);
    forget_all(&server->sent);
    forget_all(&server->fresh);
    forget_all(&server->held);
}

void servers_fini(struct servers *servers)
{
    for (uint32_t i = 0; i < servers->count; i++) {
        struct server *server = servers->list[i];
        forget_commands(server);
        free(server->suspects);
        free(server->host);
        free(server);
    }
    free(servers->list);
    *servers = (struct servers){0};
}

void server_lost(struct server *server)
{
    server->connected = server->registering = false;
    server->suspect_count = 0;
    forget_commands(server);
}

void server_begin(struct server *server, uint64_t start, struct wire_bytes host, uint16_t port)
{
    server_lost(server);
    server->registering = true;
    server->start = start;
    free(server->host);
    server->host = check_alloc(malloc(host.length + 1u));
    CHECK(wire_copy_text(host, server->host, host.length + 1u));
    server->port = port;
    server->strange_chunks = 0;
}

static uint64_t queue(struct server *server, struct server_commands *where, const struct server_command *command)
{
    struct server_command *made = check_alloc(malloc(sizeof *made));
    *made = *command;
    made->sent_ns = 0;
    made->number = server->next_number++;
    append(where, made);
    return made->number;
}

uint64_t server_queue(struct server *server, struct server_command command)
{
    return queue(server, &server->waiting, &command);
}

void server_queue_delete(const struct servers *servers, struct server *server, chunk_id chunk, uint32_t version)
{
    struct server_command command = {.action = WIRE_ACTION_DELETE, .chunk = chunk, .version = version};
    (void)queue(server, servers->hold_deletions ? &server->fresh : &server->waiting, &command);
}

void server_release(struct server *server, uint64_t last, uint64_t synced)
{
    while (server->fresh.first) {
        struct server_command *command = take(&server->fresh, &server->fresh.first);
        command->after = last;
        append(&server->held, command);
    }
    while (server->held.first && server->held.first->after <= synced)
        append(&server->waiting, take(&server->held, &server->held.first));
}

static bool is_for(const struct server_commands *commands, chunk_id chunk)
{
    for (const struct server_command *c = commands->first; c; c = c->next)
        if (c->chunk == chunk)
            return true;
    return false;
}

bool server_has_command(const struct server *server, chunk_id chunk)
{
    const uint32_t many = 4096;
    if (server->waiting.count + server->fresh.count + server->held.count > many)
        return true;
    return is_for(&server->waiting, chunk) || is_for(&server->sent, chunk) || is_for(&server->fresh, chunk) ||
           is_for(&server->held, chunk);
}

static bool put_command(const struct server_command *command, const struct servers *servers, struct wire_out *room,
                        struct wire_list *commands)
{
    const struct server *source = servers_find(servers, command->source);
    struct wire_command wire = {
        .number = command->number,
        .action = command->action,
        .chunk_id = command->chunk,
        .version = command->version,
        .new_version = command->new_version,
        .keep_bytes = command->keep_bytes,
        .create = command->create,
    };
    if (source)
        wire.source = server_where(source);
    return wire_append_command(room, commands, &wire);
}

void server_take_commands(struct server *server, const struct servers *servers, int64_t now_ns, struct wire_out *room,
                          struct wire_list *commands)
{
    for (struct server_command *c = server->sent.first; c && commands->count < WIRE_COMMANDS_LIMIT; c = c->next) {
        if (now_ns - c->sent_ns < SERVER_RESEND_NS)
            continue;
        if (!put_command(c, servers, room, commands))
            return;
        c->sent_ns = now_ns;
    }
    while (server_has_work(server) && commands->count < WIRE_COMMANDS_LIMIT) {
        struct server_command *c = server->waiting.first;
        if (!put_command(c, servers, room, commands))
            return;
        c->sent_ns = now_ns;
        append(&server->sent, take(&server->waiting, &server->waiting.first));
    }
}

bool server_take_result(struct server *server, uint64_t number, struct server_command *command)
{
    struct server_command **link = &server->sent.first;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    if (!*link)
        return false;
    struct server_command *found = take(&server->sent, link);
    *command = *found;
    free(found);
    return true;
}

void server_add_suspect(struct server *server, chunk_id chunk, uint32_t version)
{
    if (server->suspect_count == server->suspect_room) {
        server->suspect_room = server->suspect_room ? server->suspect_room * 2 : 16;
        server->suspects =
            check_alloc(realloc(server->suspects, server->suspect_room * sizeof *server->suspects));
    }
    server->suspects[server->suspect_count++] = (struct server_suspect){chunk, version};
}
