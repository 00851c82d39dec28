/* SPDX-License-Identifier: Apache-2.0 */
#include "master/client_connections.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/log.h"
#include "common/stream.h"
#include "master/client_hello.h"
#include "master/client_requests.h"

enum { CONNECTIONS_LIMIT = 16384, FRAMES_A_ROUND = 16, OUTPUT_KEPT_BYTES = 64 * 1024 };

#define PARKED_LIMIT_NS (10 * NS_PER_S)
#define HELLO_LIMIT_NS (10 * NS_PER_S)

struct connection {
    struct event_source source; /* first */
    struct client_connections *all;
    struct connection *next, *previous;
    struct stream stream;
    bool greeted, closed;
    session_id session; /* 0: an administrator's */
    uint32_t slot;
    int64_t accepted_ns;

    uint8_t *output; /* [output_start, output_end) is to be sent */
    size_t output_room, output_start, output_end;
    bool waits_for_room; /* the socket is full: EPOLLOUT is asked for */
    bool in_flush, in_again;
    struct connection *next_flush, *next_again;

    /* the request that waits, with its own copy of the body */
    bool parked;
    int64_t parked_ns;
    struct wire_header parked_header;
    void *parked_body;
    struct connection *next_parked;
};

struct client_connections {
    struct event_source source; /* first: of the listening socket */
    struct master *master;
    struct master_loop *loop;
    int listen_fd;
    uint32_t count;
    struct connection *first;
    struct connection *dead;  /* closed in this round; freed at its end */
    struct connection *flush, *again;
    struct connection *parked, **parked_last;
    uint64_t bad_frames;
    uint8_t *reply;   /* WIRE_BODY_LIMIT each: a reply's body, and lists for it */
    uint8_t *scratch;
};

/* ---- life ---- */

static void unpark(struct connection *connection)
{
    struct client_connections *all = connection->all;
    struct connection **link = &all->parked;
    if (!connection->parked)
        return;
    while (*link != connection)
        link = &(*link)->next_parked;
    *link = connection->next_parked;
    if (all->parked_last == &connection->next_parked)
        all->parked_last = link;
    connection->parked = false;
    free(connection->parked_body);
    connection->parked_body = NULL;
}

static struct slot *find_slot(const struct connection *connection)
{
    struct session *session =
        connection->session ? sessions_find(&connection->all->master->core.sessions, connection->session) : NULL;
    return session && connection->greeted ? session_slot(session, connection->slot) : NULL;
}

/* Closes the socket at once; the memory goes at the end of the round, when nobody points to it any more. */
static void close_connection(struct connection *connection)
{
    struct client_connections *all = connection->all;
    if (connection->closed)
        return;
    connection->closed = true;
    unpark(connection);
    struct slot *slot = find_slot(connection);
    if (slot && slot->connection == connection)
        slot->connection = NULL;
    master_loop_remove(all->loop, connection->stream.fd);
    stream_close(&connection->stream);
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        all->first = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    connection->next = all->dead;
    all->dead = connection;
    all->count--;
}

/* What client_connections_go_on has yet to pass by stays until it has. */
static void bury_dead(struct client_connections *all)
{
    struct connection *kept = NULL;
    while (all->dead) {
        struct connection *connection = all->dead;
        all->dead = connection->next;
        if (connection->in_again) {
            connection->next = kept;
            kept = connection;
            continue;
        }
        free(connection->output);
        free(connection);
    }
    all->dead = kept;
}

/* ---- output ---- */

static void queue_reply(struct connection *connection, const struct wire_header *header, const void *body)
{
    size_t bytes = WIRE_HEADER_BYTES + (size_t)header->body_bytes;
    if (connection->output_end + bytes > connection->output_room) {
        connection->output_room = connection->output_end + bytes + 512;
        connection->output = check_alloc(realloc(connection->output, connection->output_room));
    }
    wire_put_header(connection->output + connection->output_end, header);
    if (header->body_bytes)
        memcpy(connection->output + connection->output_end + WIRE_HEADER_BYTES, body, header->body_bytes);
    connection->output_end += bytes;
    if (!connection->in_flush) {
        connection->in_flush = true;
        connection->next_flush = connection->all->flush;
        connection->all->flush = connection;
    }
}

static void watch(struct connection *connection, bool for_room)
{
    if (connection->waits_for_room == for_room)
        return;
    connection->waits_for_room = for_room;
    if (master_loop_change(connection->all->loop, connection->stream.fd, for_room ? EPOLLOUT : EPOLLIN,
                           &connection->source) < 0)
        close_connection(connection);
}

