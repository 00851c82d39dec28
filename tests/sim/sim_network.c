/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "common/check.h"
#include "tests/sim/sim_descriptors.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_wrap.h"

enum { WINDOW_BYTES = 192 * 1024, PIECE_BYTES = 24 * 1024, BACKLOG = 64, LISTENERS = 64 };

#define RETRANSMIT_NS (200 * NS_PER_MS)

enum segment_kind { SEGMENT_DATA, SEGMENT_END, SEGMENT_RESET };

struct segment {
    struct segment *next;
    int64_t arrival_ns;
    enum segment_kind kind;
    size_t bytes;
    uint8_t data[];
};

/* What one side has received and what is on its way to it. */
struct half {
    struct connection *connection;
    struct sim_descriptor *descriptor; /* NULL: that side closed it, or has not accepted it yet */
    unsigned node;
    struct segment *first, **last; /* on the way */
    size_t in_flight;
    bool pumping, closed, silent;
    uint8_t *data;
    size_t room, start, end;
    bool ended, reset;
};

struct connection {
    struct half halves[2];
};

struct listener {
    struct sim_descriptor *descriptor; /* NULL: free */
    unsigned node;
    uint16_t port;
    bool shut;
    struct connection *backlog[BACKLOG];
    unsigned waiting;
};

/* A socket before it is a connection. */
struct blank {
    uint16_t port;
};

static struct listener listeners[LISTENERS];
static int64_t blocked_until[SIM_NODES][SIM_NODES];
static bool without_power[SIM_NODES];
static int64_t delay_ns = 100 * NS_PER_US;
static unsigned lost_per_mille;
static uint16_t next_port = 20000;

/* ---- ways between nodes ---- */

void sim_network_set(int64_t delay, unsigned lost)
{
    delay_ns = delay;
    lost_per_mille = lost;
}

void sim_network_block(unsigned from, unsigned to, int64_t until_ns)
{
    blocked_until[from][to] = until_ns;
}

void sim_network_heal(void)
{
    memset(blocked_until, 0, sizeof blocked_until);
    lost_per_mille = 0;
}

void sim_network_power(unsigned node, bool on)
{
    without_power[node] = !on;
}

bool sim_network_has_power(unsigned node)
{
    return !without_power[node];
}

bool sim_network_is_blocked(unsigned from, unsigned to)
{
    return from != to && blocked_until[from][to] > sim_now();
}

int64_t sim_network_arrival(unsigned from, unsigned to)
{
    int64_t at = sim_now() + sim_between(delay_ns / 4, 2 * delay_ns);
    if (from == to)
        return sim_now() + sim_between(1000, 20000);
    while (lost_per_mille && sim_chance(lost_per_mille))
        at += sim_between(RETRANSMIT_NS, 3 * RETRANSMIT_NS);
    if (blocked_until[from][to] > at)
        at = blocked_until[from][to] + sim_between(0, RETRANSMIT_NS);
    return at;
}

/* ---- segments ---- */

static struct half *other(struct half *half)
{
    return &half->connection->halves[half == &half->connection->halves[0]];
}

static void changed(struct half *half)
{
    sim_wake(half);
    sim_descriptor_changed(half->descriptor);
}

static void put(struct half *to, enum segment_kind kind, const void *data, size_t bytes);

static void take(struct half *half, const struct segment *segment)
{
    if (half->silent)
        return;
    switch (segment->kind) {
    case SEGMENT_END:
        half->ended = true;
        return;
    case SEGMENT_RESET:
        half->reset = true;
        return;
    case SEGMENT_DATA:
        break;
    }
    if (half->closed) {
        put(other(half), SEGMENT_RESET, NULL, 0);
        return;
    }
    if (half->end + segment->bytes > half->room) {
        memmove(half->data, half->data + half->start, half->end - half->start);
        half->end -= half->start;
        half->start = 0;
        if (half->end + segment->bytes > half->room) {
            half->room = half->end + segment->bytes + 4096;
            half->data = check_alloc(realloc(half->data, half->room));
        }
    }
    memcpy(half->data + half->end, segment->data, segment->bytes);
    half->end += segment->bytes;
}

