/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_cluster.h"

static void test_length_is_published_after_the_data(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    struct wire_attr attr;
    assert_int_equal(fs_write(f.fs, f.handle, 5000, "calf", 4), 4);
    assert_memory_equal(f.cluster->servers[0].data + 5000, "calf", 4);
    assert_int_equal(f.cluster->publishes, 0);
    assert_int_equal(fs_getattr(f.fs, FAKE_INO, &attr), 0);
    assert_int_equal(attr.size, 5004); /* the own view */
    assert_int_equal(f.cluster->attr.size, 0);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->attr.size, 5004);
    assert_int_equal(f.cluster->published.sync, 1);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0); /* nothing new: no request */
    assert_int_equal(f.cluster->publishes, 1);
    assert_int_equal(fs_write(f.fs, f.handle, 0, "x", 1), 1);
    assert_int_equal(fs_flush(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->published.released.count, 1);
    assert_int_equal(f.cluster->leases, 1);
    fake_mount_close(&f);
}

/* A publication that was not synced is lost when the master's machine loses power; whoever asks for it to be durable then
 * must not be told that it is. */
static void test_fsync_says_the_length_again_that_was_not_synced(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    assert_int_equal(fs_write(f.fs, f.handle, 5000, "calf", 4), 4);
    assert_int_equal(fs_flush(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->published.sync, 0);
    assert_int_equal(f.cluster->attr.size, 5004);
    f.cluster->attr.size = 0;
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->published.sync, 1);
    assert_int_equal(f.cluster->attr.size, 5004);
    fake_mount_close(&f);
}

static bool sets_length(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    if (request->type != WIRE_TYPE_setattr)
        return false;
    cluster->attr.size = request->value.setattr.size;
    cluster->attr.change++;
    reply->value.setattr_reply.attr = cluster->attr;
    return true;
}

/* The master lost the publication with its power, and sees no cut. */
static void test_a_set_length_counts_though_the_master_forgot_the_longer_one(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    struct wire_attr attr;
    assert_int_equal(fs_write(f.fs, f.handle, 5000, "calf", 4), 4);
    assert_int_equal(fs_flush(f.fs, f.handle), 0);
    f.cluster->attr.size = 0;
    f.cluster->on_master = sets_length;
    struct wire_setattr change = {.ino = FAKE_INO, .valid = WIRE_SET_SIZE, .size = 2000};
    assert_int_equal(fs_setattr(f.fs, &change, &attr), 0);
    assert_int_equal(attr.size, 2000);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->attr.size, 2000);
    fake_mount_close(&f);
}

static void test_background_publishes_within_seconds(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    assert_int_equal(fs_write(f.fs, f.handle, 0, "calf", 4), 4);
    for (int i = 0; i < 300; i++) {
        (void)pthread_mutex_lock(&f.cluster->lock);
        uint64_t size = f.cluster->attr.size;
        (void)pthread_mutex_unlock(&f.cluster->lock);
        if (size == 4)
            break;
        clock_sleep_ns(10 * NS_PER_MS);
    }
    assert_int_equal(f.cluster->attr.size, 4);
    fake_mount_close(&f);
}

static uint32_t failing_server;
static uint16_t failing_status;

static bool one_fails(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    if (request->type != WIRE_TYPE_chunk_write || server->cluster->copies == 1)
        return false;
    reply->status = failing_status;
    reply->value.chunk_write_reply.failed_server = failing_server;
    return true;
}

static void test_writing_goes_on_with_the_copies_that_are_left(void **state)
{
    (void)state;
    for (failing_server = 1; failing_server <= 2; failing_server++) {
        struct fake_mount f = fake_mount_open(2);
        failing_status = WIRE_UNREACHABLE;
        f.cluster->on_chunk = one_fails;
        assert_int_equal(fs_write(f.fs, f.handle, 0, "calf", 4), 4);
        assert_int_equal(f.cluster->recovers, 1);
        assert_int_equal(f.cluster->recovered_from, failing_server);
        assert_memory_equal(f.cluster->servers[2 - failing_server].data, "calf", 4);
        fake_mount_close(&f);
    }
}

static bool has_no_other(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    if (request->type != WIRE_TYPE_chunk_recover)
        return false;
    assert_int_equal(request->value.chunk_recover.written, 0);
    cluster->recovers++;
    reply->status = WIRE_NO_SPACE;
    return true;
}

