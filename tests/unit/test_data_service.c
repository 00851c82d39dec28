/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/socket.h>

#include "chunkserver/damage_list.h"
#include "chunkserver/data_service.h"
#include "common/log.h"
#include "data_client.h"
#include "store_fixture.h"

enum { SERVERS = 3 };

/* A store with its service, as chunkserver_main puts them together. */
struct server {
    struct store_fixture x;
    struct serve_counters counters;
    struct damage_list damage;
    struct data_service *service;
    uint16_t port;
};

static void server_listen(struct server *s)
{
    struct address listen = {.host = "127.0.0.1", .port = s->port}, bound;
    int fd;
    assert_int_equal(stream_listen(&listen, &fd, &bound), 0);
    s->port = bound.port;
    s->service = data_service_create(fd, s->x.store, &s->counters);
}

static void server_start(struct server *s, uint32_t chunk_bytes)
{
    memset(s, 0, sizeof *s);
    damage_list_init(&s->damage, &s->counters);
    fixture_make(&s->x, chunk_bytes, 128 << 20);
    fixture_close(&s->x);
    s->x.options.watch = (struct store_watch){damage_list_note, &s->damage};
    assert_int_equal(fixture_open(&s->x), 0);
    server_listen(s);
}

static void server_stop(struct server *s)
{
    data_service_destroy(s->service);
    fixture_remove(&s->x);
    damage_list_fini(&s->damage);
}

static void fill(uint8_t *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        data[i] = (uint8_t)(seed >> 56);
    }
}

static void reads_and_writes(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    uint8_t *data = malloc(WIRE_PAYLOAD_LIMIT), *back = malloc(WIRE_PAYLOAD_LIMIT);
    server_start(&s, LARGE_CHUNK);
    assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
    fill(data, WIRE_PAYLOAD_LIMIT, 1);
    assert_int_equal(data_client_write(&c, 3, 1, 4095, WIRE_IO_LIMIT, data), WIRE_OK);
    assert_int_equal(data_client_read(&c, 3, 1, 0, 258 * BLOCK, back), WIRE_OK);
    assert_memory_equal(back + 4095, data, WIRE_IO_LIMIT);
    assert_int_equal(data_client_write(&c, 3, 1, 10000, 20000, NULL), WIRE_OK);
    memset(data + 10000 - 4095, 0, 20000);
    assert_int_equal(data_client_read(&c, 3, 1, 0, 258 * BLOCK, back), WIRE_OK);
    assert_memory_equal(back + 4095, data, WIRE_IO_LIMIT);
    assert_int_equal(data_client_read(&c, 3, 2, 0, BLOCK, back), WIRE_WRONG_VERSION);
    assert_int_equal(data_client_read(&c, 4, 1, 0, BLOCK, back), WIRE_NO_CHUNK);
    struct wire_chunk_read absent = {.chunk_id = 4, .version = 1, .absent_ok = 1, .length = BLOCK};
    assert_int_equal(data_client_read_as(&c, &absent, back), WIRE_OK);
    assert_int_equal(data_client_read(&c, 3, 1, 1, BLOCK, back), WIRE_INVALID);
    assert_int_equal(data_client_read(&c, 3, 1, LARGE_CHUNK, BLOCK, back), WIRE_INVALID);
    assert_int_equal(data_client_read(&c, 3, 1, 0, 259 * BLOCK, back), WIRE_INVALID);
    assert_int_equal(data_client_write(&c, 3, 1, LARGE_CHUNK - 1, 2, data), WIRE_INVALID);
    assert_int_equal(data_client_write(&c, 3, 2, 0, 2, data), WIRE_WRONG_VERSION);
    struct wire_counters n = serve_counters_read(&s.counters);
    assert_int_equal(n.read_requests, 3);
    assert_int_equal(n.read_bytes, 2 * 258 * BLOCK + BLOCK);
    assert_int_equal(n.write_requests, 2);
    assert_int_equal(n.write_bytes, WIRE_IO_LIMIT + 20000);
    stream_close(&c.stream);
    free(data);
    free(back);
    server_stop(&s);
}