static void pump(void *argument)
{
    struct half *half = argument;
    unsigned from = other(half)->node;
    while (half->first && half->first->arrival_ns <= sim_now()) {
        struct segment *segment = half->first;
        if (sim_network_is_blocked(from, half->node)) {
            segment->arrival_ns = sim_network_arrival(from, half->node);
            break;
        }
        half->first = segment->next;
        if (!half->first)
            half->last = &half->first;
        half->in_flight -= segment->bytes;
        take(half, segment);
        free(segment);
        changed(half);
        changed(other(half)); /* there is room again */
    }
    half->pumping = half->first != NULL;
    if (half->first)
        sim_at(half->first->arrival_ns, pump, half);
}

static void put(struct half *to, enum segment_kind kind, const void *data, size_t bytes)
{
    struct segment *segment = check_alloc(malloc(sizeof *segment + bytes));
    *segment = (struct segment){.kind = kind, .bytes = bytes, .arrival_ns = sim_network_arrival(other(to)->node, to->node)};
    if (bytes)
        memcpy(segment->data, data, bytes);
    *to->last = segment;
    to->last = &segment->next;
    to->in_flight += bytes;
    if (!to->pumping) {
        to->pumping = true;
        sim_at(segment->arrival_ns, pump, to);
    }
}

static void close_half(struct half *half)
{
    half->descriptor = NULL;
    if (half->closed)
        return;
    half->closed = true;
    if (without_power[half->node])
        half->silent = true;
    else
        put(other(half), half->end > half->start ? SEGMENT_RESET : SEGMENT_END, NULL, 0);
    sim_wake(half);
}

static uint32_t half_ready(const struct half *half)
{
    const struct half *peer = &half->connection->halves[half == &half->connection->halves[0]];
    uint32_t ready = 0;
    if (half->end > half->start || half->ended || half->reset)
        ready |= EPOLLIN;
    if (half->reset)
        ready |= EPOLLHUP | EPOLLERR;
    if (half->reset || peer->in_flight + peer->end - peer->start < WINDOW_BYTES)
        ready |= EPOLLOUT;
    return ready;
}

static void closed_connection(struct sim_descriptor *descriptor)
{
    close_half(&((struct connection *)descriptor->object)->halves[descriptor->side]);
}

static uint32_t connection_ready(struct sim_descriptor *descriptor)
{
    return half_ready(&((struct connection *)descriptor->object)->halves[descriptor->side]);
}

static void closed_listener(struct sim_descriptor *descriptor)
{
    struct listener *listener = descriptor->object;
    for (unsigned i = 0; i < listener->waiting; i++)
        close_half(&listener->backlog[i]->halves[1]);
    listener->waiting = 0;
    listener->descriptor = NULL;
}

static uint32_t listener_ready(struct sim_descriptor *descriptor)
{
    return ((struct listener *)descriptor->object)->waiting ? EPOLLIN : 0;
}

static void closed_blank(struct sim_descriptor *descriptor)
{
    free(descriptor->object);
}

static const struct sim_kind connection_kind = {"connection", closed_connection, connection_ready};
static const struct sim_kind listener_kind = {"listener", closed_listener, listener_ready};
static const struct sim_kind blank_kind = {"socket", closed_blank, NULL};

bool sim_network_reset_one(unsigned node)
{
    struct half *chosen = NULL;
    uint64_t seen = 0;
    for (int fd = SIM_FD_FIRST; fd < SIM_FD_FIRST + SIM_FDS; fd++) {
        struct sim_descriptor *d = sim_descriptor_find(fd);
        if (d && d->kind == &connection_kind && d->node == node && sim_below(++seen) == 0)
            chosen = &((struct connection *)d->object)->halves[d->side];
    }
    if (!chosen)
        return false;
    sim_trace("reset", node, other(chosen)->node);
    chosen->reset = other(chosen)->reset = true;
    changed(chosen);
    changed(other(chosen));
    return true;
}

/* ---- calls: names and sockets ---- */

SIM_WRAP(int, getaddrinfo, const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found)
{
    struct addrinfo *info = check_alloc(calloc(1, sizeof *info + sizeof(struct sockaddr_in)));
    struct sockaddr_in *name = (struct sockaddr_in *)(info + 1);
    name->sin_family = AF_INET;
    name->sin_port = htons((uint16_t)atoi(port));
    CHECK(!host || inet_pton(AF_INET, host, &name->sin_addr) == 1);
    *info = (struct addrinfo){.ai_family = AF_INET, .ai_socktype = hints->ai_socktype,
                              .ai_addrlen = sizeof *name, .ai_addr = (struct sockaddr *)name};
    *found = info;
    return 0;
}

SIM_WRAP(void, freeaddrinfo, struct addrinfo *info)
{
    free(info);
}

