/* SPDX-License-Identifier: Apache-2.0
 *
 * The control plane (common/control.h) without nng: its functions over the simulated network, with what nng promises: a
 * request waits for a server that is not there, is sent again when the server that had it dies, and its late reply is
 * dropped.
 */
#include "common/control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/check.h"
#include "common/scope.h"
#include "tests/sim/sim_descriptors.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_network.h"

enum { SERVERS = 64 };

/* A request of a client, at most one at a time; freed by nobody, since copies of it may still be on their way. */
struct call {
    unsigned client_node, server_node;
    uint16_t port;
    bool over;              /* answered, timed out, or cancelled */
    struct control_server *holder; /* who has it now */
    struct wire_header header, reply;
    uint8_t *body, *reply_body;
};

struct control_request {
    struct control_request *next;
    struct call *call;
    bool answered;
};

struct control_server {
    struct sim_descriptor *descriptor; /* NULL: the process is dead */
    unsigned node;
    uint16_t port;
    struct control_request *first, **last; /* not taken yet */
    struct call *held[1024];               /* delivered and not answered */
    unsigned held_count;
};

struct control_client {
    struct sim_descriptor *descriptor; /* closed when the process dies */
    unsigned node;
    struct address address;
    pthread_mutex_t lock;
    uint32_t sequence;
    bool cancelled;
    struct call *call; /* under way, or the last one */
};

static struct control_server *servers[SERVERS];
static unsigned server_count;

static unsigned node_of(const char *host)
{
    struct in_addr ip;
    return inet_pton(AF_INET, host, &ip) == 1 ? ntohl(ip.s_addr) & 0xff : 0;
}

/* The encoded body, the caller's. */
static uint8_t *encode(uint16_t type, const union wire_any *value, uint32_t *bytes)
{
    static uint8_t room[WIRE_BODY_LIMIT];
    struct wire_out out = wire_out_on(room, sizeof room);
    CHECK(wire_put_any(type, &out, value) == 0);
    uint8_t *body = check_alloc(malloc(out.used + 1));
    memcpy(body, room, out.used);
    *bytes = (uint32_t)out.used;
    return body;
}

/* ---- delivery ---- */

static void deliver(void *argument)
{
    struct call *call = argument;
    struct control_server *server = NULL;
    if (call->over)
        return;
    if (sim_network_is_blocked(call->client_node, call->server_node)) {
        sim_at(sim_network_arrival(call->client_node, call->server_node), deliver, call);
        return;
    }
    for (unsigned i = 0; i < server_count; i++)
        if (servers[i]->descriptor && servers[i]->node == call->server_node && servers[i]->port == call->port)
            server = servers[i];
    if (!server || server->held_count == sizeof server->held / sizeof *server->held) {
        sim_at(sim_now() + sim_between(20 * NS_PER_MS, 250 * NS_PER_MS), deliver, call);
        return;
    }
    struct control_request *request = check_alloc(calloc(1, sizeof *request));
    request->call = call;
    *server->last = request;
    server->last = &request->next;
    server->held[server->held_count++] = call;
    call->holder = server;
    sim_descriptor_changed(server->descriptor);
}

static void forget_held(struct control_server *server, const struct call *call)
{
    for (unsigned i = 0; i < server->held_count; i++)
        if (server->held[i] == call)
            server->held[i--] = server->held[--server->held_count];
}

/* The connection is gone: what was asked over it is asked again. */
static void closed_server(struct sim_descriptor *descriptor)
{
    struct control_server *server = descriptor->object;
    server->descriptor = NULL;
    for (unsigned i = 0; i < server->held_count; i++)
        if (server->held[i]->holder == server && !server->held[i]->over)
            sim_at(sim_now() + sim_between(20 * NS_PER_MS, 250 * NS_PER_MS), deliver, server->held[i]);
    server->held_count = 0;
}

static uint32_t server_ready(struct sim_descriptor *descriptor)
{
    return ((struct control_server *)descriptor->object)->first ? EPOLLIN : 0;
}

static const struct sim_kind control_kind = {"control", closed_server, server_ready};

struct reply_on_its_way {
    struct call *call;
    struct control_server *from;
    struct wire_header header;
    uint8_t *body;
};

