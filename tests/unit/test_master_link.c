/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>

#include "chunkserver/copy_chunk.h"
#include "chunkserver/data_service.h"
#include "chunkserver/master_link.h"
#include "common/clock.h"
#include "common/control.h"
#include "common/log.h"
#include "data_client.h"
#include "store_fixture.h"

/* A chunkserver's link against a master that the test plays. */
struct play {
    struct store_fixture x;
    struct serve_counters counters;
    struct damage_list damage;
    struct master_link *link;
    struct control_server *master;
    struct address address;
    struct control_request *request;
    struct wire_header header;
    union wire_any message;
    uint8_t body[WIRE_BODY_LIMIT];
};

static _Atomic int refusals;

static void refused(void)
{
    refusals++;
}

static void play_start(struct play *p, bool adopted, bool prefault)
{
    memset(p, 0, sizeof *p);
    refusals = 0;
    struct address listen = {.host = "127.0.0.1"};
    assert_int_equal(control_listen(&listen, &p->address, &p->master), 0);
    damage_list_init(&p->damage, &p->counters);
    p->x = (struct store_fixture){.chunk_bytes = SMALL_CHUNK};
    scratch_make(p->x.path);
    p->x.options = (struct store_files_options){
        .path = p->x.path, .size_bytes = 64 << 20, .watch = {damage_list_note, &p->damage}};
    assert_int_equal(adopted ? fixture_open(&p->x) : store_files_open(&p->x.options, &p->x.store), 0);
    struct master_link_options options = {.master = p->address, .advertise = {.port = 4711}, .store = p->x.store,
                                          .counters = &p->counters, .damage = &p->damage, .prefault = prefault,
                                          .refused = refused};
    assert_int_equal(master_link_create(&options, &p->link), 0);
}

static void play_end(struct play *p)
{
    master_link_destroy(p->link);
    control_server_destroy(p->master);
    fixture_remove(&p->x);
    damage_list_fini(&p->damage);
}

/* The next request; it must be of that type. */
static void expect(struct play *p, uint16_t type)
{
    const void *body;
    int64_t end = clock_mono_ns() + 10 * NS_PER_S;
    while (control_recv(p->master, &p->request, &p->header, &body) == 0) {
        struct pollfd fd = {.fd = control_server_fd(p->master), .events = POLLIN};
        assert_true(clock_mono_ns() < end);
        (void)poll(&fd, 1, 100);
    }
    assert_int_equal(p->header.type, type);
    memcpy(p->body, body, p->header.body_bytes);
    assert_int_equal(wire_get_any(type, p->body, p->header.body_bytes, &p->message), 0);
}

static void answer_registration(struct play *p, uint64_t cluster)
{
    union wire_any reply = {.server_register_reply = {
                                .cluster = cluster, .server_id = 6, .chunk_bytes = SMALL_CHUNK, .block_bytes = BLOCK}};
    control_reply(p->master, p->request, WIRE_OK, &reply);
}

static void answer_poll(struct play *p, bool register_again, const struct wire_command *commands, unsigned count)
{
    uint8_t room[4096];
    struct wire_out out = wire_out_on(room, sizeof room);
    union wire_any reply = {.server_poll_reply = {.register_again = register_again}};
    for (unsigned i = 0; i < count; i++)
        assert_true(wire_append_command(&out, &reply.server_poll_reply.commands, &commands[i]));
    control_reply(p->master, p->request, WIRE_OK, &reply);
}

static void an_empty_store_joins_and_stays(void **state)
{
    (void)state;
    static struct play p;
    play_start(&p, false, false);
    expect(&p, WIRE_TYPE_server_register);
    const struct wire_server_register *m = &p.message.server_register;
    assert_int_equal(m->cluster, 0);
    assert_true(m->node != 0 && m->start != 0 && m->first && m->last && m->chunks.count == 0);
    assert_int_equal(m->port, 4711);
    assert_int_equal(m->host.length, 9);
    assert_memory_equal(m->host.data, "127.0.0.1", 9);
    assert_int_equal(m->total_bytes, 64 << 20);
    uint64_t node = m->node, start = m->start;
    answer_registration(&p, 12345);
    expect(&p, WIRE_TYPE_server_poll);
    assert_int_equal(p.message.server_poll.server_id, 6);
    assert_true(p.message.server_poll.start == start);
    assert_int_equal(p.x.store->identity.cluster, 12345);
    answer_poll(&p, true, NULL, 0);
    expect(&p, WIRE_TYPE_server_register);
    assert_true(m->cluster == 12345 && m->node == node && m->start != start);
    answer_registration(&p, 12345);
    expect(&p, WIRE_TYPE_server_poll);
    control_drop(p.request);
    play_end(&p);
}

