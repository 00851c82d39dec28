/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/control.h"
#include "common/stream.h"

enum { PATIENCE_MS = 10000, HELD_LIMIT = 8 };

/* A server in a thread. It answers admin_status with cluster=77 at once, holds server_poll until there are `hold` of
 * them, refuses admin_servers, and drops server_register. */
struct server {
    pthread_t thread;
    struct control_server *control;
    struct address address;
    atomic_bool stop;
    unsigned hold;
    struct control_request *held[HELD_LIMIT];
    unsigned held_count;
};

static void answer(struct server *s, struct control_request *request, const struct wire_header *header, const void *body)
{
    union wire_any any, reply;
    assert_int_equal(wire_get_any(header->type, body, header->body_bytes, &any), 0);
    memset(&reply, 0, sizeof reply);
    switch (header->type) {
    case WIRE_TYPE_admin_status:
        reply.admin_status_reply.cluster = 77;
        reply.admin_status_reply.journal = wire_text("always");
        control_reply(s->control, request, WIRE_OK, &reply);
        return;
    case WIRE_TYPE_server_poll:
        assert_int_equal(any.server_poll.server_id, 5);
        s->held[s->held_count++] = request;
        if (s->held_count < s->hold)
            return;
        while (s->held_count)
            control_reply(s->control, s->held[--s->held_count], WIRE_OK, &reply);
        return;
    case WIRE_TYPE_admin_servers:
        control_reply(s->control, request, WIRE_BUSY, NULL);
        return;
    default:
        control_drop(request);
    }
}

static void *serve(void *argument)
{
    struct server *s = argument;
    while (!atomic_load(&s->stop)) {
        struct pollfd poll_fd = {.fd = control_server_fd(s->control), .events = POLLIN};
        struct control_request *request;
        struct wire_header header;
        const void *body;
        if (poll(&poll_fd, 1, 20) > 0)
            while (control_recv(s->control, &request, &header, &body) == 1)
                answer(s, request, &header, body);
    }
    while (s->held_count)
        control_drop(s->held[--s->held_count]);
    return NULL;
}