static void map_and_counters_are_answered(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    uint8_t data[BLOCK] = {1};
    server_start(&s, SMALL_CHUNK);
    assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
    assert_int_equal(data_client_write(&c, 3, 1, 0, BLOCK, data), WIRE_OK);
    assert_int_equal(data_client_write(&c, 3, 1, 9 * BLOCK + 5, 1, data), WIRE_OK);
    union wire_any request = {.chunk_map = {.chunk_id = 3, .version = 1}};
    struct wire_header reply;
    const void *body;
    union wire_any value;
    assert_int_equal(stream_call(&c.stream, WIRE_TYPE_chunk_map, 90, &request, &reply, &body), 0);
    assert_int_equal(wire_get_any(reply.type, body, reply.body_bytes, &value), 0);
    assert_int_equal(value.chunk_map_reply.written.length, 2);
    assert_memory_equal(value.chunk_map_reply.written.data, "\x01\x02", 2);
    assert_int_equal(stream_call(&c.stream, WIRE_TYPE_server_counters, 91, &request, &reply, &body), 0);
    assert_int_equal(wire_get_any(reply.type, body, reply.body_bytes, &value), 0);
    assert_int_equal(value.server_counters_reply.counters.write_requests, 2);
    stream_close(&c.stream);
    server_stop(&s);
}

static void damage_is_found_on_both_ends(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    uint8_t data[SMALL_CHUNK], back[SMALL_CHUNK];
    char path[2 * SCRATCH_PATH];
    server_start(&s, SMALL_CHUNK);
    assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
    fill(data, sizeof data, 3);
    assert_int_equal(data_client_write(&c, 3, 1, 0, SMALL_CHUNK, data), WIRE_OK);
    int fd = open(fixture_chunk_path(&s.x, 3, path), O_RDWR);
    assert_int_equal(pwrite(fd, "rot", 3, 2 * 4096 + 5 * BLOCK), 3);
    assert_int_equal(close(fd), 0);
    assert_int_equal(data_client_read(&c, 3, 1, 0, SMALL_CHUNK, back), -EUCLEAN);
    struct wire_chunk_read verify = {.chunk_id = 3, .version = 1, .verify = 1, .length = SMALL_CHUNK};
    for (int i = 0; i < 2; i++)
        assert_int_equal(data_client_read_as(&c, &verify, back), WIRE_DAMAGED);
    verify.length = 5 * BLOCK;
    assert_int_equal(data_client_read_as(&c, &verify, back), WIRE_OK);
    assert_int_equal(serve_counters_read(&s.counters).damaged_blocks, 1);
    struct store_report items[DAMAGE_LIST_LIMIT];
    assert_int_equal(damage_list_peek(&s.damage, items), 1);
    assert_true(items[0].id == 3 && items[0].version == 1);
    /* On the way here: nothing is stored. */
    uint64_t wrong = checksum_of(data, BLOCK) + 1;
    struct wire_chunk_write m = {.chunk_id = 9, .version = 1, .flags = WIRE_WRITE_CREATE, .length = BLOCK,
                                 .checksums = wire_bytes_of(&wrong, 8)};
    struct wire_out out = wire_out_on(back, sizeof back);
    wire_put_chunk_write(&out, &m);
    struct wire_header header = {.body_bytes = (uint32_t)out.used, .payload_bytes = BLOCK, .type = WIRE_TYPE_chunk_write}, reply;
    struct iovec payload = {data, BLOCK};
    const void *body;
    assert_int_equal(stream_send(&c.stream, &header, back, &payload, 1), 0);
    assert_int_equal(stream_recv(&c.stream, &reply, &body), 0);
    assert_int_equal(reply.status, WIRE_DAMAGED);
    assert_int_equal(data_client_read(&c, 9, 1, 0, BLOCK, back), WIRE_NO_CHUNK);
    assert_int_equal(serve_counters_read(&s.counters).damaged_blocks, 2);
    stream_close(&c.stream);
    server_stop(&s);
}

