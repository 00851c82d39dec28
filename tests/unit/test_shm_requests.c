/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "chunkserver/data_service.h"
#include "common/log.h"
#include "common/shared_memory.h"
#include "data_client.h"
#include "store_fixture.h"

enum { ID = 9 };

/* A store with a service on a port and on a Unix socket. */
struct server {
    struct store_fixture x;
    struct serve_counters counters;
    struct data_service *service;
    struct address port, local;
};

static void server_start(struct server *s)
{
    struct address any = {.host = "127.0.0.1"};
    int fd;
    memset(s, 0, sizeof *s);
    fixture_make(&s->x, LARGE_CHUNK, 64 << 20);
    assert_int_equal(stream_listen(&any, &fd, &s->port), 0);
    s->service = data_service_create(fd, s->x.store, &s->counters);
    shared_memory_socket(s->x.path, 1, &s->local);
    assert_int_equal(stream_listen(&s->local, &fd, NULL), 0);
    data_service_serve_local(s->service, fd);
}

static void server_stop(struct server *s)
{
    data_service_destroy(s->service);
    fixture_remove(&s->x);
}

static void client_open(struct data_client *c, const struct address *address)
{
    c->sequence = 0;
    assert_int_equal(stream_connect(address, 5000, &c->stream), 0);
    if (address->host[0] == '/')
        stream_expect_fd(&c->stream);
    assert_int_equal(data_client_hello(c, FIXTURE_CLUSTER, WIRE_ROLE_CLIENT), WIRE_OK);
}

/* The status, or what became of the connection. */
static int give(struct data_client *c, uint8_t purpose, uint32_t bytes, int fd)
{
    uint8_t body[32];
    struct wire_memory_share m = {.purpose = purpose, .bytes = bytes};
    struct wire_out out = wire_out_on(body, sizeof body);
    wire_put_memory_share(&out, &m);
    struct wire_header header = {
        .body_bytes = (uint32_t)out.used, .type = WIRE_TYPE_memory_share, .sequence = ++c->sequence}, reply;
    const void *answer;
    int rc = fd < 0 ? stream_send(&c->stream, &header, body, NULL, 0) : stream_send_fd(&c->stream, &header, body, fd);
    if (rc == 0)
        rc = stream_recv(&c->stream, &reply, &answer);
    return rc < 0 ? rc : reply.status;
}

static uint8_t *give_new(struct data_client *c, uint8_t purpose, uint32_t bytes)
{
    void *map;
    int fd = shared_memory_create(bytes, &map);
    assert_true(fd >= 0);
    assert_int_equal(give(c, purpose, bytes, fd), WIRE_OK);
    assert_int_equal(close(fd), 0);
    return map;
}

static int write_shared(struct data_client *c, uint32_t at, uint32_t offset, uint32_t length, const uint64_t *sums, uint8_t flags)
{
    union wire_any request = {
        .shared_write = {.at = at, .chunk_id = ID, .version = 1, .flags = flags | WIRE_WRITE_CREATE, .offset = offset, .length = length,
                         .checksums = wire_bytes_of(sums, 8 * (size_t)checksum_pieces(offset, length, BLOCK))}};
    struct wire_header reply;
    const void *body;
    int rc = stream_call(&c->stream, WIRE_TYPE_shared_write, ++c->sequence, &request, &reply, &body);
    return rc < 0 ? rc : reply.status;
}

static int ask(struct data_client *c, uint64_t id, uint32_t version)
{
    union wire_any request = {.chunk_share = {.chunk_id = id, .version = version}};
    struct wire_header reply;
    const void *body;
    int rc = stream_call(&c->stream, WIRE_TYPE_chunk_share, ++c->sequence, &request, &reply, &body);
    return rc < 0 ? rc : reply.status;
}