static void a_store_of_another_cluster_is_refused(void **state)
{
    (void)state;
    static struct play p;
    play_start(&p, true, false);
    expect(&p, WIRE_TYPE_server_register);
    control_reply(p.master, p.request, WIRE_WRONG_CLUSTER, NULL);
    for (int i = 0; i < 500 && !refusals; i++)
        (void)usleep(10000);
    assert_int_equal(refusals, 1);
    play_end(&p);
    play_start(&p, true, false);
    expect(&p, WIRE_TYPE_server_register);
    answer_registration(&p, FIXTURE_CLUSTER + 1); /* a master that does not look */
    for (int i = 0; i < 500 && !refusals; i++)
        (void)usleep(10000);
    assert_int_equal(refusals, 1);
    play_end(&p);
}

static void commands_are_done_and_results_repeated_until_heard(void **state)
{
    (void)state;
    static struct play p;
    play_start(&p, true, false);
    assert_int_equal(fixture_write(&p.x, 1, 1, 0, 5, "hello", true), 0);
    assert_int_equal(fixture_write(&p.x, 2, 1, 0, 5, "hello", true), 0);
    expect(&p, WIRE_TYPE_server_register);
    answer_registration(&p, FIXTURE_CLUSTER);
    expect(&p, WIRE_TYPE_server_poll);
    const struct wire_command commands[] = {
        {.number = 1, .action = WIRE_ACTION_SET_VERSION, .chunk_id = 1, .version = 1, .new_version = 2, .keep_bytes = 3},
        {.number = 2, .action = WIRE_ACTION_DELETE, .chunk_id = 2, .version = 7},
        {.number = 3, .action = WIRE_ACTION_DELETE, .chunk_id = 2, .version = 1},
        {.number = 4, .action = WIRE_ACTION_SET_VERSION, .chunk_id = 3, .version = 1, .new_version = 2, .create = 1},
        {.number = 5, .action = 99, .chunk_id = 3},
        {.number = 6, .action = WIRE_ACTION_COPY, .chunk_id = 9, .version = 1, .source = {.id = 3, .host = wire_text("127.0.0.1"), .port = 1}},
    };
    static const uint16_t status[] = {WIRE_OK, WIRE_WRONG_VERSION, WIRE_OK, WIRE_OK, WIRE_NOT_SUPPORTED, WIRE_IO};
    answer_poll(&p, false, commands, 6);
    unsigned seen = 0;
    for (int poll = 0; seen < 6; poll++) {
        expect(&p, WIRE_TYPE_server_poll);
        struct wire_command_result result;
        struct wire_list results = p.message.server_poll.results;
        assert_true(poll < 10);
        if (poll == 0)
            assert_true(results.count >= 5);
        if (poll == 1) { /* the answer got lost: the same come again */
            control_reply(p.master, p.request, WIRE_AGAIN, NULL);
            continue;
        }
        while (wire_next_command_result(&results, &result)) {
            seen++;
            assert_int_equal(result.number, seen);
            assert_int_equal(result.status, status[seen - 1]);
        }
        (void)usleep(100000);
        answer_poll(&p, false, NULL, 0);
    }
    uint8_t data[BLOCK];
    assert_int_equal(fixture_read(&p.x, 1, 2, 0, BLOCK, data), 0);
    assert_memory_equal(data, "hel\0\0", 5);
    assert_int_equal(fixture_read(&p.x, 2, 1, 0, BLOCK, data), -ENOMEDIUM);
    assert_int_equal(fixture_read(&p.x, 3, 2, 0, BLOCK, data), 0);
    damage_list_note(&p.damage, 77, 3);
    struct wire_list damaged = {NULL, 0, 0};
    struct wire_chunk_report report;
    for (int poll = 0; damaged.count == 0; poll++) { /* the first one may be older than the note */
        assert_true(poll < 3);
        if (poll)
            answer_poll(&p, false, NULL, 0);
        expect(&p, WIRE_TYPE_server_poll);
        damaged = p.message.server_poll.damaged;
    }
    assert_true(wire_next_chunk_report(&damaged, &report));
    assert_true(report.chunk_id == 77 && report.version == 3 && report.damaged == 1);
    assert_int_equal(p.message.server_poll.counters.damaged_blocks, 1);
    control_drop(p.request);
    play_end(&p);
}

