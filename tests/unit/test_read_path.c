/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_cluster.h"

enum { LENGTH = 20000 };

struct fixture {
    struct fake_cluster *cluster;
    struct fs *fs;
    struct fs_handle *handle;
};

static atomic_int wrong_left; /* how many replies get a wrong checksum; -1: all */
static _Atomic uint32_t wrong_server; /* of this server, 0: of all */

static struct fixture set_up(uint32_t copies, bool (*on_chunk)(struct fake_server *, const struct fake_request *,
                                                               struct fake_reply *))
{
    struct fixture f = {.cluster = fake_cluster_start(copies)};
    wrong_server = 0;
    for (unsigned i = 0; i < FAKE_CHUNK_BYTES; i++)
        f.cluster->servers[0].data[i] = f.cluster->servers[1].data[i] = (uint8_t)(i * 7 + i / 251);
    f.cluster->attr.size = LENGTH;
    f.cluster->on_chunk = on_chunk;
    f.fs = fake_cluster_mount(f.cluster, NS_PER_S);
    assert_int_equal(fs_open(f.fs, FAKE_INO, 0, &f.handle, NULL), 0);
    return f;
}

static void tear_down(struct fixture *f)
{
    fs_release(f->fs, f->handle);
    fs_unmount(f->fs);
    assert_int_equal(f->cluster->releases, 1);
    fake_cluster_stop(f->cluster);
}

static void check_read(struct fixture *f, uint64_t offset, size_t bytes, int expected)
{
    const uint8_t *data;
    assert_int_equal(fs_read(f->fs, f->handle, offset, bytes, &data), expected);
    if (expected > 0)
        assert_memory_equal(data, f->cluster->servers[0].data + offset, (size_t)expected);
}

static void test_ranges_are_trimmed_to_the_length(void **state)
{
    (void)state;
    struct fixture f = set_up(1, NULL);
    check_read(&f, 0, LENGTH, LENGTH);
    check_read(&f, 0, 1, 1);
    check_read(&f, 4095, 2, 2);
    check_read(&f, 5000, 4096, 4096);
    check_read(&f, LENGTH - 1, 100, 1);
    check_read(&f, 0, WIRE_IO_LIMIT, LENGTH);
    check_read(&f, LENGTH, 100, 0);
    check_read(&f, 1u << 30, 100, 0);
    check_read(&f, UINT64_MAX - 5, 100, 0);
    /* Another client has written more. */
    (void)pthread_mutex_lock(&f.cluster->lock);
    f.cluster->attr.size = LENGTH + 50;
    f.cluster->attr.change++;
    (void)pthread_mutex_unlock(&f.cluster->lock);
    check_read(&f, LENGTH, 100, 50);
    tear_down(&f);
}

static bool hole_at_master(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    (void)cluster;
    (void)reply;
    return request->type == WIRE_TYPE_chunk_locate && request->value.chunk_locate.index == 1; /* all zero: a hole */
}

static void test_holes_are_zeros_and_pieces_join(void **state)
{
    (void)state;
    struct fixture f = set_up(1, NULL);
    f.cluster->on_master = hole_at_master;
    (void)pthread_mutex_lock(&f.cluster->lock);
    f.cluster->attr.size = FAKE_CHUNK_BYTES + 1000;
    f.cluster->attr.change++;
    (void)pthread_mutex_unlock(&f.cluster->lock);
    const uint8_t *data;
    check_read(&f, LENGTH, 10, 10); /* learns of the new length */
    assert_int_equal(fs_read(f.fs, f.handle, FAKE_CHUNK_BYTES - 10, 4000, &data), 1010);
    assert_memory_equal(data, f.cluster->servers[0].data + FAKE_CHUNK_BYTES - 10, 10);
    for (unsigned i = 10; i < 1010; i++)
        assert_int_equal(data[i], 0);
    tear_down(&f);
}

