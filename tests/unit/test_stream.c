/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/stream.h"

enum { LARGE = WIRE_PAYLOAD_LIMIT };

/* A connected pair: `near` is the stream under test, `far` the raw other end. */
static void make_pair(struct stream *near, int *far)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    stream_init(near, fds[0]);
    *far = fds[1];
}

/* Bytes of a frame: header, body filled with 'b', payload filled with 'p'. The result is the caller's to free. */
static uint8_t *make_frame(uint16_t type, uint32_t sequence, uint32_t body, uint32_t payload, size_t *bytes)
{
    struct wire_header header = {.body_bytes = body, .payload_bytes = payload, .type = type, .sequence = sequence};
    *bytes = WIRE_HEADER_BYTES + (size_t)body + payload;
    uint8_t *frame = malloc(*bytes);
    assert_non_null(frame);
    wire_put_header(frame, &header);
    memset(frame + WIRE_HEADER_BYTES, 'b', body);
    memset(frame + WIRE_HEADER_BYTES + body, 'p', payload);
    return frame;
}

struct sender {
    pthread_t thread;
    int fd;
    const uint8_t *data;
    size_t bytes, at_once;
};

static void *send_bytes(void *argument)
{
    struct sender *s = argument;
    for (size_t at = 0; at < s->bytes;) {
        size_t n = s->bytes - at < s->at_once ? s->bytes - at : s->at_once;
        ssize_t sent = send(s->fd, s->data + at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        at += (size_t)sent;
    }
    return NULL;
}

static void start_sender(struct sender *s, int fd, const uint8_t *data, size_t bytes, size_t at_once)
{
    *s = (struct sender){.fd = fd, .data = data, .bytes = bytes, .at_once = at_once};
    assert_int_equal(pthread_create(&s->thread, NULL, send_bytes, s), 0);
}

static bool all_are(const void *data, size_t bytes, uint8_t value)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != value)
            return false;
    return true;
}

/* Several frames in a row, in pieces of any size, with bodies and payloads around the buffer's size. */
static void frames_arrive_in_any_pieces(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 100, 16 * 1024 - 16, 16 * 1024 - 15, 16 * 1024, 40000};
    static const size_t pieces[] = {1, 7, 4096, 1 << 20};
    uint8_t *payload = malloc(LARGE);
    assert_non_null(payload);
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        struct stream near;
        int far;
        make_pair(&near, &far);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t bytes;
            uint32_t payload_bytes = sizes[sizeof sizes / sizeof *sizes - 1 - i];
            uint8_t *frame = make_frame(WIRE_TYPE_chunk_write, (uint32_t)i, sizes[i], payload_bytes, &bytes);
            struct sender sender;
            start_sender(&sender, far, frame, bytes, pieces[p]);
            struct wire_header header;
            const void *body;
            assert_int_equal(stream_recv(&near, &header, &body), 0);
            assert_int_equal(header.sequence, i);
            assert_int_equal(header.body_bytes, sizes[i]);
            assert_true(all_are(body, header.body_bytes, 'b'));
            assert_int_equal(stream_recv_payload(&near, payload, header.payload_bytes), 0);
            assert_true(all_are(payload, header.payload_bytes, 'p'));
            assert_true(all_are(body, header.body_bytes, 'b')); /* the body is still valid */
            (void)pthread_join(sender.thread, NULL);
            free(frame);
        }
        assert_false(stream_has_buffered(&near));
        stream_close(&near);
        (void)close(far);
    }
    free(payload);
}

static void many_frames_in_one_piece(void **state)
{
    (void)state;
    enum { FRAMES = 3000, BODY = 33 };
    struct stream near;
    int far;
    make_pair(&near, &far);
    uint8_t *all = malloc(FRAMES * (size_t)(WIRE_HEADER_BYTES + BODY));
    assert_non_null(all);
    size_t total = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        size_t bytes;
        uint8_t *frame = make_frame(WIRE_TYPE_lookup, i, BODY, 0, &bytes);
        memcpy(all + total, frame, bytes);
        total += bytes;
        free(frame);
    }
    struct sender sender;
    start_sender(&sender, far, all, total, total);
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct wire_header header;
        const void *body;
        assert_int_equal(stream_recv(&near, &header, &body), 0);
        assert_int_equal(header.sequence, i);
        assert_true(all_are(body, BODY, 'b'));
    }
    (void)pthread_join(sender.thread, NULL);
    free(all);
    stream_close(&near);
    stream_close(&near); /* twice is allowed */
    (void)close(far);
}