/* ---- hostile peers ---- */

static bool is_closed(struct data_client *c)
{
    struct wire_header reply;
    const void *body;
    int rc = stream_recv(&c->stream, &reply, &body);
    stream_close(&c->stream);
    return rc == -ECONNRESET || rc == -EPIPE;
}

static void send_raw(struct data_client *c, uint16_t type, const void *body, uint32_t body_bytes, uint32_t payload)
{
    uint8_t head[WIRE_HEADER_BYTES];
    struct wire_header header = {.body_bytes = body_bytes, .payload_bytes = payload, .type = type};
    wire_put_header(head, &header);
    assert_int_equal(send(c->stream.fd, head, sizeof head, MSG_NOSIGNAL), sizeof head);
    if (body)
        (void)send(c->stream.fd, body, body_bytes, MSG_NOSIGNAL);
}

/* A server that lost its RAM disk comes back with an empty store, the same address and another id. */
static void who_means_another_server_is_refused(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    server_start(&s, SMALL_CHUNK);
    s.x.store->server_id = 4;
    const struct { uint8_t role; uint32_t server; int status; } cases[] = {
        {WIRE_ROLE_CLIENT, 4, WIRE_OK},           {WIRE_ROLE_CLIENT, 3, WIRE_WRONG_SERVER},
        {WIRE_ROLE_CHUNKSERVER, 4, WIRE_OK},      {WIRE_ROLE_CHUNKSERVER, 3, WIRE_WRONG_SERVER},
        {WIRE_ROLE_CLIENT, 0, WIRE_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(data_client_connect(&c, s.port), 0);
        assert_int_equal(data_client_hello_to(&c, FIXTURE_CLUSTER, cases[i].role, cases[i].server), cases[i].status);
        stream_close(&c.stream);
    }
    /* Until the master has told it, it cannot know. */
    s.x.store->server_id = 0;
    assert_int_equal(data_client_connect(&c, s.port), 0);
    assert_int_equal(data_client_hello_to(&c, FIXTURE_CLUSTER, WIRE_ROLE_CLIENT, 3), WIRE_OK);
    stream_close(&c.stream);
    server_stop(&s);
}

static void hello_rules(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    server_start(&s, SMALL_CHUNK);
    assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER + 1), WIRE_WRONG_CLUSTER);
    assert_true(is_closed(&c));
    assert_int_equal(data_client_connect(&c, s.port), 0);
    assert_int_equal(data_client_hello(&c, FIXTURE_CLUSTER, WIRE_ROLE_MASTER), WIRE_INVALID);
    assert_true(is_closed(&c));
    assert_int_equal(serve_counters_read(&s.counters).bad_frames, 0);
    assert_int_equal(data_client_connect(&c, s.port), 0);
    send_raw(&c, WIRE_TYPE_server_counters, "", 0, 0); /* before hello */
    assert_true(is_closed(&c));
    assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
    assert_true(data_client_hello(&c, FIXTURE_CLUSTER, WIRE_ROLE_CLIENT) < 0); /* twice */
    stream_close(&c.stream);
    assert_int_equal(serve_counters_read(&s.counters).bad_frames, 2);
    /* Who only asks whether it serves names no cluster, and may do nothing else. */
    assert_int_equal(data_client_connect(&c, s.port), 0);
    assert_int_equal(data_client_hello(&c, 0, WIRE_ROLE_ADMIN), WIRE_OK);
    send_raw(&c, WIRE_TYPE_server_counters, "", 0, 0);
    assert_true(is_closed(&c));
    server_stop(&s);
}

