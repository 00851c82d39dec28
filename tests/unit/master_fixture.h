/* SPDX-License-Identifier: Apache-2.0
 *
 * A master of the test's own: in a directory of its own, on sockets of its own, its loop in a thread. It can be
 * stopped and started again over the same directory. Also what a client and a chunkserver say to it.
 */
#ifndef CALF_TESTS_MASTER_FIXTURE_H
#define CALF_TESTS_MASTER_FIXTURE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "common/check.h"
#include "common/stream.h"
#include "master/client_connections.h"
#include "master/data_directory.h"
#include "master/server_control.h"
#include "tests/unit/scratch_dir.h"

struct master_fixture {
    char dir[SCRATCH_PATH];
    struct address clients, control;
    struct master master;
    struct master_loop *loop;
    pthread_t thread;
    int lock_fd;
};

static inline void *master_fixture_run(void *loop)
{
    CHECK(master_loop_run(loop) == 0);
    return NULL;
}

static inline void master_fixture_start(struct master_fixture *f)
{
    char why[DATA_DIRECTORY_WHY];
    struct control_server *server;
    struct address any = {.host = "127.0.0.1"};
    int fd;
    memset(&f->master, 0, sizeof f->master);
    CHECK(data_directory_lock(f->dir, false, &f->lock_fd) == 0);
    f->master.dir = f->dir;
    f->master.session_timeout_ms = 30000;
    if (data_directory_open(&f->master, why) < 0) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    f->master.now.mono_ns = clock_mono_ns();
    for (uint32_t i = 0; i < f->master.core.sessions.table.bucket_count; i++)
        for (struct id_node *node = f->master.core.sessions.table.buckets[i]; node; node = node->next)
            ((struct session *)node)->last_heard_ns = f->master.now.mono_ns;
    CHECK(master_loop_create(&f->master, &f->loop) == 0);
    CHECK(control_listen(&any, &f->control, &server) == 0);
    CHECK(server_control_create(&f->master, f->loop, server, &f->master.control) == 0);
    CHECK(stream_listen(&any, &fd, &f->clients) == 0);
    CHECK(client_connections_create(&f->master, f->loop, fd, &f->master.clients) == 0);
    CHECK(pthread_create(&f->thread, NULL, master_fixture_run, f->loop) == 0);
}

static inline void master_fixture_stop(struct master_fixture *f)
{
    CHECK(kill(getpid(), SIGTERM) == 0); /* it is blocked, so only the loop sees it */
    CHECK(pthread_join(f->thread, NULL) == 0);
    client_connections_destroy(f->master.clients);
    server_control_destroy(f->master.control);
    master_loop_destroy(f->loop);
    journal_close(f->master.journal);
    core_fini(&f->master.core);
    CHECK(close(f->lock_fd) == 0);
}

static inline struct master_fixture *master_fixture_create(void)
{
    struct master_fixture *f = check_alloc(calloc(1, sizeof *f));
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    scratch_make(f->dir);
    CHECK(data_directory_init(f->dir, CORE_CHUNK_BYTES_SMALL) == 0);
    master_fixture_start(f);
    return f;
}

static inline void master_fixture_destroy(struct master_fixture *f)
{
    master_fixture_stop(f);
    scratch_remove(f->dir);
    free(f);
}

/* ---- a client ---- */

struct test_client {
    struct stream stream;
    uint64_t session;
    uint32_t sequence;
    struct wire_header header;
    const void *body;
};

/* Says hello; the status of the answer. */
static inline uint16_t test_client_hello(struct test_client *c, const struct master_fixture *f, struct wire_hello hello)
{
    union wire_any request = {.hello = hello};
    struct wire_hello_reply reply;
    if (!hello.node.length)
        request.hello.node = wire_text("test");
    CHECK(stream_connect(&f->clients, 5000, &c->stream) == 0);
    CHECK(stream_call(&c->stream, WIRE_TYPE_hello, 0, &request, &c->header, &c->body) == 0);
    if (c->header.status == WIRE_OK) {
        CHECK(wire_get_hello_reply(c->body, c->header.body_bytes, &reply) == 0);
        c->session = reply.session;
    }
    return c->header.status;
}

/* A connection for the slot of a session (0: a new one). */
static inline struct test_client test_client_connect(const struct master_fixture *f, uint64_t session, uint32_t slot)
{
    struct test_client c = {.sequence = 10};
    struct wire_hello hello = {
        .protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_CLIENT, .session = session, .slot = slot};
    uint16_t status;
    while ((status = test_client_hello(&c, f, hello)) == WIRE_AGAIN) { /* the second session is let in after a while */
        stream_close(&c.stream);
        clock_sleep_ns(20 * NS_PER_MS);
    }
    CHECK(status == WIRE_OK);
    return c;
}

/* Sends a request with the next sequence number. */
static inline void test_client_send(struct test_client *c, uint16_t type, const union wire_any *request)
{
    uint8_t body[4096];
    struct wire_out out = wire_out_on(body, sizeof body);
    CHECK(wire_put_any(type, &out, request) == 0);
    struct wire_header header = {.body_bytes = (uint32_t)out.used, .type = type, .sequence = ++c->sequence};
    CHECK(stream_send(&c->stream, &header, body, NULL, 0) == 0);
}

/* Receives a reply; its status. */
static inline uint16_t test_client_recv(struct test_client *c)
{
    CHECK(stream_recv(&c->stream, &c->header, &c->body) == 0);
    return c->header.status;
}

static inline uint16_t test_client_ask(struct test_client *c, uint16_t type, const union wire_any *request)
{
    test_client_send(c, type, request);
    return test_client_recv(c);
}

static inline uint16_t test_client_create(struct test_client *c, const char *name, uint32_t flags,
                                          struct wire_attr *attr)
{
    union wire_any request = {
        .create = {.parent = ROOT_INODE, .name = wire_text(name), .mode = 0644, .flags = flags}};
    struct wire_create_reply reply;
    *attr = (struct wire_attr){0};
    uint16_t status = test_client_ask(c, WIRE_TYPE_create, &request);
    if (status == WIRE_OK) {
        CHECK(wire_get_create_reply(c->body, c->header.body_bytes, &reply) == 0);
        *attr = reply.attr;
    }
    return status;
}

/* True if the master closes the connection, and sends nothing before. */
static inline bool test_client_is_closed(struct test_client *c)
{
    return stream_recv(&c->stream, &c->header, &c->body) == -ECONNRESET;
}

#endif