static void send_output(struct connection *connection)
{
    while (connection->output_start < connection->output_end) {
        ssize_t n = send(connection->stream.fd, connection->output + connection->output_start,
                         connection->output_end - connection->output_start, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            watch(connection, true);
            return;
        }
        if (n < 0) {
            close_connection(connection);
            return;
        }
        connection->output_start += (size_t)n;
    }
    connection->output_start = connection->output_end = 0;
    if (connection->output_room > OUTPUT_KEPT_BYTES) {
        free(connection->output);
        connection->output = NULL;
        connection->output_room = 0;
    }
    watch(connection, false);
}

void client_connections_flush(struct client_connections *all)
{
    while (all->flush) {
        struct connection *connection = all->flush;
        all->flush = connection->next_flush;
        connection->in_flush = false;
        if (!connection->closed)
            send_output(connection);
    }
    bury_dead(all);
}

/* ---- requests ---- */

static void answer(struct connection *connection, const struct wire_header *request, uint16_t status,
                   const struct wire_out *reply)
{
    struct wire_header header = {
        .type = request->type | WIRE_REPLY, .status = status, .sequence = request->sequence};
    header.alone = client_hello_is_alone(connection->all->master);
    header.body_bytes = status == WIRE_OK ? (uint32_t)reply->used : 0;
    queue_reply(connection, &header, reply->data);
}

static void reject(struct connection *connection, const struct wire_header *header)
{
    const char *name = wire_type_name(header->type);
    connection->all->bad_frames++;
    log_warning("a client's connection is closed: %s message %s (%u)", "malformed or misplaced", name ? name : "?",
                header->type);
    close_connection(connection);
}

static void greet(struct connection *connection, const struct wire_header *header, const void *body)
{
    struct client_connections *all = connection->all;
    struct wire_hello hello;
    struct wire_hello_reply hello_reply = {0};
    struct wire_out reply = wire_out_on(all->reply, WIRE_BODY_LIMIT);
    if (header->type != WIRE_TYPE_hello || wire_get_hello(body, header->body_bytes, &hello) < 0) {
        reject(connection, header);
        return;
    }
    uint16_t status = client_hello_answer(all->master, &hello, &hello_reply, &connection->session);
    if (status == WIRE_OK) {
        connection->greeted = true;
        connection->slot = hello.slot;
        wire_put_hello_reply(&reply, &hello_reply);
        struct slot *slot = find_slot(connection);
        if (slot && slot->connection)
            close_connection(slot->connection); /* the client gave it up before it made this one */
        if (slot)
            slot->connection = connection;
    }
    answer(connection, header, status, &reply);
}

static void park(struct connection *connection, const struct wire_header *header, const void *body)
{
    struct client_connections *all = connection->all;
    connection->parked = true;
    connection->parked_ns = all->master->now.mono_ns;
    connection->parked_header = *header;
    connection->parked_body = check_alloc(malloc(header->body_bytes + 1u));
    memcpy(connection->parked_body, body, header->body_bytes);
    connection->next_parked = NULL;
    *all->parked_last = connection;
    all->parked_last = &connection->next_parked;
}

/* Handles a request and queues its reply; false: it has to wait. */
static bool handle(struct connection *connection, const struct wire_header *header, const void *body, int64_t waited_ns)
{
    struct client_connections *all = connection->all;
    struct master *master = all->master;
    struct wire_out reply = wire_out_on(all->reply, WIRE_BODY_LIMIT);
    struct client_request request = {.master = master,
                                     .slot = connection->slot,
                                     .waited_ns = waited_ns,
                                     .header = *header,
                                     .body = body,
                                     .scratch = all->scratch};
    uint16_t status = WIRE_NO_SESSION;
    if (connection->session) {
        request.session = sessions_find(&master->core.sessions, connection->session);
        if (request.session)
            request.session->last_heard_ns = master->now.mono_ns;
    }
    if (request.session || !connection->session)
        status = client_requests_handle(&request, &reply);
    if (status == CLIENT_REQUEST_PARKED)
        return false;
    if (status == WIRE_BAD_MESSAGE)
        reject(connection, header);
    else
        answer(connection, header, status, &reply);
    return true;
}

static void remember(struct connection *connection)
{
    struct client_connections *all = connection->all;
    if (connection->in_again)
        return;
    connection->in_again = true;
    connection->next_again = all->again;
    all->again = connection;
}

/* Takes the requests that have arrived. A client that sends more before it takes its replies, or while one waits, is
 * not served. */
static void serve(struct connection *connection)
{
    struct wire_header header;
    const void *body;
    int frames = 0;
    while (!connection->closed && !connection->parked && !connection->waits_for_room) {
        if (++frames > FRAMES_A_ROUND) {
            remember(connection);
            return;
        }
        int rc = stream_try_recv(&connection->stream, &header, &body);
        if (rc == 0)
            return;
        if (rc < 0) {
            if (rc == -EBADMSG) {
                connection->all->bad_frames++;
                log_warning("a client's connection is closed: what came is no frame");
            }
            close_connection(connection);
        } else if (!connection->greeted) {
            greet(connection, &header, body);
        } else if (!handle(connection, &header, body, 0)) {
            park(connection, &header, body);
        }
        if (!connection->closed && !stream_has_buffered(&connection->stream))
            return; /* most often there is no more; if there is, the next round brings it */
    }
}