static void a_payload_can_be_skipped(void **state)
{
    (void)state;
    struct stream near;
    int far;
    make_pair(&near, &far);
    size_t first_bytes, second_bytes;
    uint8_t *first = make_frame(WIRE_TYPE_chunk_write, 1, 10, 100001, &first_bytes);
    uint8_t *second = make_frame(WIRE_TYPE_lookup, 2, 3, 0, &second_bytes);
    struct sender sender;
    first = realloc(first, first_bytes + second_bytes);
    assert_non_null(first);
    memcpy(first + first_bytes, second, second_bytes);
    start_sender(&sender, far, first, first_bytes + second_bytes, 5000);
    struct wire_header header;
    const void *body;
    assert_int_equal(stream_recv(&near, &header, &body), 0);
    assert_int_equal(stream_skip_payload(&near, header.payload_bytes), 0);
    assert_int_equal(stream_recv(&near, &header, &body), 0);
    assert_int_equal(header.sequence, 2);
    (void)pthread_join(sender.thread, NULL);
    free(first);
    free(second);
    stream_close(&near);
    (void)close(far);
}

static void sending_gathers_pieces_and_waits_for_room(void **state)
{
    (void)state;
    struct stream near, other;
    int far;
    make_pair(&near, &far);
    stream_init(&other, far);
    uint8_t *payload = malloc(LARGE), *got = malloc(LARGE);
    assert_true(payload && got);
    for (size_t i = 0; i < LARGE; i++)
        payload[i] = (uint8_t)(i * 7 + i / 251);
    struct iovec pieces[3] = {{payload, 1}, {payload + 1, 70000}, {payload + 70001, LARGE - 70001}};
    struct wire_header header = {.body_bytes = 5, .payload_bytes = LARGE, .type = WIRE_TYPE_chunk_write, .sequence = 4};
    pid_t child = fork(); /* the other end in a process of its own: the socket's room is far smaller than the frame */
    if (child == 0)
        _exit(stream_send(&near, &header, "hello", pieces, 3) == 0 ? 0 : 1);
    const void *body;
    assert_int_equal(stream_recv(&other, &header, &body), 0);
    assert_memory_equal(body, "hello", 5);
    assert_int_equal(stream_recv_payload(&other, got, LARGE), 0);
    assert_memory_equal(got, payload, LARGE);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    free(payload);
    free(got);
    stream_close(&near);
    stream_close(&other);
}

static void the_end_of_a_stream_is_told(void **state)
{
    (void)state;
    struct wire_header header;
    const void *body;
    size_t bytes;
    uint8_t *frame = make_frame(WIRE_TYPE_chunk_write, 1, 50, 50, &bytes), payload[50];
    for (size_t cut = 0; cut < bytes; cut++) {
        struct stream near;
        int far;
        make_pair(&near, &far);
        assert_int_equal(write(far, frame, cut), cut);
        (void)close(far);
        int rc = stream_recv(&near, &header, &body);
        if (cut >= WIRE_HEADER_BYTES + 50) {
            assert_int_equal(rc, 0);
            rc = stream_recv_payload(&near, payload, sizeof payload);
        }
        assert_int_equal(rc, -ECONNRESET);
        struct wire_header out = {.type = WIRE_TYPE_lookup};
        assert_int_equal(stream_send(&near, &out, NULL, NULL, 0), -EPIPE); /* and no signal */
        stream_close(&near);
    }
    free(frame);
}

