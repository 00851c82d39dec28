/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "common/clock.h"
#include "master/snapshot_file.h"
#include "tests/unit/scratch_dir.h"

#define NAME_7 "snapshot.00000000000000000007"
#define NAME_9 "snapshot.00000000000000000009"
#define NAME_12 "snapshot.00000000000000000012"

static char dir[SCRATCH_PATH], why[512];

static int setup(void **state)
{
    (void)state;
    scratch_make(dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

/* Piece i of a snapshot of `pieces`: sizes from 0 to a few hundred, now and then above the buffer's. */
static size_t make_piece(uint64_t i, uint8_t *data)
{
    size_t bytes = i % 50 == 49 ? (1 << 20) + (size_t)i * 1000 : (size_t)(i * 37 % 300);
    memset(data, (int)(i & 255), bytes);
    return bytes;
}

static uint8_t piece[SNAPSHOT_PIECE_LIMIT];

static struct snapshot_writer *begin_with(uint64_t index, uint64_t pieces)
{
    struct snapshot_writer *writer;
    assert_int_equal(snapshot_begin(dir, index, &writer), 0);
    for (uint64_t i = 0; i < pieces; i++)
        assert_int_equal(snapshot_put(writer, (uint16_t)(i % 5), piece, make_piece(i, piece)), 0);
    return writer;
}

static void write_snapshot(uint64_t index, uint64_t pieces)
{
    assert_int_equal(snapshot_finish(begin_with(index, pieces)), 0);
}

struct reading {
    uint64_t taken, stop_at;
};

static int take(void *context, uint16_t section, const void *data, size_t bytes)
{
    struct reading *reading = context;
    if (reading->stop_at && reading->taken == reading->stop_at)
        return -EXDEV;
    assert_int_equal(section, reading->taken % 5);
    assert_int_equal(bytes, make_piece(reading->taken, piece));
    if (bytes)
        assert_memory_equal(data, piece, bytes);
    reading->taken++;
    return 0;
}

static void expect_loaded(uint64_t index, uint64_t pieces)
{
    struct reading reading = {0, 0};
    uint64_t found = 0;
    int rc = snapshot_load(dir, take, &reading, &found, why, sizeof why);
    if (rc < 0)
        fail_msg("%d: %s", rc, why);
    assert_int_equal(found, index);
    assert_int_equal(reading.taken, pieces);
}

static void expect_error(int error, const char *text)
{
    struct reading reading = {0, 0};
    uint64_t found;
    assert_int_equal(snapshot_load(dir, take, &reading, &found, why, sizeof why), error);
    if (!strstr(why, text))
        fail_msg("'%s' does not say '%s'", why, text);
    assert_int_equal(reading.taken, 0); /* nothing is handed over before the checksum was right */
}

static void test_round_trip(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 49, 200};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_snapshot(i, sizes[i]);
        expect_loaded(i, sizes[i]);
    }
}

static void test_none(void **state)
{
    (void)state;
    uint64_t index;
    struct reading reading = {0, 0};
    assert_int_equal(snapshot_load(dir, take, &reading, &index, why, sizeof why), -ENOENT);
    assert_int_equal(snapshot_oldest(dir, &index), -ENOENT);
    assert_int_equal(snapshot_load("/nonexistent/calf", take, &reading, &index, why, sizeof why), -ENOENT);
    assert_non_null(strstr(why, "/nonexistent/calf"));
}

static void test_keeps_two(void **state)
{
    (void)state;
    uint64_t index;
    write_snapshot(7, 3);
    write_snapshot(9, 4);
    write_snapshot(12, 5);
    assert_false(scratch_has(dir, NAME_7));
    assert_true(scratch_has(dir, NAME_9));
    assert_int_equal(snapshot_oldest(dir, &index), 0);
    assert_int_equal(index, 9);
    write_snapshot(12, 6); /* nothing has changed since: replaced */
    expect_loaded(12, 6);
    assert_true(scratch_has(dir, NAME_9));
}

static void test_unfinished(void **state)
{
    (void)state;
    write_snapshot(7, 3);
    snapshot_abandon(begin_with(9, 100));
    assert_false(scratch_has(dir, NAME_9 ".tmp"));
    snapshot_abandon(NULL);
    assert_int_equal(scratch_write(dir, NAME_12 ".tmp", "half", 4), 0); /* as a crash leaves it */
    expect_loaded(7, 3);
    assert_false(scratch_has(dir, NAME_12 ".tmp"));
}