static void malformed_frames_close_their_connection_only(void **state)
{
    (void)state;
    struct server s;
    struct data_client good, c;
    uint8_t body[512], data[BLOCK] = {5};
    uint64_t sum = checksum_of(data, BLOCK);
    unsigned bad = 0;
    server_start(&s, SMALL_CHUNK);
    assert_int_equal(data_client_open(&good, s.port, FIXTURE_CLUSTER), WIRE_OK);
    assert_int_equal(data_client_write(&good, 1, 1, 0, BLOCK, data), WIRE_OK);
    union wire_any any[3] = {
        {.chunk_write = {.chunk_id = 1, .version = 1, .length = BLOCK, .checksums = wire_bytes_of(&sum, 8)}},
        {.chunk_read = {.chunk_id = 1, .version = 1, .length = BLOCK}},
        {.chunk_map = {.chunk_id = 1, .version = 1}},
    };
    static const uint16_t types[] = {WIRE_TYPE_chunk_write, WIRE_TYPE_chunk_read, WIRE_TYPE_chunk_map};
    for (unsigned i = 0; i < 3; i++) {
        struct wire_out out = wire_out_on(body, sizeof body);
        assert_int_equal(wire_put_any(types[i], &out, &any[i]), 0);
        /* Cut short at each byte; each length, as far as there is one, as large as can be; one byte too many. */
        for (uint32_t n = 0; n <= out.used + 1; n++) {
            if (n == out.used)
                continue;
            assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
            body[out.used] = 0;
            send_raw(&c, types[i], body, n, types[i] == WIRE_TYPE_chunk_write ? BLOCK : 0);
            assert_true(is_closed(&c));
            bad++;
        }
    }
    static const struct wire_header headers[] = {
        {.type = 999},
        {.type = WIRE_TYPE_chunk_read | WIRE_REPLY},
        {.type = WIRE_TYPE_lookup, .body_bytes = 0},
        {.type = WIRE_TYPE_chunk_read, .body_bytes = UINT32_MAX},
        {.type = WIRE_TYPE_chunk_read, .payload_bytes = 1},
        {.type = WIRE_TYPE_chunk_write, .payload_bytes = UINT32_MAX},
    };
    for (unsigned i = 0; i < sizeof headers / sizeof *headers; i++) {
        assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
        send_raw(&c, headers[i].type, NULL, headers[i].body_bytes, headers[i].payload_bytes);
        assert_true(is_closed(&c));
        bad++;
    }
    /* Payload and length that do not agree, checksums too few, zeros with data. */
    struct wire_chunk_write *w = &any[0].chunk_write;
    for (unsigned i = 0; i < 3; i++) {
        struct wire_chunk_write m = *w;
        m.length = i == 0 ? BLOCK - 1 : BLOCK;
        m.checksums.length = i == 1 ? 0 : 8;
        m.flags = i == 2 ? WIRE_WRITE_ZERO : 0;
        struct wire_out out = wire_out_on(body, sizeof body);
        wire_put_chunk_write(&out, &m);
        assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
        send_raw(&c, WIRE_TYPE_chunk_write, body, (uint32_t)out.used, BLOCK);
        assert_true(is_closed(&c));
        bad++;
    }
    assert_int_equal(serve_counters_read(&s.counters).bad_frames, bad);
    assert_int_equal(data_client_read(&good, 1, 1, 0, BLOCK, data), WIRE_OK);
    stream_close(&good.stream);
    server_stop(&s);
}

/* ---- chains ---- */

static struct wire_list chain_of(const struct server *servers, unsigned from, unsigned count, struct wire_out *room)
{
    struct wire_list list = {NULL, 0, 0};
    for (unsigned i = from; i < count; i++) {
        struct wire_server server = {.id = i + 1, .host = wire_text("127.0.0.1"), .port = servers[i].port};
        assert_true(wire_append_server(room, &list, &server));
    }
    return list;
}