SIM_WRAP(int, socket, int family, int type, int protocol)
{
    (void)type;
    (void)protocol;
    CHECK(family == AF_INET);
    return sim_descriptor_open(&blank_kind, check_alloc(calloc(1, sizeof(struct blank))))->fd;
}

SIM_WRAP(int, setsockopt, int fd, int level, int name, const void *value, socklen_t bytes)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    (void)bytes;
    if (!d)
        return SIM_FAIL(EBADF);
    if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO)) {
        const struct timeval *t = value;
        int64_t ns = t->tv_sec * NS_PER_S + t->tv_usec * NS_PER_US;
        *(name == SO_RCVTIMEO ? &d->receive_timeout_ns : &d->send_timeout_ns) = ns;
    }
    return 0;
}

SIM_WRAP(int, bind, int fd, const struct sockaddr *address, socklen_t bytes)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    (void)bytes;
    CHECK(d && d->kind == &blank_kind);
    uint16_t port = ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    ((struct blank *)d->object)->port = port ? port : next_port++;
    return 0;
}

SIM_WRAP(int, listen, int fd, int backlog)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    (void)backlog;
    CHECK(d && d->kind == &blank_kind);
    unsigned i = 0;
    while (listeners[i].descriptor)
        CHECK(++i < LISTENERS);
    listeners[i] = (struct listener){.descriptor = d, .node = d->node, .port = ((struct blank *)d->object)->port};
    free(d->object);
    d->object = &listeners[i];
    d->kind = &listener_kind;
    return 0;
}

SIM_WRAP(int, getsockname, int fd, struct sockaddr *address, socklen_t *bytes)
{
    const struct sim_descriptor *d = sim_descriptor_find(fd);
    struct sockaddr_in name = {.sin_family = AF_INET};
    CHECK(d && d->kind == &listener_kind && *bytes >= sizeof name);
    name.sin_port = htons(((const struct listener *)d->object)->port);
    memcpy(address, &name, sizeof name);
    *bytes = sizeof name;
    return 0;
}

/* ---- connecting ---- */

static struct listener *find_listener(unsigned node, uint16_t port)
{
    for (unsigned i = 0; i < LISTENERS; i++)
        if (listeners[i].descriptor && listeners[i].node == node && listeners[i].port == port && !listeners[i].shut)
            return &listeners[i];
    return NULL;
}

static struct connection *make_connection(struct sim_descriptor *client, unsigned server)
{
    struct connection *c = check_alloc(calloc(1, sizeof *c));
    for (unsigned side = 0; side < 2; side++)
        c->halves[side] = (struct half){.connection = c, .node = side ? server : client->node,
                                        .last = &c->halves[side].first};
    c->halves[0].descriptor = client;
    return c;
}

SIM_WRAP(int, connect, int fd, const struct sockaddr *address, socklen_t bytes)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    const struct sockaddr_in *name = (const struct sockaddr_in *)(const void *)address;
    unsigned node = ntohl(name->sin_addr.s_addr) & 0xff;
    (void)bytes;
    CHECK(d && d->kind == &blank_kind && node < SIM_NODES);
    int64_t deadline = d->send_timeout_ns ? sim_now() + d->send_timeout_ns : SIM_NEVER;
    int64_t there = sim_network_arrival(d->node, node);
    if (there > deadline || without_power[node]) {
        sim_sleep((deadline == SIM_NEVER ? 120 * NS_PER_S : d->send_timeout_ns));
        return SIM_FAIL(EINPROGRESS);
    }
    sim_sleep(there - sim_now());
    struct listener *listener = find_listener(node, ntohs(name->sin_port));
    struct connection *made = NULL;
    if (listener && listener->waiting < BACKLOG) {
        made = make_connection(d, node);
        free(d->object);
        *d = (struct sim_descriptor){.kind = &connection_kind, .fd = fd, .node = d->node, .object = made,
                                     .receive_timeout_ns = d->receive_timeout_ns, .send_timeout_ns = d->send_timeout_ns};
        listener->backlog[listener->waiting++] = made;
        sim_wake(listener);
        sim_descriptor_changed(listener->descriptor);
    }
    int64_t back = sim_network_arrival(node, d->node);
    sim_sleep((back < deadline ? back : deadline) - sim_now()); /* who gives up closes the socket */
    sim_trace("connect", node, made != NULL);
    return back > deadline ? SIM_FAIL(EINPROGRESS) : made ? 0 : SIM_FAIL(ECONNREFUSED);
}