static void arrive(void *argument)
{
    struct reply_on_its_way *r = argument;
    struct call *call = r->call;
    if (!call->over && sim_network_is_blocked(call->server_node, call->client_node)) {
        sim_at(sim_network_arrival(call->server_node, call->client_node), arrive, r);
        return;
    }
    if (!call->over && call->holder == r->from) {
        call->over = true;
        call->reply = r->header;
        call->reply_body = r->body;
        sim_wake(call);
    }
    free(r);
}

/* ---- server ---- */

int control_listen(const struct address *address, struct address *bound, struct control_server **server)
{
    CHECK(server_count < SERVERS);
    struct control_server *s = check_alloc(calloc(1, sizeof *s));
    s->node = sim_node();
    s->port = address->port;
    s->last = &s->first;
    s->descriptor = sim_descriptor_open(&control_kind, s);
    servers[server_count++] = s;
    if (bound)
        *bound = *address;
    *server = s;
    return 0;
}

void control_server_destroy(struct control_server *server)
{
    if (server && server->descriptor)
        sim_descriptor_close(server->descriptor);
}

int control_server_fd(const struct control_server *server)
{
    return server->descriptor->fd;
}

uint64_t control_bad_frames(const struct control_server *server)
{
    (void)server;
    return 0;
}

int control_recv(struct control_server *server, struct control_request **request, struct wire_header *header,
                 const void **body)
{
    struct control_request *r = server->first;
    if (!r)
        return 0;
    server->first = r->next;
    if (!server->first)
        server->last = &server->first;
    *header = r->call->header;
    *body = r->call->body;
    *request = r;
    sim_trace("ctl-recv", header->type, r->call->client_node);
    return 1;
}

void control_reply(struct control_server *server, struct control_request *request, uint16_t status,
                   const union wire_any *value)
{
    struct call *call = request->call;
    struct reply_on_its_way *r = check_alloc(calloc(1, sizeof *r));
    *r = (struct reply_on_its_way){.call = call, .from = server};
    r->header = (struct wire_header){
        .type = call->header.type | WIRE_REPLY, .status = status, .sequence = call->header.sequence};
    if (status == WIRE_OK)
        r->body = encode(r->header.type, value, &r->header.body_bytes);
    forget_held(server, call);
    sim_at(sim_network_arrival(call->server_node, call->client_node), arrive, r);
    control_drop(request);
}

void control_drop(struct control_request *request)
{
    free(request);
}

/* ---- client ---- */

static void closed_client(struct sim_descriptor *descriptor)
{
    struct control_client *client = descriptor->object;
    client->descriptor = NULL;
    if (client->call)
        client->call->over = true;
}

static const struct sim_kind client_kind = {"control client", closed_client, NULL};

int control_connect(const struct address *address, struct control_client **client)
{
    struct control_client *c = check_alloc(calloc(1, sizeof *c));
    c->descriptor = sim_descriptor_open(&client_kind, c);
    c->node = sim_node();
    c->address = *address;
    (void)pthread_mutex_init(&c->lock, NULL);
    *client = c;
    return 0;
}

void control_client_cancel(struct control_client *client)
{
    client->cancelled = true;
    if (client->call)
        sim_wake(client->call);
}

void control_client_destroy(struct control_client *client)
{
    if (client && client->descriptor)
        sim_descriptor_close(client->descriptor); /* the memory stays: replies may be on their way to it */
}

int control_call(struct control_client *client, uint16_t type, const union wire_any *request, int timeout_ms,
                 struct wire_header *reply, union wire_any *value)
{
    SCOPE_UNLOCK(&client->lock);
    struct call *call = check_alloc(calloc(1, sizeof *call));
    int64_t deadline = sim_now() + timeout_ms * NS_PER_MS;
    call->client_node = client->node;
    call->server_node = node_of(client->address.host);
    call->port = client->address.port;
    call->header = (struct wire_header){.type = type, .sequence = ++client->sequence};
    call->body = encode(type, request, &call->header.body_bytes);
    client->call = call;
    sim_at(sim_network_arrival(call->client_node, call->server_node), deliver, call);
    while (!call->over && !client->cancelled && sim_now() < deadline)
        (void)sim_wait(call, deadline);
    if (!call->over) {
        call->over = true;
        return client->cancelled ? -ECANCELED : -ETIMEDOUT;
    }
    *reply = call->reply;
    return reply->status == WIRE_OK ? wire_get_any(reply->type, call->reply_body, reply->body_bytes, value) : 0;
}