static void a_long_report_comes_in_parts(void **state)
{
    (void)state;
    enum { CHUNKS = WIRE_REPORT_LIMIT + 100 };
    static struct play p;
    play_start(&p, true, false);
    expect(&p, WIRE_TYPE_server_register);
    for (uint32_t id = 1; id <= CHUNKS / 2; id++) /* too many for the size with data in them */
        assert_int_equal(p.x.store->ops->set_version(p.x.store, id, 1, 2, WIRE_KEEP_ALL, true), 0);
    for (uint32_t id = CHUNKS / 2 + 1; id <= CHUNKS; id++)
        assert_int_equal(p.x.store->ops->set_version(p.x.store, id, 1, 3, WIRE_KEEP_ALL, true), 0);
    answer_registration(&p, FIXTURE_CLUSTER);
    expect(&p, WIRE_TYPE_server_poll);
    answer_poll(&p, true, NULL, 0);
    uint32_t seen = 0;
    for (int part = 0; part < 2; part++) {
        expect(&p, WIRE_TYPE_server_register);
        assert_int_equal(p.message.server_register.first, part == 0);
        assert_int_equal(p.message.server_register.last, part == 1);
        struct wire_list list = p.message.server_register.chunks;
        struct wire_chunk_report report;
        while (wire_next_chunk_report(&list, &report)) {
            seen++;
            assert_int_equal(report.version, report.chunk_id <= CHUNKS / 2 ? 2 : 3);
        }
        answer_registration(&p, FIXTURE_CLUSTER);
    }
    assert_int_equal(seen, CHUNKS);
    expect(&p, WIRE_TYPE_server_poll);
    control_drop(p.request);
    play_end(&p);
}

static void prefault_comes_before_the_registration_is_complete(void **state)
{
    (void)state;
    static struct play p;
    play_start(&p, false, true);
    expect(&p, WIRE_TYPE_server_register);
    assert_true(p.message.server_register.first && !p.message.server_register.last);
    answer_registration(&p, 4);
    expect(&p, WIRE_TYPE_server_register);
    assert_true(p.message.server_register.first && p.message.server_register.last);
    assert_int_equal(p.message.server_register.cluster, 4);
    assert_true(fixture_entries(&p.x, "free") > 800);
    answer_registration(&p, 4);
    expect(&p, WIRE_TYPE_server_poll);
    control_drop(p.request);
    play_end(&p);
}

/* ---- copies ---- */

static void a_chunk_is_copied_whole_and_verified(void **state)
{
    (void)state;
    struct store_fixture from, to;
    struct serve_counters counters = {0};
    struct address listen = {.host = "127.0.0.1"}, bound;
    uint8_t data[3 * BLOCK], back[SMALL_CHUNK];
    char path[2 * SCRATCH_PATH];
    int fd;
    _Atomic bool stop = false;
    fixture_make(&from, SMALL_CHUNK, 16 << 20);
    fixture_make(&to, SMALL_CHUNK, 16 << 20);
    memset(data, 9, sizeof data);
    assert_int_equal(fixture_write(&from, 1, 5, BLOCK, 3 * BLOCK, data, true), 0);
    assert_int_equal(fixture_write(&from, 1, 5, 9 * BLOCK + 1, 7, data, true), 0);
    assert_int_equal(stream_listen(&listen, &fd, &bound), 0);
    struct data_service *service = data_service_create(fd, from.store, &counters);
    assert_int_equal(copy_chunk_from(to.store, &bound, 2, 5, &stop), -ENOMEDIUM);
    assert_int_equal(copy_chunk_from(to.store, &bound, 1, 4, &stop), -EKEYEXPIRED);
    assert_int_equal(fixture_used(&to), 0);
    assert_int_equal(copy_chunk_from(to.store, &bound, 1, 5, &stop), 0);
    assert_int_equal(copy_chunk_from(to.store, &bound, 1, 5, &stop), 0);
    assert_int_equal(fixture_read(&to, 1, 5, 0, SMALL_CHUNK, back), 0);
    assert_memory_equal(back + BLOCK, data, 3 * BLOCK);
    assert_memory_equal(back + 9 * BLOCK + 1, data, 7);
    assert_int_equal(fixture_used(&to), fixture_used(&from));
    /* A damaged source is no source. */
    assert_int_equal(fixture_write(&from, 3, 1, 0, BLOCK, data, true), 0);
    fd = open(fixture_chunk_path(&from, 3, path), O_RDWR);
    assert_int_equal(pwrite(fd, "rot", 3, 2 * 4096), 3);
    assert_int_equal(close(fd), 0);
    assert_int_equal(copy_chunk_from(to.store, &bound, 3, 1, &stop), -EUCLEAN);
    assert_int_equal(fixture_read(&to, 3, 1, 0, BLOCK, back), -ENOMEDIUM);
    data_service_destroy(service);
    fixture_remove(&from);
    fixture_remove(&to);
}

int main(void)
{
    log_init("test_master_link", LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_store_joins_and_stays),
        cmocka_unit_test(a_store_of_another_cluster_is_refused),
        cmocka_unit_test(commands_are_done_and_results_repeated_until_heard),
        cmocka_unit_test(a_long_report_comes_in_parts),
        cmocka_unit_test(prefault_comes_before_the_registration_is_complete),
        cmocka_unit_test(a_chunk_is_copied_whole_and_verified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
