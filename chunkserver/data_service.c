/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/data_service.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chunkserver/data_connection.h"
#include "chunkserver/shm_requests.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"

enum {
    CONNECTIONS_LIMIT = 4096,
    STACK_BYTES = 256 * 1024, /* name resolution needs most of it */
    PAGE_BYTES = 4096,
};

struct listener {
    struct data_service *service;
    int fd;
    bool local; /* a Unix socket */
    bool started;
    pthread_t acceptor;
};

struct data_service {
    struct store *store;
    struct serve_counters *counters;
    struct chain *chain;
    struct write_order order;
    pthread_attr_t thread_attr;

    pthread_mutex_t lock;
    struct listener listeners[2];
    pthread_cond_t fewer;
    struct data_connection *connections;
    unsigned count;
    bool stopping;
};

/* ---- a connection ---- */

static void end_connection(struct data_connection *c)
{
    struct data_service *s = c->owner;
    SCOPE_UNLOCK(&s->lock);
    if (c->previous)
        c->previous->next = c->next;
    else
        s->connections = c->next;
    if (c->next)
        c->next->previous = c->previous;
    /* Under the lock: who stops the service must not shut down a descriptor that is another one by then. */
    stream_close(&c->stream);
    shm_requests_end(c);
    if (c->gauge)
        (*c->gauge)--;
    free(c->data);
    free(c);
    s->count--;
    (void)pthread_cond_signal(&s->fewer);
}

static int serve_next(struct data_connection *c)
{
    struct wire_header header;
    const void *body;
    int rc = stream_recv(&c->stream, &header, &body);
    return rc < 0 ? rc : data_requests_handle(c, &header, body);
}

static void *serve_connection(void *argument)
{
    struct data_connection *c = (struct data_connection *)argument;
    struct serve_counters *counters = c->counters;
    c->data = check_alloc(aligned_alloc(PAGE_BYTES, WIRE_PAYLOAD_LIMIT + 2 * WIRE_BLOCK_BYTES));
    c->scratch = c->data + WIRE_PAYLOAD_LIMIT;
    int rc = 0;
    while (rc == 0)
        rc = serve_next(c);
    if (rc == -EBADMSG) {
        serve_count(counters, bad_frames, 1);
        log_warning("closed a connection that sent a malformed or misplaced message");
    }
    end_connection(c);
    return NULL;
}

/* ---- accepting ---- */

static void start_connection(struct data_service *s, struct stream *stream, bool local)
{
    struct data_connection *c = check_alloc(calloc(1, sizeof *c));
    int one = 1;
    /* So that a peer whose machine is gone does not hold a thread for ever. */
    (void)setsockopt(stream->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    c->owner = s;
    c->stream = *stream;
    c->local = local;
    if (local)
        stream_expect_fd(&c->stream);
    c->store = s->store;
    c->counters = s->counters;
    c->chain = s->chain;
    c->order = &s->order;
    {
        SCOPE_UNLOCK(&s->lock);
        if (s->stopping) {
            stream_close(&c->stream);
            free(c);
            return;
        }
        c->next = s->connections;
        if (c->next)
            c->next->previous = c;
        s->connections = c;
        s->count++;
    }
    pthread_t thread;
    int rc = pthread_create(&thread, &s->thread_attr, serve_connection, c);
    if (rc != 0) {
        log_error("no thread for a connection: %s", strerror(rc));
        end_connection(c);
    }
}

static bool is_full(struct data_service *s)
{
    SCOPE_UNLOCK(&s->lock);
    return s->count >= CONNECTIONS_LIMIT;
}

static bool is_stopping(struct data_service *s)
{
    SCOPE_UNLOCK(&s->lock);
    return s->stopping;
}

static void *accept_connections(void *argument)
{
    struct listener *l = (struct listener *)argument;
    struct data_service *s = l->service;
    for (;;) {
        struct stream stream;
        int rc = stream_accept(l->fd, &stream);
        if (is_stopping(s)) {
            if (rc == 0)
                stream_close(&stream);
            return NULL;
        }
        if (rc < 0) {
            log_error("accepting connections: %s", strerror(-rc));
            clock_sleep_ns(NS_PER_S / 10);
        } else if (is_full(s)) {
            log_error("refused a connection: there are %d already", CONNECTIONS_LIMIT);
            stream_close(&stream);
        } else {
            start_connection(s, &stream, l->local);
        }
    }
}

/* ---- the service ---- */

/* The service's lock is held, or nobody else knows the service yet. */
static void start_listener(struct data_service *s, struct listener *l, int fd, bool local)
{
    CHECK(!l->started);
    *l = (struct listener){.service = s, .fd = fd, .local = local, .started = true};
    CHECK(pthread_create(&l->acceptor, NULL, accept_connections, l) == 0);
}

void data_service_serve_local(struct data_service *service, int listen_fd)
{
    SCOPE_UNLOCK(&service->lock);
    start_listener(service, &service->listeners[1], listen_fd, true);
}

struct data_service *data_service_create(int listen_fd, struct store *store, struct serve_counters *counters)
{
    struct data_service *s = check_alloc(calloc(1, sizeof *s));
    s->store = store;
    s->counters = counters;
    s->chain = chain_create(store);
    write_order_init(&s->order);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->fewer, NULL);
    CHECK(pthread_attr_init(&s->thread_attr) == 0);
    CHECK(pthread_attr_setstacksize(&s->thread_attr, STACK_BYTES) == 0);
    CHECK(pthread_attr_setdetachstate(&s->thread_attr, PTHREAD_CREATE_DETACHED) == 0);
    start_listener(s, &s->listeners[0], listen_fd, false);
    return s;
}

void data_service_destroy(struct data_service *service)
{
    struct data_service *s = service;
    {
        SCOPE_UNLOCK(&s->lock);
        s->stopping = true;
        for (struct data_connection *c = s->connections; c; c = c->next)
            (void)shutdown(c->stream.fd, SHUT_RDWR);
    }
    for (unsigned i = 0; i < 2 && s->listeners[i].started; i++) {
        (void)shutdown(s->listeners[i].fd, SHUT_RDWR);
        (void)pthread_join(s->listeners[i].acceptor, NULL);
    }
    {
        SCOPE_UNLOCK(&s->lock);
        while (s->count)
            (void)pthread_cond_wait(&s->fewer, &s->lock);
    }
    for (unsigned i = 0; i < 2 && s->listeners[i].started; i++)
        (void)close(s->listeners[i].fd);
    chain_destroy(s->chain);
    write_order_fini(&s->order);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->fewer);
    (void)pthread_attr_destroy(&s->thread_attr);
    free(s);
}
