/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's connections and a real data service in one process, with shared memory between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "chunkserver/data_service.h"
#include "chunkserver/shm_listen.h"
#include "client/chunk_connections.h"
#include "client/write_memory.h"
#include "common/log.h"
#include "common/shared_memory.h"
#include "data_client.h"
#include "store_fixture.h"

enum { ID = 3, SERVER = 1, READERS = 4 };

struct world {
    struct store_fixture x;
    char sockets[SCRATCH_PATH];
    struct serve_counters counters;
    struct data_service *service;
    struct address port;
    struct chunk_connections *connections;
    struct chunk_server *server;
};

static void serve(struct world *w, bool shares)
{
    struct address listen = {.host = "127.0.0.1", .port = w->port.port};
    int fd;
    assert_int_equal(stream_listen(&listen, &fd, &w->port), 0);
    w->service = data_service_create(fd, w->x.store, &w->counters);
    if (shares)
        assert_int_equal(shm_listen_start(w->sockets, SERVER, w->service), 0);
}

static void client_start(struct world *w, uint64_t cluster)
{
    struct wire_server place = {.id = SERVER, .host = wire_text("127.0.0.1"), .port = w->port.port};
    w->connections = chunk_connections_create(cluster, w->sockets);
    w->server = chunk_connections_server(w->connections, &place);
}

static void world_start(struct world *w, bool shares)
{
    memset(w, 0, sizeof *w);
    fixture_make(&w->x, LARGE_CHUNK, 64 << 20);
    scratch_make(w->sockets);
    serve(w, shares);
    client_start(w, FIXTURE_CLUSTER);
}

static void world_stop(struct world *w)
{
    chunk_connections_destroy(w->connections);
    data_service_destroy(w->service);
    fixture_remove(&w->x);
    scratch_remove(w->sockets);
}

static int write_blocks(struct world *w, uint32_t version, uint32_t offset, uint32_t length, const uint8_t *data)
{
    uint64_t sums[WIRE_BLOCKS_LIMIT];
    uint32_t failed, blocks;
    checksum_range(data, offset, length, BLOCK, sums);
    struct wire_chunk_write m = {.chunk_id = ID, .version = version, .flags = WIRE_WRITE_CREATE, .offset = offset, .length = length,
                                 .checksums = wire_bytes_of(sums, 8 * (size_t)checksum_pieces(offset, length, BLOCK))};
    return chunk_connections_write(w->server, &m, data, &failed, &blocks);
}

static int read_blocks(struct world *w, uint32_t version, uint32_t offset, uint32_t length, uint8_t *into)
{
    struct wire_chunk_read m = {.chunk_id = ID, .version = version, .offset = offset, .length = length};
    return chunk_connections_read(w->server, &m, into);
}

static void reads_and_writes_go_through_memory(void **state)
{
    (void)state;
    struct world w;
    static uint8_t data[WIRE_IO_LIMIT], back[WIRE_PAYLOAD_LIMIT];
    world_start(&w, true);
    fixture_fill(data, sizeof data, 1);
    assert_int_equal(read_blocks(&w, 1, 0, BLOCK, back), -ENOMEDIUM);
    assert_int_equal(write_blocks(&w, 1, 0, sizeof data, data), 0);
    assert_true(chunk_connections_shares_memory(w.server));
    assert_int_equal(read_blocks(&w, 1, 0, sizeof data, back), 0);
    assert_memory_equal(back, data, sizeof data);
    assert_int_equal(write_blocks(&w, 1, 5000, 3000, data), 0);
    memcpy(data + 5000, data, 3000);
    assert_int_equal(read_blocks(&w, 1, BLOCK, BLOCK, back), 0);
    assert_memory_equal(back, data + BLOCK, BLOCK);
    assert_int_equal(read_blocks(&w, 2, 0, BLOCK, back), -EKEYEXPIRED);
    struct wire_counters n;
    assert_int_equal(chunk_connections_counters(w.server, &n), 0);
    assert_int_equal(n.read_bytes, sizeof data + BLOCK);
    assert_int_equal(n.read_requests, 2);
    assert_int_equal(n.write_bytes, sizeof data + 3000);
    assert_int_equal(n.tcp_clients, 0);
    assert_int_equal(n.shm_clients, 2);
    world_stop(&w);
}