static void writes_come_from_memory(void **state)
{
    (void)state;
    struct server s;
    struct data_client c, far;
    uint64_t sums[WIRE_BLOCKS_LIMIT];
    uint8_t *back = malloc(WIRE_PAYLOAD_LIMIT);
    server_start(&s);
    client_open(&c, &s.local);
    client_open(&far, &s.port);
    uint8_t *memory = give_new(&c, WIRE_MEMORY_WRITES, WIRE_IO_LIMIT);
    fixture_fill(memory, WIRE_IO_LIMIT, 1);
    checksum_range(memory, 100, WIRE_IO_LIMIT, BLOCK, sums);
    assert_int_equal(write_shared(&c, 0, 100, WIRE_IO_LIMIT, sums, 0), WIRE_OK);
    assert_int_equal(data_client_read(&far, ID, 1, 0, 257 * BLOCK, back), WIRE_OK);
    assert_memory_equal(back + 100, memory, WIRE_IO_LIMIT);
    checksum_range(memory + 50, 0, 10, BLOCK, sums);
    assert_int_equal(write_shared(&c, 50, 0, 10, sums, 0), WIRE_OK);
    assert_int_equal(data_client_read(&far, ID, 1, 0, BLOCK, back), WIRE_OK);
    assert_memory_equal(back, memory + 50, 10);
    /* What does not match its checksum is not taken. */
    sums[0] ^= 1;
    assert_int_equal(write_shared(&c, 60, 0, 10, sums, 0), WIRE_DAMAGED);
    assert_int_equal(data_client_read(&far, ID, 1, 0, BLOCK, back), WIRE_OK);
    assert_memory_equal(back, memory + 50, 10);
    struct wire_counters n = serve_counters_read(&s.counters);
    assert_int_equal(n.write_bytes, WIRE_IO_LIMIT + 10);
    assert_int_equal(n.write_requests, 2);
    assert_int_equal(n.shm_clients, 1);
    assert_int_equal(n.tcp_clients, 1);
    (void)munmap(memory, WIRE_IO_LIMIT);
    stream_close(&c.stream);
    stream_close(&far.stream);
    free(back);
    server_stop(&s);
    assert_int_equal(serve_counters_read(&s.counters).shm_clients, 0);
}

static unsigned mappings_of_shared_memory(void)
{
    unsigned count = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:calf") != NULL;
    (void)fclose(maps);
    return count;
}

/* A client gives all its connections the same memory; it is there until the last of them is closed. */
static void memory_given_twice_is_mapped_once(void **state)
{
    (void)state;
    struct server s;
    struct data_client c, d, liar;
    uint64_t sum;
    void *memory;
    server_start(&s);
    client_open(&c, &s.local);
    client_open(&d, &s.local);
    client_open(&liar, &s.local);
    int fd = shared_memory_create(2 * BLOCK, &memory);
    assert_true(fd >= 0);
    assert_int_equal(give(&c, WIRE_MEMORY_WRITES, 2 * BLOCK, fd), WIRE_OK);
    assert_int_equal(give(&d, WIRE_MEMORY_WRITES, 2 * BLOCK, fd), WIRE_OK);
    assert_int_equal(give(&d, WIRE_MEMORY_WRITES, 2 * BLOCK, fd), WIRE_OK); /* again */
    assert_int_equal(mappings_of_shared_memory(), 2);                        /* this process's own, and one more */
    assert_true(give(&liar, WIRE_MEMORY_WRITES, BLOCK, fd) < 0);
    memset(memory, 5, 2 * BLOCK);
    checksum_range(memory, 0, BLOCK, BLOCK, &sum);
    assert_int_equal(write_shared(&c, 0, 0, BLOCK, &sum, 0), WIRE_OK);
    stream_close(&c.stream);
    stream_close(&liar.stream);
    while (serve_counters_read(&s.counters).shm_clients > 1)
        (void)usleep(1000);
    assert_int_equal(write_shared(&d, BLOCK, BLOCK, BLOCK, &sum, 0), WIRE_OK);
    stream_close(&d.stream);
    while (mappings_of_shared_memory() > 1)
        (void)usleep(1000);
    assert_int_equal(close(fd), 0);
    (void)munmap(memory, 2 * BLOCK);
    server_stop(&s);
}