static bool wrong_checksums(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    if (request->type != WIRE_TYPE_chunk_read || wrong_left == 0 || (wrong_server && server->id != wrong_server))
        return false;
    if (wrong_left > 0)
        wrong_left--;
    fake_chunk_read(server, &request->value.chunk_read, reply);
    reply->scratch[0] ^= 1;
    return true;
}

static void test_a_passing_mismatch_is_read_again(void **state)
{
    (void)state;
    struct fixture f = set_up(1, wrong_checksums);
    wrong_left = 2;
    check_read(&f, 100, 5000, 5000);
    assert_int_equal(f.cluster->servers[0].reads, 3);
    tear_down(&f);
}

static void test_wrong_data_is_never_returned(void **state)
{
    (void)state;
    struct fixture f = set_up(1, wrong_checksums);
    wrong_left = -1;
    int64_t start = clock_mono_ns();
    check_read(&f, 100, 5000, -EIO);
    assert_true(clock_mono_ns() - start < NS_PER_S / 2); /* does not wait for what does not heal by itself */
    wrong_left = 0;
    check_read(&f, 100, 5000, 5000);
    tear_down(&f);
}

static bool damaged_when_verified(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    if (request->type != WIRE_TYPE_chunk_read || server->id != 1)
        return false;
    if (request->value.chunk_read.verify) {
        reply->status = WIRE_DAMAGED;
        return true;
    }
    fake_chunk_read(server, &request->value.chunk_read, reply);
    reply->scratch[3] ^= 0x80;
    return true;
}

static void test_the_other_copy_helps(void **state)
{
    (void)state;
    struct fixture f = set_up(2, damaged_when_verified);
    check_read(&f, 0, LENGTH, LENGTH);
    assert_true(f.cluster->servers[0].reads == 3);
    assert_true(f.cluster->servers[1].reads == 1);
    tear_down(&f);
}

static void test_a_new_version_is_looked_up(void **state)
{
    (void)state;
    struct fixture f = set_up(1, NULL);
    check_read(&f, 0, 10, 10);
    (void)pthread_mutex_lock(&f.cluster->lock);
    f.cluster->version = 5;
    (void)pthread_mutex_unlock(&f.cluster->lock);
    check_read(&f, 0, 10, 10);
    tear_down(&f);
}

static bool gone_for_a_while(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    (void)server;
    (void)request;
    if (wrong_left == 0)
        return false;
    wrong_left--;
    reply->break_connection = true;
    return true;
}

static void test_a_lost_connection_is_made_anew(void **state)
{
    (void)state;
    struct fixture f = set_up(1, gone_for_a_while);
    wrong_left = 5;
    check_read(&f, 0, LENGTH, LENGTH);
    wrong_left = -1;
    check_read(&f, 0, LENGTH, -EIO); /* after the retry limit */
    wrong_left = 0;
    check_read(&f, 0, LENGTH, LENGTH);
    tear_down(&f);
}

static bool too_little(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    if (request->type != WIRE_TYPE_chunk_read || wrong_left == 0)
        return false;
    wrong_left--;
    struct wire_chunk_read shorter = request->value.chunk_read;
    shorter.length -= WIRE_BLOCK_BYTES;
    fake_chunk_read(server, &shorter, reply);
    return true;
}

static void test_a_reply_of_the_wrong_size_is_refused(void **state)
{
    (void)state;
    struct fixture f = set_up(1, too_little);
    wrong_left = 1;
    check_read(&f, 0, 8192, 8192);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_are_trimmed_to_the_length),
        cmocka_unit_test(test_holes_are_zeros_and_pieces_join),
        cmocka_unit_test(test_a_passing_mismatch_is_read_again),
        cmocka_unit_test(test_wrong_data_is_never_returned),
        cmocka_unit_test(test_the_other_copy_helps),
        cmocka_unit_test(test_a_new_version_is_looked_up),
        cmocka_unit_test(test_a_lost_connection_is_made_anew),
        cmocka_unit_test(test_a_reply_of_the_wrong_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