enum { THREADS = 80 /* more than connections are kept idle, and than have memory of their own */, TURNS = 12 };

struct own_blocks {
    struct world *w;
    uint32_t number;
    pthread_t thread;
};

/* Writes two blocks of its own again and again, one from where a request is received and one from elsewhere, while all
 * threads take connections from one another; what it reads back must be the last of both. */
static void *write_own_blocks(void *argument)
{
    struct own_blocks *own = argument;
    uint8_t other[BLOCK], back[2 * BLOCK], without[2 * BLOCK];
    const struct write_memory *memory = write_memory_get(); /* for WRITE_MEMORY_ROOMS of them */
    uint32_t at = 2 * own->number * BLOCK;
    for (uint8_t turn = 1; turn <= TURNS; turn++) {
        uint8_t *received = (memory ? memory->received : without) + 7 * turn;
        memset(received, (int)own->number + turn, BLOCK);
        memset(other, (int)own->number ^ turn, BLOCK);
        if (write_blocks(own->w, 1, at + BLOCK, BLOCK, other) < 0 || write_blocks(own->w, 1, at, BLOCK, received) < 0)
            return "write";
        if (read_blocks(own->w, 1, at, 2 * BLOCK, back) < 0)
            return "read";
        if (memcmp(back, received, BLOCK) != 0 || memcmp(back + BLOCK, other, BLOCK) != 0)
            return "another's data";
    }
    return NULL;
}