static void connection_ready(struct event_source *source, uint32_t events)
{
    struct connection *connection = (struct connection *)source;
    if (connection->closed)
        return;
    if (connection->parked) { /* either the client is gone, or it sends what it should not send now */
        char byte;
        if (events & (EPOLLHUP | EPOLLERR) || recv(connection->stream.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
            close_connection(connection);
        return;
    }
    if (events & EPOLLOUT)
        send_output(connection);
    if (!connection->closed && !connection->waits_for_room)
        serve(connection);
}

bool client_connections_go_on(struct client_connections *all)
{
    struct connection *list = all->again;
    all->again = NULL;
    while (list) {
        struct connection *connection = list;
        list = connection->next_again;
        connection->in_again = false;
        if (!connection->closed)
            serve(connection);
    }
    return all->again != NULL;
}

void client_connections_retry(struct client_connections *all)
{
    struct connection *list = all->parked;
    all->parked = NULL;
    all->parked_last = &all->parked;
    while (list) {
        struct connection *connection = list;
        struct wire_header header = connection->parked_header;
        void *body = connection->parked_body;
        list = connection->next_parked;
        connection->parked = false;
        connection->parked_body = NULL;
        int64_t since_ns = connection->parked_ns;
        int64_t waited_ns = all->master->now.mono_ns - since_ns;
        bool done = handle(connection, &header, body, waited_ns);
        if (!done && waited_ns > PARKED_LIMIT_NS) {
            struct wire_out nothing = {0};
            answer(connection, &header, WIRE_TIMED_OUT, &nothing);
        } else if (!done) {
            park(connection, &header, body);
            connection->parked_ns = since_ns;
        }
        free(body);
        if (!connection->closed && !connection->parked)
            remember(connection);
    }
}

bool client_connections_has_parked(const struct client_connections *all)
{
    return all->parked != NULL;
}

/* ---- new connections ---- */

static void listen_ready(struct event_source *source, uint32_t events)
{
    struct client_connections *all = (struct client_connections *)source;
    struct stream stream;
    (void)events;
    while (stream_accept(all->listen_fd, &stream) == 0) {
        if (all->count >= CONNECTIONS_LIMIT) {
            log_warning("a connection is refused: there are %u already", all->count);
            stream_close(&stream);
            continue;
        }
        struct connection *connection = check_alloc(calloc(1, sizeof *connection));
        *connection = (struct connection){.source = {connection_ready},
                                          .all = all,
                                          .next = all->first,
                                          .stream = stream,
                                          .accepted_ns = all->master->now.mono_ns};
        if (all->first)
            all->first->previous = connection;
        all->first = connection;
        all->count++;
        if (master_loop_add(all->loop, stream.fd, EPOLLIN, &connection->source) < 0)
            close_connection(connection);
    }
}

void client_connections_tick(struct client_connections *all)
{
    for (struct connection *connection = all->first, *next; connection; connection = next) {
        next = connection->next;
        if (!connection->greeted && all->master->now.mono_ns - connection->accepted_ns > HELLO_LIMIT_NS)
            close_connection(connection);
    }
    client_hello_end_silent(all->master);
    client_hello_forget_newcomer(all->master);
}

int client_connections_create(struct master *master, struct master_loop *loop, int listen_fd,
                              struct client_connections **connections)
{
    struct client_connections *all = check_alloc(calloc(1, sizeof *all));
    *all = (struct client_connections){
        .source = {listen_ready}, .master = master, .loop = loop, .listen_fd = listen_fd};
    all->parked_last = &all->parked;
    all->reply = check_alloc(malloc(WIRE_BODY_LIMIT));
    all->scratch = check_alloc(malloc(WIRE_BODY_LIMIT));
    int rc = fcntl(listen_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
    if (rc == 0)
        rc = master_loop_add(loop, listen_fd, EPOLLIN, &all->source);
    if (rc < 0) {
        client_connections_destroy(all);
        return rc;
    }
    *connections = all;
    return 0;
}

void client_connections_destroy(struct client_connections *all)
{
    if (!all)
        return;
    while (all->first)
        close_connection(all->first);
    for (struct connection *connection = all->dead; connection; connection = connection->next)
        connection->in_again = false;
    bury_dead(all);
    (void)close(all->listen_fd);
    free(all->reply);
    free(all->scratch);
    free(all);
}