static void reads_that_nobody_asked_for_are_counted(void **state)
{
    (void)state;
    struct server s;
    struct data_client c, d;
    server_start(&s);
    client_open(&c, &s.local);
    client_open(&d, &s.local);
    struct shared_reads *one = (struct shared_reads *)give_new(&c, WIRE_MEMORY_READS, BLOCK);
    struct shared_reads *two = (struct shared_reads *)give_new(&d, WIRE_MEMORY_READS, BLOCK);
    one->bytes = 1000;
    one->requests = 1;
    two->bytes = 200;
    two->requests = 2;
    struct wire_counters n = serve_counters_read(&s.counters);
    assert_int_equal(n.read_bytes, 1200);
    assert_int_equal(n.read_requests, 3);
    two->bytes += 30;
    stream_close(&d.stream); /* what it had read stays counted */
    while (serve_counters_read(&s.counters).shm_clients > 1)
        (void)usleep(1000);
    two->bytes += 5000;
    one->bytes += 4;
    n = serve_counters_read(&s.counters);
    assert_int_equal(n.read_bytes, 1234);
    assert_int_equal(n.read_requests, 3);
    /* New memory takes the place of the old. */
    struct shared_reads *three = (struct shared_reads *)give_new(&c, WIRE_MEMORY_READS, BLOCK);
    three->bytes = 6;
    assert_int_equal(serve_counters_read(&s.counters).read_bytes, 1240);
    stream_close(&c.stream);
    (void)munmap(one, BLOCK);
    (void)munmap(two, BLOCK);
    (void)munmap(three, BLOCK);
    server_stop(&s);
}

static void chunks_are_shared_as_they_are_read(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    uint8_t data[BLOCK] = {1}, byte;
    server_start(&s);
    client_open(&c, &s.local);
    assert_int_equal(ask(&c, ID, 1), WIRE_NO_CHUNK);
    assert_int_equal(stream_take_fd(&c.stream), -1);
    assert_int_equal(data_client_write(&c, ID, 1, 0, BLOCK, data), WIRE_OK); /* a payload goes this way, too */
    assert_int_equal(ask(&c, ID, 2), WIRE_WRONG_VERSION);
    assert_int_equal(ask(&c, ID, 0), WIRE_INVALID);
    assert_int_equal(ask(&c, ID, 1), WIRE_OK);
    int fd = stream_take_fd(&c.stream);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, fixture_data_start(LARGE_CHUNK)), 1);
    assert_int_equal(byte, 1);
    assert_int_equal(close(fd), 0);
    stream_close(&c.stream);
    server_stop(&s);
}

/* ---- hostile peers ---- */

static void hostile(struct server *s, uint8_t purpose, uint32_t bytes, int fd)
{
    struct data_client c;
    client_open(&c, &s->local);
    assert_int_equal(give(&c, purpose, bytes, fd), -ECONNRESET);
    stream_close(&c.stream);
}

static void bad_memory_closes_the_connection(void **state)
{
    (void)state;
    struct server s;
    void *map;
    server_start(&s);
    int good = shared_memory_create(BLOCK, &map);
    hostile(&s, 0, BLOCK, good);                         /* for nothing */
    hostile(&s, WIRE_MEMORY_WRITES, 2 * BLOCK, good);    /* not so large */
    hostile(&s, WIRE_MEMORY_WRITES, 100, good);          /* not so small */
    hostile(&s, WIRE_MEMORY_WRITES, 0, good);
    hostile(&s, WIRE_MEMORY_WRITES, WIRE_MEMORY_LIMIT + BLOCK, good);
    int open_ended = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(open_ended, BLOCK), 0);
    hostile(&s, WIRE_MEMORY_READS, BLOCK, open_ended);   /* could be cut while it is mapped */
    int file = open("/proc/self/exe", O_RDONLY);
    hostile(&s, WIRE_MEMORY_WRITES, BLOCK, file);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    hostile(&s, WIRE_MEMORY_WRITES, BLOCK, ends[0]);
    assert_int_equal(serve_counters_read(&s.counters).bad_frames, 8);
    (void)munmap(map, BLOCK);
    (void)close(good);
    (void)close(open_ended);
    (void)close(file);
    (void)close(ends[0]);
    (void)close(ends[1]);
    server_stop(&s);
}

/* The kernel lets go of a descriptor for which the server has no room. The client writes without sharing then. */
static void a_descriptor_that_got_lost_is_refused(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    uint8_t data[BLOCK] = {9};
    server_start(&s);
    client_open(&c, &s.local);
    assert_int_equal(give(&c, WIRE_MEMORY_WRITES, BLOCK, -1), WIRE_IO);
    assert_int_equal(data_client_write(&c, ID, 1, 0, BLOCK, data), WIRE_OK);
    assert_int_equal(serve_counters_read(&s.counters).bad_frames, 0);
    stream_close(&c.stream);
    server_stop(&s);
}