static void each_thread_writes_from_its_own_memory(void **state)
{
    (void)state;
    struct world w;
    struct own_blocks own[THREADS];
    uint8_t first[BLOCK] = {1};
    world_start(&w, true);
    assert_int_equal(write_blocks(&w, 1, 0, BLOCK, first), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        own[i] = (struct own_blocks){.w = &w, .number = i};
        assert_int_equal(pthread_create(&own[i].thread, NULL, write_own_blocks, &own[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        void *fault;
        assert_int_equal(pthread_join(own[i].thread, &fault), 0);
        if (fault)
            fail_msg("thread %u: %s", i, (const char *)fault);
    }
    struct wire_counters n;
    assert_int_equal(chunk_connections_counters(w.server, &n), 0);
    assert_int_equal(n.tcp_clients, 0);
    world_stop(&w);
}

struct visit {
    struct world *w;
    const uint8_t *memory;
    int rc;
};

static void *write_once(void *argument)
{
    struct visit *visit = argument;
    uint8_t block[BLOCK] = {7};
    const struct write_memory *memory = write_memory_get();
    visit->memory = memory ? memory->received : NULL;
    visit->rc = write_blocks(visit->w, 1, 0, BLOCK, block);
    return NULL;
}

/* FUSE workers come and go. If each brought memory that is new to the servers, they would touch it anew for its first writes. */
static void memory_outlives_its_thread(void **state)
{
    (void)state;
    struct world w;
    uint8_t first[BLOCK] = {1};
    const uint8_t *known = NULL;
    world_start(&w, true);
    assert_int_equal(write_blocks(&w, 1, 0, BLOCK, first), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct visit visit = {.w = &w};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, write_once, &visit), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(visit.rc, 0);
        assert_true(visit.memory && (!known || visit.memory == known));
        known = visit.memory;
    }
    world_stop(&w);
}

static void versions_and_damage_are_as_over_tcp(void **state)
{
    (void)state;
    struct world w;
    char path[2 * SCRATCH_PATH];
    uint8_t data[2 * BLOCK], back[2 * BLOCK];
    world_start(&w, true);
    fixture_fill(data, sizeof data, 2);
    assert_int_equal(write_blocks(&w, 1, 0, sizeof data, data), 0);
    assert_int_equal(read_blocks(&w, 1, 0, sizeof data, back), 0);
    assert_int_equal(w.x.store->ops->set_version(w.x.store, ID, 1, 2, BLOCK, false), 0);
    assert_int_equal(read_blocks(&w, 1, 0, BLOCK, back), -EKEYEXPIRED);
    assert_int_equal(read_blocks(&w, 2, 0, sizeof data, back), 0);
    memset(data + BLOCK, 0, BLOCK);
    assert_memory_equal(back, data, sizeof data);
    data[7] ^= 4;
    fixture_pwrite(fixture_chunk_path(&w.x, ID, path), data, 8, fixture_data_start(LARGE_CHUNK));
    assert_int_equal(read_blocks(&w, 2, 0, BLOCK, back), -EILSEQ);
    struct wire_chunk_read checked = {.chunk_id = ID, .version = 2, .verify = 1, .length = BLOCK};
    assert_int_equal(chunk_connections_read(w.server, &checked, back), -EUCLEAN);
    assert_int_equal(w.x.damaged, 1); /* the server knows now */
    assert_int_equal(w.x.store->ops->remove(w.x.store, ID, 2), 0);
    assert_int_equal(read_blocks(&w, 2, 0, BLOCK, back), -ENOMEDIUM);
    world_stop(&w);
}

static bool comes_to_share(struct world *w, bool shares)
{
    uint8_t back[BLOCK];
    for (unsigned tries = 0; tries < 500; tries++) {
        if (read_blocks(w, 1, 0, BLOCK, back) == 0 && chunk_connections_shares_memory(w->server) == shares)
            return true;
        (void)usleep(10000);
    }
    return false;
}

/* The server hears a moment later that a client has closed its connection. */
static bool tcp_ends(const struct world *w)
{
    for (unsigned tries = 0; tries < 500; tries++) {
        if (serve_counters_read(&w->counters).tcp_clients == 0)
            return true;
        (void)usleep(10000);
    }
    return false;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static void a_server_that_comes_back_shares_again(void **state)
{
    (void)state;
    struct world w;
    uint8_t data[BLOCK], back[BLOCK];
    world_start(&w, true);
    fixture_fill(data, sizeof data, 3);
    assert_int_equal(write_blocks(&w, 1, 0, BLOCK, data), 0);
    assert_true(comes_to_share(&w, true));
    unsigned before = descriptors();
    data_service_destroy(w.service);
    /* Nothing is read from what a server left behind, and its files are let go. */
    assert_true(read_blocks(&w, 1, 0, BLOCK, back) < 0);
    assert_false(chunk_connections_shares_memory(w.server));
    assert_true(descriptors() < before);
    serve(&w, false);
    assert_true(comes_to_share(&w, false));
    assert_int_equal(serve_counters_read(&w.counters).shm_clients, 0);
    assert_int_equal(serve_counters_read(&w.counters).tcp_clients, 1);
    data_service_destroy(w.service);
    serve(&w, true);
    assert_true(comes_to_share(&w, true));
    assert_int_equal(read_blocks(&w, 1, 0, BLOCK, back), 0);
    assert_memory_equal(back, data, BLOCK);
    assert_true(tcp_ends(&w));
    world_stop(&w);
}

static void without_a_socket_it_is_tcp(void **state)
{
    (void)state;
    struct world w;
    uint8_t data[BLOCK] = {1}, back[BLOCK];
    world_start(&w, false);
    assert_int_equal(write_blocks(&w, 1, 0, BLOCK, data), 0);
    assert_int_equal(read_blocks(&w, 1, 0, BLOCK, back), 0);
    assert_memory_equal(back, data, BLOCK);
    assert_false(chunk_connections_shares_memory(w.server));
    assert_int_equal(serve_counters_read(&w.counters).tcp_clients, 1);
    world_stop(&w);
}

/* The socket of another cluster's server of the same number is in the directory. */
static void a_server_of_another_cluster_is_not_used(void **state)
{
    (void)state;
    struct world w, other;
    uint8_t data[BLOCK] = {1}, back[BLOCK];
    struct store_geometry geometry = {LARGE_CHUNK, BLOCK};
    world_start(&w, false);
    memset(&other, 0, sizeof other);
    other.x.chunk_bytes = LARGE_CHUNK;
    scratch_make(other.x.path);
    other.x.options = (struct store_files_options){.path = other.x.path, .size_bytes = 8 << 20};
    assert_int_equal(store_files_open(&other.x.options, &other.x.store), 0);
    assert_int_equal(other.x.store->ops->adopt(other.x.store, FIXTURE_CLUSTER + 1, &geometry), 0);
    memcpy(other.sockets, w.sockets, sizeof other.sockets);
    serve(&other, true);
    assert_int_equal(write_blocks(&w, 1, 0, BLOCK, data), 0);
    assert_int_equal(read_blocks(&w, 1, 0, BLOCK, back), 0);
    assert_false(chunk_connections_shares_memory(w.server));
    assert_int_equal(serve_counters_read(&w.counters).write_requests, 1);
    /* And ours does not take the other's socket away. */
    assert_int_equal(shm_listen_start(w.sockets, SERVER, w.service), -EADDRINUSE);
    data_service_destroy(other.service);
    assert_int_equal(shm_listen_start(w.sockets, SERVER, w.service), 0);
    assert_true(comes_to_share(&w, true));
    fixture_remove(&other.x);
    world_stop(&w);
}

/* ---- many at once ---- */

struct crowd {
    struct world *w;
    atomic_bool stop;
    atomic_uint reads;
    atomic_uint version;
};

static void *keep_reading(void *argument)
{
    struct crowd *crowd = argument;
    uint8_t back[4 * BLOCK];
    while (!crowd->stop) {
        uint32_t version = crowd->version;
        int rc = read_blocks(crowd->w, version, 0, sizeof back, back);
        if (rc == 0) {
            /* What is read under a version was written under it. */
            for (unsigned i = 0; i < sizeof back; i++)
                assert_int_equal(back[i], (uint8_t)version);
            crowd->reads++;
        }
    }
    return NULL;
}

static void a_crowd_reads_while_versions_rise_and_servers_restart(void **state)
{
    (void)state;
    struct world w;
    pthread_t threads[READERS];
    uint8_t data[4 * BLOCK];
    struct crowd crowd = {.w = &w, .version = 1};
    world_start(&w, true);
    memset(data, 1, sizeof data);
    assert_int_equal(write_blocks(&w, 1, 0, sizeof data, data), 0);
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_reading, &crowd), 0);
    for (uint32_t version = 1; version < 40; version++) {
        unsigned before = crowd.reads;
        for (unsigned tries = 0; crowd.reads < before + 20 && tries < 5000; tries++)
            (void)usleep(1000);
        assert_true(crowd.reads >= before + 20);
        if (version % 13 == 0) {
            data_service_destroy(w.service);
            serve(&w, true);
        }
        assert_int_equal(w.x.store->ops->set_version(w.x.store, ID, version, version + 1, 0, false), 0);
        memset(data, (int)version + 1, sizeof data);
        assert_int_equal(fixture_write(&w.x, ID, version + 1, 0, sizeof data, data, false), 0);
        crowd.version = version + 1;
    }
    crowd.stop = true;
    for (unsigned i = 0; i < READERS; i++)
        (void)pthread_join(threads[i], NULL);
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_go_through_memory),
        cmocka_unit_test(each_thread_writes_from_its_own_memory),
        cmocka_unit_test(memory_outlives_its_thread),
        cmocka_unit_test(versions_and_damage_are_as_over_tcp),
        cmocka_unit_test(a_server_that_comes_back_shares_again),
        cmocka_unit_test(without_a_socket_it_is_tcp),
        cmocka_unit_test(a_server_of_another_cluster_is_not_used),
        cmocka_unit_test(a_crowd_reads_while_versions_rise_and_servers_restart),
    };
    log_init("test", LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
