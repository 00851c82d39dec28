/* SPDX-License-Identifier: Apache-2.0 */
#include "master/server_control.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/check.h"
#include "common/log.h"
#include "master/admin_requests.h"
#include "master/chunk_reports.h"
#include "master/repair.h"

#define HOLD_NS NS_PER_S
#define HOLD_BUSY_NS (10 * NS_PER_MS) /* while results are awaited, which come with the next poll */

enum { REQUESTS_A_ROUND = 64, REPLY_ROOM = WIRE_BODY_LIMIT - 256 };

/* Answers that wait for the end of the round. */
struct pending_reply {
    struct pending_reply *next;
    struct control_request *request;
    uint16_t status;
    union wire_any value;
};

struct held_poll {
    struct control_request *request; /* NULL: none is held */
    int64_t since_ns;
};

struct server_control {
    struct event_source source; /* first */
    struct master *master;
    struct control_server *server;
    struct pending_reply *replies, **replies_last;
    struct held_poll polls[SERVERS_LIMIT + 1]; /* by server id */
    uint8_t *room;
};

static void reply_later(struct server_control *control, struct control_request *request, uint16_t status,
                        const union wire_any *value)
{
    struct pending_reply *reply = check_alloc(calloc(1, sizeof *reply));
    reply->request = request;
    reply->status = status;
    if (value)
        reply->value = *value;
    *control->replies_last = reply;
    control->replies_last = &reply->next;
}

/* ---- registration ---- */

static uint16_t check_registration(const struct master *master, const struct wire_server_register *asked)
{
    if (asked->protocol != WIRE_PROTOCOL)
        return WIRE_WRONG_PROTOCOL;
    if (asked->cluster && asked->cluster != master->core.cluster)
        return WIRE_WRONG_CLUSTER;
    return asked->node == 0 || asked->host.length == 0 ? WIRE_INVALID : WIRE_OK;
}

static uint16_t find_or_add(struct master *master, uint64_t node, struct server **server)
{
    struct core *core = &master->core;
    *server = servers_find_node(&core->servers, node);
    if (*server)
        return WIRE_OK;
    if (core->servers.count >= SERVERS_LIMIT)
        return WIRE_BUSY;
    union wire_any record = {.j_server = {.server_id = core->servers.count + 1, .node = node}};
    uint16_t status = core_decide(core, WIRE_TYPE_j_server, &record, master->now.wall_ns);
    *server = servers_find_node(&core->servers, node);
    return status;
}

static uint16_t take_part(struct master *master, const struct wire_server_register *asked, struct server **found)
{
    struct server *server;
    struct wire_list chunks = asked->chunks;
    struct wire_chunk_report report;
    uint16_t status = find_or_add(master, asked->node, &server);
    if (status != WIRE_OK)
        return status;
    if (asked->first) {
        bool was_there = server->connected;
        server_begin(server, asked->start, asked->host, asked->port);
        server->chunks = 0;
        if (was_there)
            chunk_ops_server_gone(&master->core, server, master->now);
        chunk_reports_begin(&master->core, server);
    } else if (!server->registering || server->start != asked->start) {
        return WIRE_AGAIN; /* the parts before this one are not known: from the start again */
    }
    server->total_bytes = asked->total_bytes;
    server->used_bytes = asked->used_bytes;
    server->last_poll_ns = master->now.mono_ns;
    while (wire_next_chunk_report(&chunks, &report)) {
        server->chunks++;
        chunk_reports_take(&master->core, server, &report, master->now);
    }
    if (asked->last) {
        chunk_reports_end(&master->core, server, master->now);
        log_info("chunkserver %u at %s:%u is connected", server->id, server->host, server->port);
    }
    *found = server;
    return WIRE_OK;
}

static void take_registration(struct server_control *control, struct control_request *request,
                              const struct wire_server_register *asked)
{
    struct master *master = control->master;
    struct server *server = NULL;
    uint16_t status = check_registration(master, asked);
    if (status == WIRE_OK)
        status = take_part(master, asked, &server);
    if (status != WIRE_OK) {
        log_warning("chunkserver at %.*s:%u is refused: %s", (int)asked->host.length, (const char *)asked->host.data,
                    asked->port, wire_status_text(status));
        reply_later(control, request, status, NULL);
        return;
    }
    union wire_any reply = {.server_register_reply = {.cluster = master->core.cluster,
                                                      .server_id = server->id,
                                                      .chunk_bytes = master->core.chunk_bytes,
                                                      .block_bytes = WIRE_BLOCK_BYTES}};
    reply_later(control, request, WIRE_OK, &reply);
}

