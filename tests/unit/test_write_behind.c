/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/write_memory.h"
#include "tests/unit/fake_cluster.h"

static void put(struct fake_mount *f, uint64_t offset, const char *text)
{
    assert_int_equal(fs_write_behind(f->fs, f->handle, offset, text, strlen(text)), strlen(text));
}

static uint64_t size_seen(struct fake_mount *f)
{
    struct wire_attr attr;
    assert_int_equal(fs_getattr(f->fs, FAKE_INO, &attr), 0);
    return attr.size;
}

static int publishes_of(struct fake_mount *f)
{
    (void)pthread_mutex_lock(&f->cluster->lock);
    int publishes = f->cluster->publishes;
    (void)pthread_mutex_unlock(&f->cluster->lock);
    return publishes;
}

static void test_small_writes_become_one(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    for (uint64_t at = 0; at < 4000; at += 4)
        put(&f, at, "calf");
    assert_int_equal(f.cluster->servers[0].writes, 0);
    assert_int_equal(size_seen(&f), 4000);
    assert_int_equal(f.cluster->attr.size, 0);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->servers[0].writes, 1);
    assert_int_equal(f.cluster->attr.size, 4000);
    assert_memory_equal(f.cluster->servers[0].data + 3996, "calf", 4);
    fake_mount_close(&f);
}

static void test_what_is_left_alone_arrives(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    put(&f, 0, "calf");
    for (int i = 0; i < 500 && publishes_of(&f) == 0; i++)
        clock_sleep_ns(10 * NS_PER_MS);
    assert_memory_equal(f.cluster->servers[0].data, "calf", 4);
    assert_int_equal(f.cluster->attr.size, 4);
    fake_mount_close(&f);
}

static void test_a_read_sees_what_was_written_before(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    const uint8_t *data;
    put(&f, 0, "0123456789");
    put(&f, 3, "abc"); /* inside what is still here */
    put(&f, 20000, "far");
    put(&f, 8, "XYZ"); /* over one that is on its way */
    assert_int_equal(fs_read(f.fs, f.handle, 0, 11, &data), 11);
    assert_memory_equal(data, "012abc67XYZ", 11);
    assert_int_equal(fs_read(f.fs, f.handle, 19999, 100, &data), 4);
    assert_memory_equal(data, "\0far", 4);
    fake_mount_close(&f);
}

static void test_a_write_through_comes_after_those_before_it(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    put(&f, 0, "0123456789");
    assert_int_equal(fs_write(f.fs, f.handle, 5, "x", 1), 1);
    assert_memory_equal(f.cluster->servers[0].data, "01234x6789", 10);
    fake_mount_close(&f);
}

static atomic_bool held;
static atomic_int held_now;

/* Writes to the first block are not answered while `held`. */
static bool holds(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    (void)reply;
    if (request->type != WIRE_TYPE_chunk_write || request->value.chunk_write.offset >= 4096)
        return false;
    atomic_fetch_add(&held_now, 1);
    (void)pthread_mutex_unlock(&server->cluster->lock);
    while (held)
        clock_sleep_ns(NS_PER_MS);
    (void)pthread_mutex_lock(&server->cluster->lock);
    return false;
}

static void *publish(void *argument)
{
    struct fake_mount *f = argument;
    assert_int_equal(fs_flush(f->fs, f->handle), 0);
    return NULL;
}

static void test_no_length_is_told_above_what_is_missing(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    pthread_t publisher;
    held = true;
    held_now = 0;
    f.cluster->on_chunk = holds;
    put(&f, 0, "first");
    put(&f, 30000, "second"); /* sends the first, which is held */
    put(&f, 20000, "third");
    while (!held_now)
        clock_sleep_ns(NS_PER_MS);
    assert_int_equal(pthread_create(&publisher, NULL, publish, &f), 0);
    for (int i = 0; i < 5000 && f.cluster->servers[0].writes < 3; i++)
        clock_sleep_ns(NS_PER_MS);
    assert_int_equal(f.cluster->servers[0].writes, 3);
    clock_sleep_ns(20 * NS_PER_MS); /* time in which it would be told */
    assert_int_equal(publishes_of(&f), 0);
    assert_int_equal(size_seen(&f), 30006);
    held = false;
    assert_int_equal(pthread_join(publisher, NULL), 0);
    assert_int_equal(f.cluster->attr.size, 30006);
    assert_int_equal(f.cluster->publishes, 1);
    fake_mount_close(&f);
}

static bool is_full(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    (void)server;
    if (request->type != WIRE_TYPE_chunk_write)
        return false;
    reply->status = WIRE_NO_SPACE;
    return true;
}

static void test_an_error_is_reported_once(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    f.cluster->on_chunk = is_full;
    put(&f, 0, "calf");
    assert_int_equal(fs_fsync(f.fs, f.handle), -ENOSPC);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(size_seen(&f), 0);
    put(&f, 0, "calf");
    assert_int_equal(fs_flush(f.fs, f.handle), -ENOSPC);
    put(&f, 0, "calf");
    put(&f, 20000, "calf"); /* sends the first */
    for (int i = 0; i < 5000 && f.cluster->servers[0].writes < 3; i++)
        clock_sleep_ns(NS_PER_MS);
    clock_sleep_ns(50 * NS_PER_MS); /* for the answer to arrive */
    assert_int_equal(fs_write_behind(f.fs, f.handle, 0, "calf", 4), -ENOSPC);
    assert_int_equal(fs_fsync(f.fs, f.handle), -ENOSPC); /* the second */
    f.cluster->on_chunk = NULL;
    put(&f, 0, "good");
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_memory_equal(f.cluster->servers[0].data, "good", 4);
    fake_mount_close(&f);
}