static void malformed_headers_are_refused(void **state)
{
    (void)state;
    static const struct wire_header wrong[] = {
        {.type = 0},
        {.type = 9999},
        {.type = WIRE_TYPE_lookup, .body_bytes = WIRE_BODY_LIMIT + 1},
        {.type = WIRE_TYPE_lookup, .body_bytes = UINT32_MAX},
        {.type = WIRE_TYPE_lookup, .payload_bytes = 1},
        {.type = WIRE_TYPE_chunk_write, .payload_bytes = UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            struct stream near;
            struct wire_header header;
            const void *body;
            uint8_t head[WIRE_HEADER_BYTES];
            int far;
            make_pair(&near, &far);
            wire_put_header(head, &wrong[i]);
            assert_int_equal(write(far, head, sizeof head), sizeof head);
            assert_int_equal(nonblocking ? stream_try_recv(&near, &header, &body) : stream_recv(&near, &header, &body),
                             -EBADMSG);
            assert_true(near.room <= 64 * 1024); /* no memory was taken for what was announced */
            stream_close(&near);
            (void)close(far);
        }
    }
}

static void without_blocking(void **state)
{
    (void)state;
    struct stream near;
    struct wire_header header;
    const void *body;
    size_t bytes;
    int far;
    make_pair(&near, &far);
    assert_int_equal(stream_try_recv(&near, &header, &body), 0);
    uint8_t *frame = make_frame(WIRE_TYPE_setxattr, 7, 30000, 0, &bytes);
    for (size_t at = 0; at < bytes;) {
        size_t n = at < 20 ? 1 : bytes - at < 999 ? bytes - at : 999;
        assert_int_equal(stream_try_recv(&near, &header, &body), 0);
        assert_int_equal(write(far, frame + at, n), n);
        at += n;
    }
    assert_int_equal(write(far, frame, bytes), bytes); /* a second one right behind */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stream_try_recv(&near, &header, &body), 1);
        assert_int_equal(header.body_bytes, 30000);
        assert_true(all_are(body, 30000, 'b'));
    }
    assert_int_equal(stream_try_recv(&near, &header, &body), 0);
    free(frame);

    frame = make_frame(WIRE_TYPE_chunk_write, 7, 10, 10, &bytes); /* a payload has no place here */
    assert_int_equal(write(far, frame, bytes), bytes);
    assert_int_equal(stream_try_recv(&near, &header, &body), -EBADMSG);
    free(frame);
    stream_close(&near);
    (void)close(far);

    make_pair(&near, &far);
    (void)close(far);
    assert_int_equal(stream_try_recv(&near, &header, &body), -ECONNRESET);
    stream_close(&near);
}

static void silence_times_out(void **state)
{
    (void)state;
    struct stream near;
    struct wire_header header;
    const void *body;
    int far;
    make_pair(&near, &far);
    assert_int_equal(stream_set_timeout(&near, 60), 0);
    int64_t begin = clock_mono_ns();
    assert_int_equal(stream_recv(&near, &header, &body), -ETIMEDOUT);
    int64_t took = clock_mono_ns() - begin;
    assert_true(took >= 50 * NS_PER_MS && took < 5 * NS_PER_S);
    /* The other end never reads: sending stops when the socket is full. */
    static uint8_t payload[WIRE_PAYLOAD_LIMIT];
    struct iovec piece = {payload, sizeof payload};
    struct wire_header out = {.type = WIRE_TYPE_chunk_write, .payload_bytes = sizeof payload};
    int rc = 0;
    for (int i = 0; i < 100 && rc == 0; i++)
        rc = stream_send(&near, &out, NULL, &piece, 1);
    assert_int_equal(rc, -ETIMEDOUT);
    stream_close(&near);
    (void)close(far);
}

/* ---- connections ---- */