/* ---- polls ---- */

static void take_results(struct master *master, struct server *server, const struct wire_server_poll *asked)
{
    struct wire_list results = asked->results, damaged = asked->damaged;
    struct wire_command_result result;
    struct wire_chunk_report report;
    struct server_command command;
    while (wire_next_command_result(&results, &result))
        if (!server_take_result(server, result.number, &command))
            continue;
        else if (command.action == WIRE_ACTION_SET_VERSION)
            chunk_ops_result(&master->core, server, &command, &result, master->now);
        else if (command.action == WIRE_ACTION_COPY)
            repair_result(&master->core, server, &command, result.status, master->now);
    while (wire_next_chunk_report(&damaged, &report))
        chunk_reports_damaged(&master->core, server, &report);
}

/* From now on nothing is expected of it, or given to it, until it registers again. */
static void lose(struct master *master, struct server *server)
{
    server_lost(server);
    server->lost_ns = master->now.mono_ns;
    chunk_ops_server_gone(&master->core, server, master->now);
    master->core.wake = true;
}

static void take_poll(struct server_control *control, struct control_request *request,
                      const struct wire_server_poll *asked)
{
    struct master *master = control->master;
    struct server *server = servers_find(&master->core.servers, asked->server_id);
    if (!server || !server->connected || server->start != asked->start) {
        union wire_any reply = {.server_poll_reply = {.register_again = 1}};
        reply_later(control, request, WIRE_OK, &reply);
        return;
    }
    server->last_poll_ns = master->now.mono_ns;
    server->total_bytes = asked->total_bytes;
    server->used_bytes = asked->used_bytes;
    server->chunks = asked->chunks;
    server->counters = asked->counters;
    take_results(master, server, asked);
    struct held_poll *poll = &control->polls[server->id];
    if (poll->request)
        control_drop(poll->request); /* it was sent again */
    if (asked->leaving) {
        union wire_any reply = {.server_poll_reply = {.register_again = 0}};
        log_info("chunkserver %u at %s:%u leaves", server->id, server->host, server->port);
        poll->request = NULL;
        lose(master, server);
        reply_later(control, request, WIRE_OK, &reply);
        return;
    }
    *poll = (struct held_poll){.request = request, .since_ns = master->now.mono_ns};
}

/* ---- all requests ---- */

static void take_admin(struct server_control *control, struct control_request *request, uint16_t type)
{
    struct master *master = control->master;
    struct wire_out room = wire_out_on(control->room, REPLY_ROOM);
    union wire_any reply;
    memset(&reply, 0, sizeof reply);
    if (type == WIRE_TYPE_admin_status)
        admin_requests_status(master, &reply.admin_status_reply);
    else
        admin_requests_servers(master, &room, &reply.admin_servers_reply);
    control_reply(control->server, request, WIRE_OK, &reply);
}

static void take_drain(struct server_control *control, struct control_request *request,
                       const struct wire_admin_drain *asked)
{
    struct master *master = control->master;
    union wire_any reply = {.admin_drain_reply = {0}};
    uint16_t status = admin_requests_drain(master, asked, &reply.admin_drain_reply);
    reply_later(control, request, status, &reply);
}

static void take_request(struct server_control *control, struct control_request *request,
                         const struct wire_header *header, const void *body)
{
    union wire_any value;
    if (wire_get_any(header->type, body, header->body_bytes, &value) < 0) {
        control_reply(control->server, request, WIRE_BAD_MESSAGE, NULL);
        return;
    }
    switch (header->type) {
    case WIRE_TYPE_server_register:
        take_registration(control, request, &value.server_register);
        return;
    case WIRE_TYPE_server_poll:
        take_poll(control, request, &value.server_poll);
        return;
    case WIRE_TYPE_admin_drain:
        take_drain(control, request, &value.admin_drain);
        return;
    case WIRE_TYPE_admin_status:
    case WIRE_TYPE_admin_servers:
        take_admin(control, request, header->type);
        return;
    }
    control_reply(control->server, request, WIRE_BAD_MESSAGE, NULL);
}