static void server_start(struct server *s, const struct address *address)
{
    atomic_store(&s->stop, false);
    int rc = -EADDRINUSE;
    /* The port of a server that has just gone may be free a little later. */
    for (int i = 0; i < 100 && rc == -EADDRINUSE; i++) {
        rc = control_listen(address, &s->address, &s->control);
        if (rc < 0)
            clock_sleep_ns(20 * NS_PER_MS);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
    atomic_store(&s->stop, true);
    (void)pthread_join(s->thread, NULL);
    control_server_destroy(s->control);
}

static const struct address any_port = {.host = "127.0.0.1", .port = 0};

static int call_status(struct control_client *client, int timeout_ms, uint64_t *cluster)
{
    union wire_any request, reply;
    struct wire_header header;
    memset(&request, 0, sizeof request);
    int rc = control_call(client, WIRE_TYPE_admin_status, &request, timeout_ms, &header, &reply);
    if (rc == 0) {
        assert_int_equal(header.status, WIRE_OK);
        char journal[16];
        *cluster = reply.admin_status_reply.cluster;
        assert_true(wire_copy_text(reply.admin_status_reply.journal, journal, sizeof journal));
        assert_string_equal(journal, "always");
    }
    return rc;
}

static void a_call_is_answered(void **state)
{
    (void)state;
    struct server server = {.hold = 1};
    struct control_client *client;
    struct wire_header header;
    union wire_any request, reply;
    uint64_t cluster = 0;
    server_start(&server, &any_port);
    assert_true(server.address.port != 0);
    assert_int_equal(control_connect(&server.address, &client), 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(call_status(client, PATIENCE_MS, &cluster), 0);
        assert_int_equal(cluster, 77);
    }
    memset(&request, 0, sizeof request);
    assert_int_equal(control_call(client, WIRE_TYPE_admin_servers, &request, PATIENCE_MS, &header, &reply), 0);
    assert_int_equal(header.status, WIRE_BUSY);
    assert_int_equal(call_status(client, PATIENCE_MS, &cluster), 0); /* a refusal ends nothing */
    control_client_destroy(client);
    control_client_destroy(NULL);
    server_stop(&server);
}

struct poller {
    pthread_t thread;
    struct address address;
    int rc;
};

static void *poll_once(void *argument)
{
    struct poller *p = argument;
    struct control_client *client;
    struct wire_header header;
    union wire_any request, reply;
    memset(&request, 0, sizeof request);
    request.server_poll.server_id = 5;
    p->rc = control_connect(&p->address, &client);
    if (p->rc == 0) {
        p->rc = control_call(client, WIRE_TYPE_server_poll, &request, PATIENCE_MS, &header, &reply);
        control_client_destroy(client);
    }
    return NULL;
}

/* Five requests wait at once, and others are served meanwhile; then all are answered, the last first. */
static void requests_are_held(void **state)
{
    (void)state;
    struct server server = {.hold = 5};
    struct poller pollers[5];
    struct control_client *client;
    uint64_t cluster;
    server_start(&server, &any_port);
    assert_int_equal(control_connect(&server.address, &client), 0);
    for (int i = 0; i < 5; i++) {
        pollers[i].address = server.address;
        assert_int_equal(pthread_create(&pollers[i].thread, NULL, poll_once, &pollers[i]), 0);
        assert_int_equal(call_status(client, PATIENCE_MS, &cluster), 0);
    }
    for (int i = 0; i < 5; i++) {
        (void)pthread_join(pollers[i].thread, NULL);
        assert_int_equal(pollers[i].rc, 0);
    }
    control_client_destroy(client);
    server_stop(&server);
}

static void nobody_answers(void **state)
{
    (void)state;
    struct control_client *client;
    struct server server = {.hold = 1};
    struct address address;
    struct wire_header header;
    union wire_any request, reply;
    uint64_t cluster;
    server_start(&server, &any_port);
    address = server.address;
    assert_int_equal(control_connect(&address, &client), 0);
    memset(&request, 0, sizeof request);
    int64_t begin = clock_mono_ns();
    assert_int_equal(control_call(client, WIRE_TYPE_server_register, &request, 200, &header, &reply), -ETIMEDOUT);
    assert_true(clock_mono_ns() - begin >= 150 * NS_PER_MS);
    assert_int_equal(call_status(client, PATIENCE_MS, &cluster), 0); /* the late call leaves nothing behind */
    control_client_destroy(client);
    server_stop(&server);
    /* No server at all. */
    assert_int_equal(control_connect(&address, &client), 0);
    assert_int_equal(call_status(client, 200, &cluster), -ETIMEDOUT);
    control_client_destroy(client);
}

static void calls_survive_a_restart_of_the_server(void **state)
{
    (void)state;
    struct server server = {.hold = 1};
    struct control_client *client;
    uint64_t cluster = 0;
    server_start(&server, &any_port);
    struct address address = server.address;
    assert_int_equal(control_connect(&address, &client), 0);
    assert_int_equal(call_status(client, PATIENCE_MS, &cluster), 0);
    server_stop(&server);

    /* A call that is made while the server is away is answered by its successor. */
    struct poller poller = {.address = address};
    assert_int_equal(pthread_create(&poller.thread, NULL, poll_once, &poller), 0);
    clock_sleep_ns(100 * NS_PER_MS);
    server_start(&server, &address);
    assert_int_equal(call_status(client, PATIENCE_MS, &cluster), 0);
    (void)pthread_join(poller.thread, NULL);
    assert_int_equal(poller.rc, 0);

    control_client_destroy(client);
    server_stop(&server);
}

struct canceller {
    pthread_t thread;
    struct control_client *client;
};

static void *cancel_soon(void *argument)
{
    struct canceller *c = argument;
    clock_sleep_ns(100 * NS_PER_MS);
    control_client_cancel(c->client);
    return NULL;
}

static void a_waiting_call_can_be_cancelled(void **state)
{
    (void)state;
    struct server server = {.hold = HELD_LIMIT};
    struct canceller canceller;
    struct wire_header header;
    union wire_any request, reply;
    uint64_t cluster;
    server_start(&server, &any_port);
    assert_int_equal(control_connect(&server.address, &canceller.client), 0);
    assert_int_equal(pthread_create(&canceller.thread, NULL, cancel_soon, &canceller), 0);
    memset(&request, 0, sizeof request);
    request.server_poll.server_id = 5;
    int64_t begin = clock_mono_ns();
    assert_int_equal(control_call(canceller.client, WIRE_TYPE_server_poll, &request, PATIENCE_MS, &header, &reply),
                     -ECANCELED);
    assert_true(clock_mono_ns() - begin < PATIENCE_MS * NS_PER_MS / 2);
    (void)pthread_join(canceller.thread, NULL);
    assert_int_equal(call_status(canceller.client, PATIENCE_MS, &cluster), -ECANCELED);
    control_client_destroy(canceller.client);
    server_stop(&server);
}

static void an_address_in_use_is_told(void **state)
{
    (void)state;
    struct server server = {.hold = 1};
    struct control_server *second;
    server_start(&server, &any_port);
    assert_int_equal(control_listen(&server.address, NULL, &second), -EADDRINUSE);
    server_stop(&server);
}

/* What a hostile peer sends below nng's own framing: an SP handshake as a requester, then a message. */
static void send_raw(const struct address *address, const void *frame, uint8_t bytes)
{
    static const uint8_t handshake[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    uint8_t theirs[8], message[8 + 4 + 255] = {0};
    struct stream stream;
    assert_int_equal(stream_connect(address, 5000, &stream), 0);
    assert_int_equal(send(stream.fd, handshake, sizeof handshake, MSG_NOSIGNAL), sizeof handshake);
    assert_int_equal(recv(stream.fd, theirs, sizeof theirs, MSG_WAITALL), sizeof theirs);
    message[7] = (uint8_t)(4 + bytes); /* length, big-endian */
    message[8] = 0x80;                 /* the request's id */
    memcpy(message + 12, frame, bytes);
    assert_int_equal(send(stream.fd, message, 12u + bytes, MSG_NOSIGNAL), 12 + bytes);
    clock_sleep_ns(50 * NS_PER_MS);
    stream_close(&stream);
}

static void malformed_frames_are_counted_and_do_no_harm(void **state)
{
    (void)state;
    static const struct wire_header wrong[] = {
        {.type = 0},
        {.type = WIRE_TYPE_admin_status, .body_bytes = 1},
        {.type = WIRE_TYPE_admin_status, .payload_bytes = 1},
        {.type = WIRE_TYPE_chunk_write, .payload_bytes = 1},
        {.type = WIRE_TYPE_admin_status | WIRE_REPLY},
        {.type = WIRE_TYPE_admin_status, .body_bytes = UINT32_MAX},
    };
    const unsigned count = sizeof wrong / sizeof *wrong;
    struct server server = {.hold = 1};
    struct control_client *client;
    uint64_t cluster;
    server_start(&server, &any_port);
    for (unsigned i = 0; i < count; i++) {
        uint8_t head[WIRE_HEADER_BYTES];
        wire_put_header(head, &wrong[i]);
        send_raw(&server.address, head, sizeof head);
    }
    send_raw(&server.address, "short", 5);
    assert_int_equal(control_connect(&server.address, &client), 0);
    assert_int_equal(call_status(client, PATIENCE_MS, &cluster), 0);
    control_client_destroy(client);
    atomic_store(&server.stop, true);
    (void)pthread_join(server.thread, NULL);
    assert_int_equal(control_bad_frames(server.control), count + 1);
    control_server_destroy(server.control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_answered),
        cmocka_unit_test(requests_are_held),
        cmocka_unit_test(nobody_answers),
        cmocka_unit_test(calls_survive_a_restart_of_the_server),
        cmocka_unit_test(a_waiting_call_can_be_cancelled),
        cmocka_unit_test(an_address_in_use_is_told),
        cmocka_unit_test(malformed_frames_are_counted_and_do_no_harm),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