static void check_connection(const struct address *address)
{
    struct address bound;
    struct stream near, far;
    struct wire_header header = {.type = WIRE_TYPE_lookup, .body_bytes = 2, .sequence = 1};
    const void *body;
    int listener;
    assert_int_equal(stream_listen(address, &listener, &bound), 0);
    if (address->host[0] != '/')
        assert_true(bound.port != 0);
    struct address to = bound;
    if (to.host[0] == '\0')
        strcpy(to.host, "127.0.0.1");
    assert_int_equal(stream_connect(&to, 2000, &near), 0);
    assert_int_equal(stream_accept(listener, &far), 0);
    assert_int_equal(stream_send(&near, &header, "hi", NULL, 0), 0);
    assert_int_equal(stream_recv(&far, &header, &body), 0);
    assert_memory_equal(body, "hi", 2);
    stream_close(&near);
    assert_int_equal(stream_recv(&far, &header, &body), -ECONNRESET);
    stream_close(&far);

    if (address->host[0] != '/') { /* a Unix socket is made anew instead */
        int second;
        assert_int_equal(stream_listen(&bound, &second, NULL), -EADDRINUSE);
    }
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(stream_accept(listener, &far), -EAGAIN);
    (void)close(listener);
    assert_int_equal(stream_connect(&to, 2000, &near), -ECONNREFUSED);
    assert_int_equal(near.fd, -1);
    assert_int_equal(stream_listen(&bound, &listener, NULL), 0); /* at once again, whatever waits in TIME_WAIT */
    (void)close(listener);
}

static void connections_over_tcp(void **state)
{
    (void)state;
    struct address address = {.host = "127.0.0.1"}, any = {.host = ""};
    check_connection(&address);
    check_connection(&any);
}

static void connections_over_unix_sockets(void **state)
{
    (void)state;
    struct address address = {.port = 0}, too_long = {.port = 0};
    int listener;
    (void)snprintf(address.host, sizeof address.host, "/tmp/calf.test_stream.%d", (int)getpid());
    check_connection(&address);
    (void)unlink(address.host);
    memset(too_long.host, '/', 200);
    assert_int_equal(stream_listen(&too_long, &listener, NULL), -ENAMETOOLONG);
}

static void unreachable_addresses(void **state)
{
    (void)state;
    struct stream stream;
    struct address nowhere = {.host = "no-such-host.invalid", .port = 1}, socket_file = {.host = "/tmp/calf.no.such.socket"};
    assert_int_equal(stream_connect(&nowhere, 500, &stream), -EHOSTUNREACH);
    assert_int_equal(stream_connect(&socket_file, 500, &stream), -ENOENT);
}

/* ---- calls ---- */

struct responder {
    pthread_t thread;
    struct stream stream;
    uint16_t type_xor;
    uint32_t sequence_add;
};

static void *respond(void *argument)
{
    struct responder *r = argument;
    struct wire_header header;
    const void *body;
    if (stream_recv(&r->stream, &header, &body) == 0) {
        struct wire_getattr_reply reply = {.attr = {.ino = 42, .size = 7}};
        uint8_t out_body[256];
        struct wire_out out = wire_out_on(out_body, sizeof out_body);
        wire_put_getattr_reply(&out, &reply);
        header = (struct wire_header){.body_bytes = (uint32_t)out.used, .sequence = header.sequence + r->sequence_add,
                                      .type = (uint16_t)((header.type | WIRE_REPLY) ^ r->type_xor)};
        (void)!stream_send(&r->stream, &header, out_body, NULL, 0);
    }
    return NULL;
}

static int call_once(uint16_t type_xor, uint32_t sequence_add, struct wire_getattr_reply *reply)
{
    struct stream near;
    struct responder responder = {.type_xor = type_xor, .sequence_add = sequence_add};
    struct wire_header header;
    const void *body;
    int far;
    make_pair(&near, &far);
    stream_init(&responder.stream, far);
    assert_int_equal(pthread_create(&responder.thread, NULL, respond, &responder), 0);
    union wire_any request = {.getattr = {.ino = 42}};
    int rc = stream_call(&near, WIRE_TYPE_getattr, 17, &request, &header, &body);
    if (rc == 0)
        rc = wire_get_getattr_reply(body, header.body_bytes, reply);
    (void)pthread_join(responder.thread, NULL);
    stream_close(&near);
    stream_close(&responder.stream);
    return rc;
}

static void a_call_takes_only_its_own_reply(void **state)
{
    (void)state;
    struct wire_getattr_reply reply;
    assert_int_equal(call_once(0, 0, &reply), 0);
    assert_int_equal(reply.attr.ino, 42);
    assert_int_equal(reply.attr.size, 7);
    assert_int_equal(call_once(0, 1, &reply), -EBADMSG);
    assert_int_equal(call_once(WIRE_REPLY, 0, &reply), -EBADMSG);
    assert_int_equal(call_once(WIRE_TYPE_getattr ^ WIRE_TYPE_lookup, 0, &reply), -EBADMSG);
}