static void test_falls_back(void **state)
{
    (void)state;
    size_t bytes;
    write_snapshot(7, 3);
    write_snapshot(9, 60);
    unsigned char *whole = scratch_read(dir, NAME_9, &bytes);
    whole[bytes / 2] ^= 4;
    assert_int_equal(scratch_write(dir, NAME_9, whole, bytes), 0);
    expect_loaded(7, 3);
    assert_false(scratch_has(dir, NAME_9));
    assert_true(scratch_has(dir, "snapshot.damaged"));
    write_snapshot(12, 5); /* the good one is kept behind the new one */
    assert_true(scratch_has(dir, NAME_7));
    expect_loaded(12, 5);
    free(whole);
}

static void test_every_bit_and_length(void **state)
{
    (void)state;
    size_t bytes;
    write_snapshot(7, 4);
    unsigned char *whole = scratch_read(dir, NAME_7, &bytes);
    for (size_t at = 0; at < bytes; at++) {
        whole[at] ^= (unsigned char)(1u << at % 8);
        assert_int_equal(scratch_write(dir, NAME_7, whole, bytes), 0);
        expect_error(-EUCLEAN, NAME_7 ": does not match its checksum");
        whole[at] ^= (unsigned char)(1u << at % 8);
        assert_int_equal(scratch_write(dir, NAME_7, whole, at), 0);
        expect_error(-EUCLEAN, NAME_7);
    }
    assert_int_equal(scratch_write(dir, NAME_7, whole, bytes), 0);
    expect_loaded(7, 4);
    free(whole);
}

/* The name is part of what is checked: a copy under another one would be replayed onto wrongly. */
static void test_renamed(void **state)
{
    (void)state;
    char from[2 * SCRATCH_PATH], to[2 * SCRATCH_PATH];
    write_snapshot(7, 3);
    assert_int_equal(rename(scratch_path(dir, NAME_7, from), scratch_path(dir, NAME_9, to)), 0);
    expect_error(-EPROTO, NAME_9);
}

static void test_take_stops(void **state)
{
    (void)state;
    struct reading reading = {.stop_at = 2};
    uint64_t index;
    write_snapshot(7, 5);
    write_snapshot(9, 5);
    assert_int_equal(snapshot_load(dir, take, &reading, &index, why, sizeof why), -EXDEV);
    assert_int_equal(reading.taken, 2); /* and no falling back to the one before */
}

static void test_disk_full(void **state)
{
    (void)state;
    struct rlimit before, small = {3 << 20, 3 << 20};
    write_snapshot(7, 3);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct snapshot_writer *writer;
    int rc = snapshot_begin(dir, 9, &writer);
    assert_int_equal(rc, 0);
    memset(piece, 1, sizeof piece);
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = snapshot_put(writer, 1, piece, sizeof piece);
    assert_int_equal(rc, -EFBIG);
    assert_int_equal(snapshot_finish(writer), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(scratch_has(dir, NAME_9));
    assert_false(scratch_has(dir, NAME_9 ".tmp"));
    expect_loaded(7, 3);
}

static int count_million(void *context, uint16_t section, const void *data, size_t bytes)
{
    (void)section;
    (void)bytes;
    *(uint64_t *)context += *(const uint8_t *)data;
    return 0;
}

static void test_a_million_records(void **state)
{
    (void)state;
    struct snapshot_writer *writer;
    uint64_t index, sum = 0;
    uint8_t record[150] = {1};
    int64_t start = clock_mono_ns();
    assert_int_equal(snapshot_begin(dir, 7, &writer), 0);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(snapshot_put(writer, 1, record, sizeof record), 0);
    assert_int_equal(snapshot_finish(writer), 0);
    int64_t written = clock_mono_ns();
    assert_int_equal(snapshot_load(dir, count_million, &sum, &index, why, sizeof why), 0);
    int64_t loaded = clock_mono_ns();
    assert_int_equal(sum, 1000000);
    printf("a million records of 150 bytes: written in %lld ms, loaded in %lld ms\n",
           (long long)((written - start) / NS_PER_MS), (long long)((loaded - written) / NS_PER_MS));
    assert_true(loaded - written < 3 * NS_PER_S); /* idle: 0.1 s; this only catches another order of growth */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_none), TEST(test_keeps_two), TEST(test_unfinished), TEST(test_falls_back),
        TEST(test_every_bit_and_length), TEST(test_renamed), TEST(test_take_stops), TEST(test_disk_full),
        TEST(test_a_million_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