static void test_a_cut_comes_after_the_writes_before_it(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    struct wire_attr attr;
    struct wire_setattr cut = {.ino = FAKE_INO, .valid = WIRE_SET_SIZE, .size = 2};
    put(&f, 0, "calf");
    assert_int_equal(fs_setattr(f.fs, &cut, &attr), 0);
    assert_int_equal(f.cluster->servers[0].writes, 1);
    assert_int_equal(f.cluster->publishes, 1);
    fake_mount_close(&f);
}

/* A write of three bytes is slow on its way. */
static bool delays_three(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    (void)reply;
    if (request->type == WIRE_TYPE_chunk_write && request->value.chunk_write.length == 3) {
        (void)pthread_mutex_unlock(&server->cluster->lock);
        clock_sleep_ns(100 * NS_PER_MS);
        (void)pthread_mutex_lock(&server->cluster->lock);
    }
    return false;
}

/* It begins before what still grows, covers it and is sent at once, because it reaches the end of the chunk. */
static void test_a_write_over_what_still_grows_comes_after_it(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    static uint8_t data[FAKE_CHUNK_BYTES - 50];
    memset(data, 'n', sizeof data);
    f.cluster->on_chunk = delays_three;
    put(&f, 100, "old");
    assert_int_equal(fs_write_behind(f.fs, f.handle, 50, data, sizeof data), sizeof data);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_memory_equal(f.cluster->servers[0].data + 98, "nnnnnnn", 7);
    fake_mount_close(&f);
}

/* More than a file may have unsent, in pieces that do not continue each other, across chunks. */
static void test_many_scattered_writes(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    for (unsigned i = 0; i < 400; i++) {
        uint32_t at = i * 7919 % 400 * 400;
        uint8_t value = (uint8_t)i;
        assert_int_equal(fs_write_behind(f.fs, f.handle, at, &value, 1), 1);
    }
    const uint8_t *data;
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->attr.size, 399 * 400 + 1);
    for (unsigned i = 0; i < 400; i++) {
        uint32_t at = i * 7919 % 400 * 400;
        if (at < 2 * FAKE_CHUNK_BYTES) /* the chunks of the pretended file are one: the last chunk's bytes stay */
            continue;
        assert_int_equal(fs_read(f.fs, f.handle, at, 1, &data), 1);
        assert_int_equal(data[0], (uint8_t)i);
    }
    fake_mount_close(&f);
}

/* Data that fills a segment stays where it was received; the next request is received elsewhere meanwhile. */
static void test_a_large_request_keeps_its_memory(void **state)
{
    (void)state;
    write_memory_enable();
    struct fake_mount f = fake_mount_open(1);
    uint8_t *received[2];
    held = true;
    held_now = 0;
    f.cluster->on_chunk = holds;
    for (unsigned i = 0; i < 2; i++) {
        received[i] = write_memory_receive()->received;
        memset(received[i], 'a' + (int)i, FAKE_CHUNK_BYTES);
        assert_int_equal(fs_write_behind(f.fs, f.handle, i * FAKE_CHUNK_BYTES, received[i], FAKE_CHUNK_BYTES), FAKE_CHUNK_BYTES);
    }
    assert_ptr_not_equal(received[0], received[1]);
    while (held_now < 2) /* both are on their way, and what they are sent from is as it was */
        clock_sleep_ns(NS_PER_MS);
    uint8_t *third = write_memory_receive()->received;
    memset(third, 'c', FAKE_CHUNK_BYTES);
    held = false;
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    const uint8_t *stored = f.cluster->servers[0].data; /* the chunks of the pretended file are one */
    assert_true(stored[0] == 'a' || stored[0] == 'b');
    assert_memory_equal(stored, stored[0] == 'a' ? received[0] : received[1], FAKE_CHUNK_BYTES);
    assert_ptr_equal(write_memory_receive()->received, third); /* nobody holds it */
    fake_mount_close(&f);
}

/* Where writes do not continue one another, one is sent from where it was received, without waiting for what follows. */
static void test_a_stray_write_does_not_wait(void **state)
{
    (void)state;
    write_memory_enable();
    struct fake_mount f = fake_mount_open(1);
    put(&f, 50000, "some");
    put(&f, 100000, "where");
    put(&f, 170000, "else"); /* the chunks of the pretended file are one: all in its second half */
    held = true;
    held_now = 0;
    f.cluster->on_chunk = holds;
    uint8_t *received = write_memory_receive()->received;
    memset(received, 's', FAKE_CHUNK_BYTES / 2);
    assert_int_equal(fs_write_behind(f.fs, f.handle, 0, received, FAKE_CHUNK_BYTES / 2), FAKE_CHUNK_BYTES / 2);
    assert_ptr_not_equal(write_memory_receive()->received, received);
    while (!held_now)
        clock_sleep_ns(NS_PER_MS);
    held = false;
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_memory_equal(f.cluster->servers[0].data, received, FAKE_CHUNK_BYTES / 2);
    fake_mount_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_writes_become_one),
        cmocka_unit_test(test_what_is_left_alone_arrives),
        cmocka_unit_test(test_a_read_sees_what_was_written_before),
        cmocka_unit_test(test_a_write_through_comes_after_those_before_it),
        cmocka_unit_test(test_no_length_is_told_above_what_is_missing),
        cmocka_unit_test(test_an_error_is_reported_once),
        cmocka_unit_test(test_a_cut_comes_after_the_writes_before_it),
        cmocka_unit_test(test_a_write_over_what_still_grows_comes_after_it),
        cmocka_unit_test(test_many_scattered_writes),
        cmocka_unit_test(test_a_large_request_keeps_its_memory),
        cmocka_unit_test(test_a_stray_write_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