static void a_call_with_a_large_body(void **state)
{
    (void)state;
    struct stream near;
    struct responder responder = {.type_xor = 0};
    struct wire_header header;
    const void *body;
    static uint8_t value[WIRE_XATTR_LIMIT];
    int far;
    make_pair(&near, &far);
    stream_init(&responder.stream, far);
    assert_int_equal(pthread_create(&responder.thread, NULL, respond, &responder), 0);
    union wire_any request = {.setxattr = {.ino = 1, .name = wire_text("user.large"),
                                           .value = wire_bytes_of(value, sizeof value)}};
    assert_int_equal(stream_call(&near, WIRE_TYPE_setxattr, 3, &request, &header, &body), 0);
    (void)pthread_join(responder.thread, NULL);
    request.setxattr.value.length++; /* over the schema's limit: refused before anything is sent */
    assert_int_equal(stream_call(&near, WIRE_TYPE_setxattr, 4, &request, &header, &body), -EMSGSIZE);
    stream_close(&near);
    stream_close(&responder.stream);
}

enum { ROUNDS = 200 };

struct asker {
    struct stream stream;
    _Atomic pid_t thread;
    long switches;
    int rc;
};

static void *ask_again_and_again(void *argument)
{
    struct asker *asker = argument;
    struct rusage before, after;
    const union wire_any request = {.getattr = {.ino = 1}};
    struct wire_header header;
    const void *body;
    asker->thread = gettid();
    (void)getrusage(RUSAGE_THREAD, &before);
    for (uint32_t i = 1; i <= ROUNDS && asker->rc == 0; i++)
        asker->rc = stream_call(&asker->stream, WIRE_TYPE_getattr, i, &request, &header, &body);
    (void)getrusage(RUSAGE_THREAD, &after);
    asker->switches = after.ru_nvcsw - before.ru_nvcsw;
    return NULL;
}

static bool is_asleep(pid_t thread)
{
    char path[64], text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = thread ? fopen(path, "r") : NULL;
    if (!file)
        return false;
    bool read_it = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    return read_it && strstr(text, ") S ");
}

/* Who waits for a reply over a Unix socket is not disturbed when the request is taken. */
static void one_sleep_for_each_reply(void **state)
{
    (void)state;
    struct stream far;
    struct asker asker = {.rc = 0};
    struct wire_header header;
    const void *body;
    pthread_t thread;
    int fd;
    make_pair(&asker.stream, &fd);
    stream_init(&far, fd);
    stream_expect_fd(&asker.stream);
    stream_expect_fd(&far);
    assert_int_equal(pthread_create(&thread, NULL, ask_again_and_again, &asker), 0);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        static const uint8_t nothing[WIRE_BODY_LIMIT];
        while (!is_asleep(asker.thread))
            (void)sched_yield();
        assert_int_equal(stream_recv(&far, &header, &body), 0);
        assert_int_equal(header.sequence, i);
        while (!is_asleep(asker.thread)) /* woken by that? */
            (void)sched_yield();
        header.type |= WIRE_REPLY;
        assert_int_equal(stream_send(&far, &header, nothing, NULL, 0), 0);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(asker.rc, 0);
    assert_in_range(asker.switches, ROUNDS / 2, ROUNDS * 5 / 4);
    stream_close(&far);
    stream_close(&asker.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_in_any_pieces),
        cmocka_unit_test(many_frames_in_one_piece),
        cmocka_unit_test(a_payload_can_be_skipped),
        cmocka_unit_test(sending_gathers_pieces_and_waits_for_room),
        cmocka_unit_test(the_end_of_a_stream_is_told),
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(without_blocking),
        cmocka_unit_test(silence_times_out),
        cmocka_unit_test(connections_over_tcp),
        cmocka_unit_test(connections_over_unix_sockets),
        cmocka_unit_test(unreachable_addresses),
        cmocka_unit_test(a_call_takes_only_its_own_reply),
        cmocka_unit_test(a_call_with_a_large_body),
        cmocka_unit_test(one_sleep_for_each_reply),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