static void what_does_not_lie_in_the_memory_closes_the_connection(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    static const uint64_t sums[WIRE_BLOCKS_LIMIT];
    static const struct {
        uint32_t at, length;
        bool memory;
        uint8_t flags;
    } cases[] = {
        {0, BLOCK, false, 0},
        {1, BLOCK, true, 0},
        {BLOCK, 1, true, 0},
        {UINT32_MAX, 2, true, 0},
        {0, 2 * BLOCK, true, 0},
        {0, WIRE_IO_LIMIT + BLOCK, true, 0},
        {0, BLOCK, true, WIRE_WRITE_ZERO},
    };
    server_start(&s);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        client_open(&c, &s.local);
        uint8_t *memory = cases[i].memory ? give_new(&c, WIRE_MEMORY_WRITES, BLOCK) : NULL;
        assert_int_equal(write_shared(&c, cases[i].at, 0, cases[i].length, sums, cases[i].flags), -ECONNRESET);
        stream_close(&c.stream);
        if (memory)
            (void)munmap(memory, BLOCK);
    }
    assert_int_equal(serve_counters_read(&s.counters).bad_frames, sizeof cases / sizeof *cases);
    server_stop(&s);
}

static void over_a_network_nothing_is_shared(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    static const uint64_t sums[1];
    server_start(&s);
    client_open(&c, &s.port);
    assert_int_equal(ask(&c, ID, 1), -ECONNRESET);
    stream_close(&c.stream);
    client_open(&c, &s.port);
    assert_int_equal(give(&c, WIRE_MEMORY_READS, BLOCK, -1), -ECONNRESET);
    stream_close(&c.stream);
    client_open(&c, &s.port);
    assert_int_equal(write_shared(&c, 0, 0, 1, sums, 0), -ECONNRESET);
    stream_close(&c.stream);
    assert_int_equal(serve_counters_read(&s.counters).bad_frames, 3);
    server_stop(&s);
}

/* ---- a writer that changes its mind ---- */

/* A process, as the other end of shared memory is. */
static pid_t scribble(volatile uint8_t *memory)
{
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
        for (unsigned i = 0;; i++)
            memory[i * 64 % (16 * BLOCK)] = (uint8_t)i;
    }
    assert_true(child > 0);
    return child;
}

/* Memory that changes while it is checked: such a write is refused or stored whole, and never leaves a damaged block. */
static void scribbling_in_the_memory_damages_nothing(void **state)
{
    (void)state;
    struct server s;
    struct data_client c;
    uint64_t sums[16];
    static uint8_t copy[16 * BLOCK], back[16 * BLOCK];
    unsigned refused = 0;
    server_start(&s);
    client_open(&c, &s.local);
    uint8_t *memory = give_new(&c, WIRE_MEMORY_WRITES, 16 * BLOCK);
    memset(copy, 0, sizeof copy);
    checksum_range(copy, 0, sizeof copy, BLOCK, sums);
    assert_int_equal(write_shared(&c, 0, 0, sizeof copy, sums, 0), WIRE_OK);
    pid_t child = scribble(memory);
    for (unsigned i = 0; i < 3000 && refused < 300; i++) {
        memcpy(copy, memory, sizeof copy);
        checksum_range(copy, 0, sizeof copy, BLOCK, sums);
        int status = write_shared(&c, 0, 0, sizeof copy, sums, 0);
        assert_true(status == WIRE_OK || status == WIRE_DAMAGED);
        refused += status == WIRE_DAMAGED;
        if (status == WIRE_DAMAGED)
            continue;
        assert_int_equal(data_client_read(&c, ID, 1, 0, sizeof back, back), WIRE_OK);
        assert_memory_equal(back, copy, sizeof copy);
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    struct wire_chunk_read all = {.chunk_id = ID, .version = 1, .verify = 1, .length = sizeof back};
    assert_int_equal(data_client_read_as(&c, &all, back), WIRE_OK);
    assert_int_equal(s.x.damaged, 0);
    (void)munmap(memory, 16 * BLOCK);
    stream_close(&c.stream);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_come_from_memory),
        cmocka_unit_test(memory_given_twice_is_mapped_once),
        cmocka_unit_test(reads_that_nobody_asked_for_are_counted),
        cmocka_unit_test(chunks_are_shared_as_they_are_read),
        cmocka_unit_test(bad_memory_closes_the_connection),
        cmocka_unit_test(a_descriptor_that_got_lost_is_refused),
        cmocka_unit_test(what_does_not_lie_in_the_memory_closes_the_connection),
        cmocka_unit_test(over_a_network_nothing_is_shared),
        cmocka_unit_test(scribbling_in_the_memory_damages_nothing),
    };
    log_init("test", LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