static int write_chain(struct data_client *c, const struct server *servers, uint64_t id, uint32_t offset,
                       uint32_t length, const void *data, uint32_t *failed)
{
    uint8_t text[1024];
    struct wire_out room = wire_out_on(text, sizeof text);
    struct wire_chunk_write m = {.chunk_id = id, .version = 1, .flags = WIRE_WRITE_CREATE, .offset = offset,
                                 .length = length, .chain = chain_of(servers, 1, SERVERS, &room)};
    return data_client_write_chain(c, &m, data, failed);
}

static void check_all_have(const struct server *servers, uint64_t id, const uint8_t *data)
{
    uint8_t back[SMALL_CHUNK];
    struct data_client c;
    for (unsigned i = 0; i < SERVERS; i++) {
        assert_int_equal(data_client_open(&c, servers[i].port, FIXTURE_CLUSTER), WIRE_OK);
        assert_int_equal(data_client_read(&c, id, 1, 0, SMALL_CHUNK, back), WIRE_OK);
        assert_memory_equal(back, data, SMALL_CHUNK);
        stream_close(&c.stream);
    }
}

static void a_chain_writes_everywhere_and_names_who_failed(void **state)
{
    (void)state;
    static struct server s[SERVERS];
    struct data_client c;
    uint8_t data[SMALL_CHUNK];
    uint32_t failed = 99;
    for (unsigned i = 0; i < SERVERS; i++)
        server_start(&s[i], SMALL_CHUNK);
    assert_int_equal(data_client_open(&c, s[0].port, FIXTURE_CLUSTER), WIRE_OK);
    fill(data, sizeof data, 3);
    assert_int_equal(write_chain(&c, s, 5, 0, SMALL_CHUNK, data, &failed), WIRE_OK);
    assert_int_equal(failed, 0);
    memset(data + 100, 0, 9000);
    assert_int_equal(write_chain(&c, s, 5, 100, 9000, NULL, &failed), WIRE_OK);
    check_all_have(s, 5, data);
    /* The last one has restarted: the kept connection is dead, a new one is made. */
    data_service_destroy(s[2].service);
    server_listen(&s[2]);
    data[7] = 7;
    assert_int_equal(write_chain(&c, s, 5, 7, 1, data + 7, &failed), WIRE_OK);
    check_all_have(s, 5, data);
    /* It refuses. */
    assert_int_equal(s[2].x.store->ops->set_version(s[2].x.store, 5, 1, 2, WIRE_KEEP_ALL, false), 0);
    assert_int_equal(write_chain(&c, s, 5, 7, 1, data + 7, &failed), WIRE_WRONG_VERSION);
    assert_int_equal(failed, 3);
    /* It is gone. */
    data_service_destroy(s[2].service);
    assert_int_equal(write_chain(&c, s, 5, 7, 1, data + 7, &failed), WIRE_UNREACHABLE);
    assert_int_equal(failed, 3);
    server_listen(&s[2]);
    /* The head itself. */
    assert_int_equal(s[0].x.store->ops->set_version(s[0].x.store, 5, 1, 2, WIRE_KEEP_ALL, false), 0);
    assert_int_equal(write_chain(&c, s, 5, 7, 1, data + 7, &failed), WIRE_WRONG_VERSION);
    assert_int_equal(failed, 0);
    stream_close(&c.stream);
    for (unsigned i = 0; i < SERVERS; i++)
        server_stop(&s[i]);
}

struct writer {
    const struct server *servers;
    unsigned number;
};