static void test_full_is_said_at_once(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(2);
    failing_status = WIRE_NO_SPACE;
    failing_server = 0;
    f.cluster->on_chunk = one_fails;
    f.cluster->on_master = has_no_other;
    int64_t start = clock_mono_ns();
    assert_int_equal(fs_write(f.fs, f.handle, 0, "calf", 4), -ENOSPC);
    assert_true(clock_mono_ns() - start < NS_PER_S / 2);
    /* Each time the new chunk was given back for another. */
    assert_true(f.cluster->recovers > 1);
    assert_true(f.cluster->leases >= f.cluster->recovers);
    assert_true(f.cluster->publishes >= f.cluster->recovers);
    fake_mount_close(&f);
}

static atomic_int writes_seen;

static bool only_the_first_fits(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    (void)server;
    if (request->type != WIRE_TYPE_chunk_write || atomic_fetch_add(&writes_seen, 1) == 0)
        return false;
    reply->status = WIRE_NO_SPACE;
    return true;
}

/* A range over two chunks of which one has room: write(2) says how far it came, but the kernel's cache does not listen to that. */
static void test_pages_are_written_whole_or_not(void **state)
{
    (void)state;
    static uint8_t data[2 * FAKE_CHUNK_BYTES] = {1};
    struct fake_mount f = fake_mount_open(1);
    f.cluster->on_chunk = only_the_first_fits;
    f.cluster->on_master = has_no_other;
    writes_seen = 0;
    assert_int_equal(fs_write(f.fs, f.handle, 0, data, sizeof data), FAKE_CHUNK_BYTES);
    writes_seen = 0;
    assert_int_equal(fs_write_pages(f.fs, f.handle, 0, data, sizeof data), -ENOSPC);
    f.cluster->on_chunk = NULL;
    assert_int_equal(fs_write_pages(f.fs, f.handle, 0, data, sizeof data), sizeof data);
    fake_mount_close(&f);
}

/* The first server is full; the chunk goes on where the master says. */
static void test_a_full_server_is_left(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(2);
    failing_status = WIRE_NO_SPACE;
    failing_server = 1;
    f.cluster->on_chunk = one_fails;
    assert_int_equal(fs_write(f.fs, f.handle, 0, "calf", 4), 4);
    assert_int_equal(f.cluster->recovers, 1);
    fake_mount_close(&f);
}

static atomic_int breaks_left;

static bool breaks(struct fake_server *server, const struct fake_request *request, struct fake_reply *reply)
{
    (void)server;
    if (request->type != WIRE_TYPE_chunk_write || breaks_left == 0)
        return false;
    breaks_left--;
    reply->break_connection = true;
    return true;
}

static void test_a_single_copy_is_waited_for(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    f.cluster->on_chunk = breaks;
    breaks_left = 6;
    assert_int_equal(fs_write(f.fs, f.handle, 0, "calf", 4), 4);
    assert_int_equal(f.cluster->recovers, 0);
    breaks_left = -1;
    assert_int_equal(fs_write(f.fs, f.handle, 0, "lost", 4), -EIO);
    fake_mount_close(&f);
}

static void test_a_cut_elsewhere_voids_what_was_not_published(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    struct wire_attr attr;
    assert_int_equal(fs_write(f.fs, f.handle, 0, "0123456789", 10), 10);
    (void)pthread_mutex_lock(&f.cluster->lock);
    f.cluster->attr.size = 3;
    f.cluster->attr.size_epoch = 1;
    f.cluster->attr.change += 2;
    f.cluster->version = 2;
    (void)pthread_mutex_unlock(&f.cluster->lock);
    assert_int_equal(fs_write(f.fs, f.handle, 20, "x", 1), 1);
    assert_int_equal(fs_getattr(f.fs, FAKE_INO, &attr), 0);
    assert_int_equal(attr.size, 21);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->published.size_epoch, 1);
    assert_int_equal(f.cluster->attr.size, 21);
    fake_mount_close(&f);
}

static void test_a_write_crosses_chunks(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    uint8_t data[3000];
    memset(data, 'c', sizeof data);
    /* All chunks of the pretended file are one and the same, so the second piece shows at its beginning. */
    assert_int_equal(fs_write(f.fs, f.handle, FAKE_CHUNK_BYTES - 1000, data, sizeof data), sizeof data);
    assert_memory_equal(f.cluster->servers[0].data + FAKE_CHUNK_BYTES - 1000, data, 1000);
    assert_memory_equal(f.cluster->servers[0].data, data, 2000);
    assert_int_equal(f.cluster->servers[0].data[2000], 0);
    assert_int_equal(f.cluster->leases, 2);
    assert_int_equal(fs_write(f.fs, f.handle, UINT64_MAX - 10, data, 1), -EFBIG);
    assert_int_equal(fs_write(f.fs, f.handle, (uint64_t)FAKE_CHUNK_BYTES * UINT32_MAX, data, 1), -EFBIG);
    fake_mount_close(&f);
}