static void control_ready(struct event_source *source, uint32_t events)
{
    struct server_control *control = (struct server_control *)source;
    struct control_request *request;
    struct wire_header header;
    const void *body;
    (void)events;
    for (int i = 0; i < REQUESTS_A_ROUND && control_recv(control->server, &request, &header, &body) == 1; i++)
        take_request(control, request, &header, body);
}

static int64_t hold_ns(const struct server *server)
{
    return server->sent.first ? HOLD_BUSY_NS : HOLD_NS;
}

static bool must_answer(const struct server *server, const struct held_poll *poll, int64_t now_ns)
{
    return !server->connected || server_has_work(server) || now_ns - poll->since_ns >= hold_ns(server);
}

static void answer_poll(struct server_control *control, struct server *server, struct held_poll *poll)
{
    struct master *master = control->master;
    struct wire_out room = wire_out_on(control->room, REPLY_ROOM);
    union wire_any reply = {.server_poll_reply = {.register_again = !server->connected}};
    if (server->connected)
        server_take_commands(server, &master->core.servers, master->now.mono_ns, &room,
                             &reply.server_poll_reply.commands);
    control_reply(control->server, poll->request, WIRE_OK, &reply);
    poll->request = NULL;
}

static void release_deletions(struct master *master)
{
    const struct servers *servers = &master->core.servers;
    uint64_t last = journal_last_index(master->journal), synced = journal_synced_index(master->journal);
    for (uint32_t i = 0; i < servers->count; i++)
        server_release(servers->list[i], last, synced);
}

void server_control_flush(struct server_control *control)
{
    const struct servers *servers = &control->master->core.servers;
    while (control->replies) {
        struct pending_reply *reply = control->replies;
        control->replies = reply->next;
        control_reply(control->server, reply->request, reply->status, &reply->value);
        free(reply);
    }
    control->replies_last = &control->replies;
    release_deletions(control->master);
    for (uint32_t i = 0; i < servers->count; i++) {
        struct held_poll *poll = &control->polls[servers->list[i]->id];
        if (poll->request && must_answer(servers->list[i], poll, control->master->now.mono_ns))
            answer_poll(control, servers->list[i], poll);
    }
}

int64_t server_control_deadline(const struct server_control *control)
{
    const struct servers *servers = &control->master->core.servers;
    int64_t deadline = INT64_MAX;
    for (uint32_t i = 0; i < servers->count; i++) {
        const struct held_poll *poll = &control->polls[servers->list[i]->id];
        int64_t until = poll->since_ns + hold_ns(servers->list[i]);
        if (poll->request && until < deadline)
            deadline = until;
    }
    return deadline;
}

void server_control_tick(struct server_control *control)
{
    struct master *master = control->master;
    struct servers *servers = &master->core.servers;
    for (uint32_t i = 0; i < servers->count; i++) {
        struct server *server = servers->list[i];
        bool held = control->polls[server->id].request != NULL;
        if ((!server->connected && !server->registering) || held ||
            master->now.mono_ns - server->last_poll_ns < SERVER_AWAY_NS)
            continue;
        log_warning("chunkserver %u at %s:%u is away: it has not asked for commands for %lld s", server->id,
                    server->host, server->port, (long long)(SERVER_AWAY_NS / NS_PER_S));
        lose(master, server);
    }
}

int server_control_create(struct master *master, struct master_loop *loop, struct control_server *server,
                          struct server_control **control)
{
    struct server_control *c = check_alloc(calloc(1, sizeof *c));
    c->source = (struct event_source){control_ready};
    c->master = master;
    c->server = server;
    c->replies_last = &c->replies;
    master->core.servers.hold_deletions = true;
    c->room = check_alloc(malloc(REPLY_ROOM));
    int rc = master_loop_add(loop, control_server_fd(server), EPOLLIN, &c->source);
    if (rc < 0) {
        server_control_destroy(c);
        return rc;
    }
    *control = c;
    return 0;
}

void server_control_destroy(struct server_control *control)
{
    if (!control)
        return;
    for (size_t i = 0; i <= SERVERS_LIMIT; i++)
        if (control->polls[i].request)
            control_drop(control->polls[i].request);
    while (control->replies) {
        struct pending_reply *reply = control->replies;
        control->replies = reply->next;
        control_drop(reply->request);
        free(reply);
    }
    control_server_destroy(control->server);
    free(control->room);
    free(control);
}