static void *write_overlapping(void *argument)
{
    const struct writer *w = (struct writer *)argument;
    struct data_client c;
    uint8_t data[3 * BLOCK];
    uint64_t seed = w->number;
    if (data_client_open(&c, w->servers[0].port, FIXTURE_CLUSTER) != WIRE_OK)
        return "hello";
    for (unsigned i = 0; i < 150; i++) {
        fill(data, sizeof data, seed += 1000);
        uint32_t offset = (uint32_t)(seed * 7919 % (SMALL_CHUNK - sizeof data)), failed;
        if (write_chain(&c, w->servers, 8, offset, 1 + (uint32_t)(seed % sizeof data), data, &failed) != WIRE_OK)
            return "write";
    }
    stream_close(&c.stream);
    return NULL;
}

static void overlapping_chain_writes_leave_equal_copies(void **state)
{
    (void)state;
    enum { WRITERS = 6 };
    static struct server s[SERVERS];
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    struct data_client c;
    uint8_t data[SMALL_CHUNK];
    for (unsigned i = 0; i < SERVERS; i++)
        server_start(&s[i], SMALL_CHUNK);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){s, i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_overlapping, &writers[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        void *fault;
        assert_int_equal(pthread_join(threads[i], &fault), 0);
        assert_null(fault);
    }
    assert_int_equal(data_client_open(&c, s[0].port, FIXTURE_CLUSTER), WIRE_OK);
    assert_int_equal(data_client_read(&c, 8, 1, 0, SMALL_CHUNK, data), WIRE_OK);
    stream_close(&c.stream);
    check_all_have(s, 8, data);
    for (unsigned i = 0; i < SERVERS; i++)
        server_stop(&s[i]);
}

/* ---- readers against writers ---- */

struct race {
    struct server *server;
    _Atomic bool stop;
    bool writes;
};

static void *race_on_blocks(void *argument)
{
    struct race *r = (struct race *)argument;
    struct data_client c;
    uint8_t data[8 * BLOCK];
    if (data_client_open(&c, r->server->port, FIXTURE_CLUSTER) != WIRE_OK)
        return "hello";
    for (uint8_t value = 1; !r->stop; value++) {
        memset(data, value, sizeof data);
        int rc = r->writes ? data_client_write(&c, 2, 1, 100, sizeof data - 200, data)
                           : data_client_read(&c, 2, 1, 0, sizeof data, data);
        if (rc != WIRE_OK)
            return r->writes ? "write" : "a torn block";
    }
    stream_close(&c.stream);
    return NULL;
}

static void readers_see_whole_blocks_while_others_write(void **state)
{
    (void)state;
    struct server s;
    struct race races[5] = {{.writes = true}, {.writes = true}};
    pthread_t threads[5];
    uint8_t data[8 * BLOCK] = {0};
    struct data_client c;
    server_start(&s, SMALL_CHUNK);
    assert_int_equal(data_client_open(&c, s.port, FIXTURE_CLUSTER), WIRE_OK);
    assert_int_equal(data_client_write(&c, 2, 1, 0, sizeof data, data), WIRE_OK);
    for (unsigned i = 0; i < 5; i++) {
        races[i].server = &s;
        assert_int_equal(pthread_create(&threads[i], NULL, race_on_blocks, &races[i]), 0);
    }
    (void)usleep(400000);
    for (unsigned i = 0; i < 5; i++)
        races[i].stop = true;
    for (unsigned i = 0; i < 5; i++) {
        void *fault;
        assert_int_equal(pthread_join(threads[i], &fault), 0);
        assert_null(fault);
    }
    stream_close(&c.stream);
    server_stop(&s);
}

int main(void)
{
    log_init("test_data_service", LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes),
        cmocka_unit_test(map_and_counters_are_answered),
        cmocka_unit_test(damage_is_found_on_both_ends),
        cmocka_unit_test(hello_rules), cmocka_unit_test(who_means_another_server_is_refused),
        cmocka_unit_test(malformed_frames_close_their_connection_only),
        cmocka_unit_test(a_chain_writes_everywhere_and_names_who_failed),
        cmocka_unit_test(overlapping_chain_writes_leave_equal_copies),
        cmocka_unit_test(readers_see_whole_blocks_while_others_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