static void test_append_goes_where_the_master_says(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    uint64_t at;
    f.cluster->attr.size = 100;
    f.cluster->attr.change++;
    assert_int_equal(fs_append(f.fs, f.handle, "calf", 4, &at), 4);
    assert_int_equal(at, 100);
    assert_int_equal(f.cluster->published.append_end, 1);
    assert_int_equal(f.cluster->attr.size, 104);
    assert_memory_equal(f.cluster->servers[0].data + 100, "calf", 4);
    fake_mount_close(&f);
}

static void test_fallocate(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    struct wire_attr attr;
    assert_int_equal(fs_write(f.fs, f.handle, 0, "0123456789", 10), 10);
    assert_int_equal(fs_fallocate(f.fs, f.handle, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 3), 0);
    assert_memory_equal(f.cluster->servers[0].data, "01\0\0\0" "56789", 10);
    assert_int_equal(fs_fallocate(f.fs, f.handle, FALLOC_FL_ZERO_RANGE, 8, 12), 0);
    assert_memory_equal(f.cluster->servers[0].data, "01\0\0\0" "567\0\0", 10);
    assert_int_equal(fs_getattr(f.fs, FAKE_INO, &attr), 0);
    assert_int_equal(attr.size, 20);
    assert_int_equal(fs_fallocate(f.fs, f.handle, 0, 0, 50), 0);
    assert_int_equal(f.cluster->attr.size, 50);
    assert_int_equal(fs_fallocate(f.fs, f.handle, FALLOC_FL_KEEP_SIZE, 0, 500), 0);
    assert_int_equal(f.cluster->attr.size, 50);
    assert_int_equal(fs_fallocate(f.fs, f.handle, FALLOC_FL_COLLAPSE_RANGE, 0, 4096), -EOPNOTSUPP);
    assert_int_equal(fs_fallocate(f.fs, f.handle, 0, 0, 0), -EINVAL);
    fake_mount_close(&f);
}

static bool forgets_session(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    if (request->type != WIRE_TYPE_publish)
        return false;
    cluster->on_master = NULL;
    cluster->session = 5;
    reply->status = WIRE_NO_SESSION;
    return true;
}

static void test_a_new_session_reports_what_was_lost_and_goes_on(void **state)
{
    (void)state;
    struct fake_mount f = fake_mount_open(1);
    struct fs_handle *other;
    assert_int_equal(fs_open(f.fs, FAKE_INO, 0, &other, NULL), 0);
    assert_int_equal(fs_write(f.fs, f.handle, 0, "calf", 4), 4);
    f.cluster->on_master = forgets_session;
    assert_int_equal(fs_fsync(f.fs, f.handle), -EIO); /* what was not published is void */
    assert_int_equal(f.cluster->sessions, 2);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(fs_write(f.fs, other, 0, "calf", 4), -EIO); /* each handle hears of it */
    assert_int_equal(fs_write(f.fs, other, 0, "calf", 4), 4);
    assert_int_equal(fs_write(f.fs, f.handle, 4, "calf", 4), 4);
    assert_int_equal(fs_fsync(f.fs, f.handle), 0);
    assert_int_equal(f.cluster->attr.size, 8);
    fs_release(f.fs, other);
    fake_mount_close(&f);
    assert_int_equal(f.cluster->releases, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length_is_published_after_the_data),
        cmocka_unit_test(test_fsync_says_the_length_again_that_was_not_synced),
        cmocka_unit_test(test_a_set_length_counts_though_the_master_forgot_the_longer_one),
        cmocka_unit_test(test_background_publishes_within_seconds),
        cmocka_unit_test(test_writing_goes_on_with_the_copies_that_are_left),
        cmocka_unit_test(test_full_is_said_at_once),
        cmocka_unit_test(test_pages_are_written_whole_or_not),
        cmocka_unit_test(test_a_full_server_is_left),
        cmocka_unit_test(test_a_single_copy_is_waited_for),
        cmocka_unit_test(test_a_cut_elsewhere_voids_what_was_not_published),
        cmocka_unit_test(test_a_write_crosses_chunks),
        cmocka_unit_test(test_append_goes_where_the_master_says),
        cmocka_unit_test(test_fallocate),
        cmocka_unit_test(test_a_new_session_reports_what_was_lost_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