SIM_WRAP(int, accept4, int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    (void)address;
    (void)bytes;
    (void)flags;
    CHECK(d && d->kind == &listener_kind);
    struct listener *listener = d->object;
    while (!listener->waiting) {
        if (listener->shut)
            return SIM_FAIL(EINVAL);
        if (d->flags & O_NONBLOCK)
            return SIM_FAIL(EAGAIN);
        (void)sim_wait(listener, SIM_NEVER);
    }
    struct connection *connection = listener->backlog[0];
    memmove(listener->backlog, listener->backlog + 1, --listener->waiting * sizeof *listener->backlog);
    struct sim_descriptor *accepted = sim_descriptor_open(&connection_kind, connection);
    accepted->side = 1;
    connection->halves[1].descriptor = accepted;
    return accepted->fd;
}

SIM_WRAP(int, shutdown, int fd, int how)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    (void)how;
    CHECK(d);
    if (d->kind == &listener_kind) {
        ((struct listener *)d->object)->shut = true;
        sim_wake(d->object);
    } else if (d->kind == &connection_kind) {
        struct half *half = &((struct connection *)d->object)->halves[d->side];
        half->ended = true;
        put(other(half), SEGMENT_END, NULL, 0);
        changed(half);
    }
    return 0;
}

/* ---- sending and receiving ---- */

static struct half *find_half(int fd, struct sim_descriptor **d)
{
    *d = sim_descriptor_find(fd);
    CHECK(*d && (*d)->kind == &connection_kind && (*d)->node == sim_node());
    return &((struct connection *)(*d)->object)->halves[(*d)->side];
}

/* Up to a piece of what the vector holds; the caller sends the rest. */
static ssize_t send_some(int fd, const struct iovec *pieces, size_t count, int flags)
{
    struct sim_descriptor *d;
    struct half *half = find_half(fd, &d), *peer = other(half);
    int64_t deadline = d->send_timeout_ns ? sim_now() + d->send_timeout_ns : SIM_NEVER;
    uint8_t data[PIECE_BYTES];
    size_t bytes = 0, room = sim_chance(100) ? 1 + sim_below(PIECE_BYTES) : PIECE_BYTES;
    for (size_t i = 0; i < count && bytes < room; i++) {
        size_t n = pieces[i].iov_len < room - bytes ? pieces[i].iov_len : room - bytes;
        memcpy(data + bytes, pieces[i].iov_base, n);
        bytes += n;
    }
    sim_yield();
    for (;;) {
        if (half->reset)
            return SIM_FAIL(EPIPE);
        if (peer->in_flight + peer->end - peer->start < WINDOW_BYTES)
            break;
        if (flags & MSG_DONTWAIT)
            return SIM_FAIL(EAGAIN);
        if (!sim_wait(half, deadline))
            return SIM_FAIL(EAGAIN);
    }
    sim_trace("send", peer->node, bytes);
    put(peer, SEGMENT_DATA, data, bytes);
    return (ssize_t)bytes;
}

SIM_WRAP(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
    return send_some(fd, message->msg_iov, message->msg_iovlen, flags);
}

SIM_WRAP(ssize_t, send, int fd, const void *data, size_t bytes, int flags)
{
    struct iovec piece = {(void *)(uintptr_t)data, bytes};
    return send_some(fd, &piece, 1, flags);
}

SIM_WRAP(ssize_t, recv, int fd, void *into, size_t bytes, int flags)
{
    struct sim_descriptor *d;
    struct half *half = find_half(fd, &d);
    int64_t deadline = d->receive_timeout_ns ? sim_now() + d->receive_timeout_ns : SIM_NEVER;
    sim_yield();
    while (half->end == half->start) {
        if (half->reset)
            return SIM_FAIL(ECONNRESET);
        if (half->ended)
            return 0;
        if (flags & MSG_DONTWAIT)
            return SIM_FAIL(EAGAIN);
        if (!sim_wait(half, deadline))
            return SIM_FAIL(EAGAIN);
    }
    size_t n = half->end - half->start < bytes ? half->end - half->start : bytes;
    if (n > 1 && sim_chance(50))
        n = 1 + sim_below(n);
    memcpy(into, half->data + half->start, n);
    if (!(flags & MSG_PEEK)) {
        half->start += n;
        sim_wake(other(half));
        sim_descriptor_changed(other(half)->descriptor);
    }
    sim_trace("recv", other(half)->node, n);
    return (ssize_t)n;
}
