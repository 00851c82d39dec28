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
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "master/journal.h"
#include "tests/unit/dropping_disk.h"
#include "tests/unit/scratch_dir.h"

#define FIRST_FILE "journal.00000000000000000001"

enum { FILE_HEADER = 48, GROUP_HEADER = 64 };

static char dir[SCRATCH_PATH], why[JOURNAL_WHY_BYTES];

/* What record `index` holds. */
static struct journal_record record_of(uint64_t index, uint8_t *body, uint32_t body_bytes)
{
    memset(body, (int)('a' + index % 26), body_bytes);
    return (struct journal_record){.type = (uint16_t)(index % 90 + 1), .session = index * 77,
                                   .slot = (uint32_t)index % 8, .sequence = (uint32_t)index, .time_ns = (int64_t)index * -3, .body = body,
                                   .body_bytes = body_bytes};
}

static uint32_t size_of(uint64_t index)
{
    return (uint32_t)(index * 7 % 40);
}

struct reading {
    uint64_t next; /* number of the record that must come */
    int refuse;    /* what to answer from record refuse_at on */
    uint64_t refuse_at;
};

static int take(void *context, const struct journal_record *record)
{
    struct reading *reading = context;
    uint8_t body[64];
    struct journal_record expected = record_of(reading->next, body, size_of(reading->next));
    if (reading->refuse && reading->next == reading->refuse_at)
        return reading->refuse;
    assert_int_equal(record->type, expected.type);
    assert_int_equal(record->session, expected.session);
    assert_int_equal(record->slot, expected.slot);
    assert_int_equal(record->sequence, expected.sequence);
    assert_int_equal(record->time_ns, expected.time_ns);
    assert_int_equal(record->body_bytes, expected.body_bytes);
    assert_memory_equal(record->body, body, record->body_bytes);
    reading->next++;
    return 0;
}

static void append(struct journal *journal, unsigned count)
{
    uint8_t body[64];
    while (count--) {
        uint64_t index = journal_last_index(journal) + 1;
        struct journal_record record = record_of(index, body, size_of(index));
        journal_append(journal, &record);
    }
}

static void write_records(struct journal *journal, unsigned count)
{
    append(journal, count);
    assert_int_equal(journal_commit(journal, true), 0);
}

/* Opens; all records after `after` must come, up to `last`. */
static struct journal *open_expecting(uint64_t after, uint64_t last)
{
    struct journal *journal = NULL;
    struct reading reading = {.next = after + 1};
    int rc = journal_open(dir, JOURNAL_SYNC_ALWAYS, after, take, &reading, why, sizeof why, &journal);
    if (rc < 0)
        fail_msg("%s", why);
    assert_int_equal(journal_last_index(journal), last);
    assert_int_equal(reading.next, last + 1);
    return journal;
}

static void expect_refused(uint64_t after, int error, const char *text)
{
    struct journal *journal;
    struct reading reading = {.next = after + 1};
    assert_int_equal(journal_open(dir, JOURNAL_SYNC_ALWAYS, after, take, &reading, why, sizeof why, &journal), error);
    if (!strstr(why, text))
        fail_msg("'%s' does not say '%s'", why, text);
}

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

static void test_round_trip(void **state)
{
    (void)state;
    struct journal *journal = open_expecting(0, 0);
    assert_int_equal(journal_epoch(journal), 1);
    for (unsigned i = 1; i <= 30; i++)
        write_records(journal, i);
    assert_int_equal(journal_last_index(journal), 465);
    journal_close(journal);
    journal = open_expecting(0, 465);
    assert_int_equal(journal_epoch(journal), 2);
    write_records(journal, 1);
    journal_close(journal);
    journal_close(open_expecting(400, 466));
    journal_close(open_expecting(466, 466));
    journal_close(NULL);
}

static void test_big_records_and_groups(void **state)
{
    (void)state;
    struct journal *journal;
    struct reading reading = {.next = 1};
    uint8_t *body = malloc(JOURNAL_BODY_LIMIT);
    memset(body, 7, JOURNAL_BODY_LIMIT);
    journal = open_expecting(0, 0);
    struct journal_record record = {.type = 5, .body = body, .body_bytes = JOURNAL_BODY_LIMIT};
    for (int i = 0; i < 40; i++)
        journal_append(journal, &record);
    assert_int_equal(journal_commit(journal, true), 0);
    assert_true(journal_bytes(journal) > 40u << 20);
    journal_close(journal);
    reading.refuse = -ENOTSUP;
    reading.refuse_at = 1;
    assert_int_equal(journal_open(dir, JOURNAL_SYNC_ALWAYS, 0, take, &reading, why, sizeof why, &journal), -ENOTSUP);
    journal = open_expecting(40, 40);
    journal_close(journal);
    free(body);
}

static void test_replay_can_refuse(void **state)
{
    (void)state;
    struct journal *journal = open_expecting(0, 0);
    struct reading reading = {.next = 1, .refuse = -EEXIST, .refuse_at = 7};
    write_records(journal, 10);
    journal_close(journal);
    assert_int_equal(journal_open(dir, JOURNAL_SYNC_ALWAYS, 0, take, &reading, why, sizeof why, &journal), -EEXIST);
    assert_int_equal(reading.next, 7);
    assert_non_null(strstr(why, "record 7 of type 8"));
}

static void test_rotate_and_drop(void **state)
{
    (void)state;
    struct journal *journal = open_expecting(0, 0);
    assert_int_equal(journal_rotate(journal), 0); /* nothing in it: stays */
    write_records(journal, 10);
    assert_int_equal(journal_rotate(journal), 0);
    assert_int_equal(journal_rotate(journal), 0);
    write_records(journal, 10);
    append(journal, 3);
    assert_int_equal(journal_rotate(journal), 0); /* commits what waits */
    write_records(journal, 2);
    assert_true(scratch_has(dir, "journal.00000000000000000011"));
    assert_true(scratch_has(dir, "journal.00000000000000000024"));
    uint64_t before = journal_bytes(journal);
    assert_int_equal(journal_drop_before(journal, 10), 0);
    assert_true(scratch_has(dir, FIRST_FILE));
    assert_int_equal(journal_drop_before(journal, 11), 0);
    assert_false(scratch_has(dir, FIRST_FILE));
    assert_true(journal_bytes(journal) < before);
    journal_close(journal);
    journal_close(open_expecting(10, 25));
    journal_close(open_expecting(23, 25));
    expect_refused(9, -EUCLEAN, "records 10 to 10 are missing");
    journal = open_expecting(25, 25);
    assert_int_equal(journal_drop_before(journal, 1000), 0); /* the current file stays */
    journal_close(journal);
    journal_close(open_expecting(23, 25));
}

/* A snapshot that is newer than the whole journal: a new file begins behind it. */
static void test_snapshot_ahead(void **state)
{
    (void)state;
    struct journal *journal = open_expecting(0, 0);
    write_records(journal, 5);
    journal_close(journal);
    journal = open_expecting(8, 8);
    write_records(journal, 2);
    journal_close(journal);
    journal_close(open_expecting(8, 10));
    expect_refused(2, -EUCLEAN, "ends with record 5, which the file journal.00000000000000000009 does not follow");
}

static void test_middle_file_missing(void **state)
{
    (void)state;
    char path[2 * SCRATCH_PATH];
    struct journal *journal = open_expecting(0, 0);
    for (int i = 0; i < 3; i++) {
        write_records(journal, 5);
        assert_int_equal(journal_rotate(journal), 0);
    }
    journal_close(journal);
    assert_int_equal(unlink(scratch_path(dir, "journal.00000000000000000006", path)), 0);
    expect_refused(0, -EUCLEAN, "does not follow");
    journal_close(open_expecting(10, 15));
}

static void test_one_process(void **state)
{
    (void)state;
    struct journal *journal = open_expecting(0, 0), *other;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(journal_open(dir, JOURNAL_SYNC_ALWAYS, 0, take, NULL, why, sizeof why, &other) == -EBUSY &&
              strstr(why, "in use") ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    journal_close(journal);
}

static void test_left_overs_and_strangers(void **state)
{
    (void)state;
    assert_int_equal(scratch_write(dir, FIRST_FILE ".tmp", "x", 1), 0);
    assert_int_equal(scratch_write(dir, "journal.txt", "x", 1), 0);
    journal_close(open_expecting(0, 0));
    assert_false(scratch_has(dir, FIRST_FILE ".tmp"));
    assert_true(scratch_has(dir, "journal.txt"));
}

static void test_no_directory(void **state)
{
    (void)state;
    struct journal *journal;
    assert_int_equal(journal_open("/nonexistent/calf", JOURNAL_SYNC_ALWAYS, 0, take, NULL, why, sizeof why, &journal),
                     -ENOENT);
    assert_non_null(strstr(why, "/nonexistent/calf"));
}

/* ---- damage; the file is small, so every byte of it gets its turn ---- */

enum { GROUPS = 4, PER_GROUP = 2, RECORDS = GROUPS * PER_GROUP };

/* Makes GROUPS groups; ends[k] is where group k begins (ends[GROUPS]: the end). */
static unsigned char *make_small(enum journal_sync sync, bool close_well, size_t *bytes, size_t ends[GROUPS + 1])
{
    struct journal *journal;
    struct reading reading = {.next = 1};
    unsigned char *copy = NULL;
    assert_int_equal(journal_open(dir, sync, 0, take, &reading, why, sizeof why, &journal), 0);
    ends[0] = FILE_HEADER;
    for (int k = 0; k < GROUPS; k++) {
        write_records(journal, PER_GROUP);
        ends[k + 1] = (size_t)journal_bytes(journal);
    }
    if (!close_well)
        copy = scratch_read(dir, FIRST_FILE, bytes);
    journal_close(journal);
    return copy ? copy : scratch_read(dir, FIRST_FILE, bytes);
}

static void test_cut_at_every_byte(void **state)
{
    (void)state;
    size_t bytes, ends[GROUPS + 1];
    unsigned char *whole = make_small(JOURNAL_SYNC_ALWAYS, false, &bytes, ends);
    assert_int_equal(bytes, ends[GROUPS]);
    for (size_t end = 0; end <= bytes; end++) {
        scratch_empty(dir);
        assert_int_equal(scratch_write(dir, FIRST_FILE, whole, end), 0);
        if (end < FILE_HEADER) {
            expect_refused(0, -EUCLEAN, "file header");
            continue;
        }
        unsigned groups = 0;
        while (groups < GROUPS && ends[groups + 1] <= end)
            groups++;
        struct journal *journal = open_expecting(0, groups * PER_GROUP);
        assert_int_equal(journal_bytes(journal), ends[groups]);
        write_records(journal, 2);
        journal_close(journal);
        journal_close(open_expecting(0, groups * PER_GROUP + 2));
    }
    free(whole);
}

/* Damages each byte in turn. `proven`: groups from the start that a later mark proves to have been synced. */
static void damage_each(const unsigned char *whole, size_t bytes, const size_t ends[GROUPS + 1], unsigned proven)
{
    unsigned char *copy = malloc(bytes);
    char offset[80];
    for (size_t at = 0; at < bytes; at++) {
        unsigned group = 0;
        while (group < GROUPS && ends[group + 1] <= at)
            group++;
        memcpy(copy, whole, bytes);
        copy[at] ^= (unsigned char)(1u << at % 8);
        scratch_empty(dir);
        assert_int_equal(scratch_write(dir, FIRST_FILE, copy, bytes), 0);
        (void)snprintf(offset, sizeof offset, FIRST_FILE ": offset %zu: ", ends[group]);
        if (at < FILE_HEADER)
            expect_refused(0, -EUCLEAN, FIRST_FILE ": offset 0: ");
        else if (group < proven)
            expect_refused(0, -EUCLEAN, offset);
        else
            journal_close(open_expecting(0, group * PER_GROUP));
    }
    free(copy);
}

static void test_damage_before_mark(void **state)
{
    (void)state;
    size_t bytes, ends[GROUPS + 1];
    unsigned char *whole = make_small(JOURNAL_SYNC_ALWAYS, false, &bytes, ends);
    damage_each(whole, bytes, ends, GROUPS - 1); /* nothing says that the last one was synced */
    free(whole);
}

static void test_damage_after_clean_end(void **state)
{
    (void)state;
    size_t bytes, ends[GROUPS + 1];
    unsigned char *whole = make_small(JOURNAL_SYNC_INTERVAL, true, &bytes, ends);
    assert_int_equal(bytes, ends[GROUPS] + GROUP_HEADER);
    damage_each(whole, bytes, ends, GROUPS); /* the mark written at the end says it of all */
    free(whole);
}

static void test_damage_without_sync(void **state)
{
    (void)state;
    size_t bytes, ends[GROUPS + 1];
    unsigned char *whole = make_small(JOURNAL_SYNC_INTERVAL, false, &bytes, ends);
    damage_each(whole, bytes, ends, 0);
    free(whole);
}

static void test_damage_before_later_file(void **state)
{
    (void)state;
    size_t bytes;
    struct journal *journal = open_expecting(0, 0);
    write_records(journal, 4);
    assert_int_equal(journal_rotate(journal), 0);
    journal_close(journal);
    unsigned char *whole = scratch_read(dir, FIRST_FILE, &bytes);
    assert_int_equal(scratch_write(dir, FIRST_FILE, whole, bytes - 1), 0);
    expect_refused(0, -EUCLEAN, "the file journal.00000000000000000005 proves");
    whole[bytes - 5] ^= 1;
    assert_int_equal(scratch_write(dir, FIRST_FILE, whole, bytes), 0);
    expect_refused(0, -EUCLEAN, "offset 48: damaged where record 1 should be");
    journal_close(open_expecting(4, 4)); /* a snapshot covers it: not even looked at */
    free(whole);
}

/* Groups of an older journal at the right places do not pass. */
static void test_old_bytes_of_another_file(void **state)
{
    (void)state;
    size_t old_bytes, bytes, ends[GROUPS + 1];
    unsigned char *old = make_small(JOURNAL_SYNC_ALWAYS, true, &old_bytes, ends);
    scratch_empty(dir);
    unsigned char *new = make_small(JOURNAL_SYNC_ALWAYS, true, &bytes, ends);
    memcpy(new + ends[2], old + ends[2], old_bytes - ends[2]);
    assert_int_equal(scratch_write(dir, FIRST_FILE, new, bytes), 0);
    journal_close(open_expecting(0, 2 * PER_GROUP));
    free(old);
    free(new);
}

/* ---- failing writes and syncs ---- */

static struct journal *open_on(struct dropping_disk *disk, enum journal_sync sync)
{
    struct journal *journal;
    struct reading reading = {.next = 1};
    struct journal_io io = disk_io(disk);
    assert_int_equal(journal_open_with(&io, dir, sync, 0, take, &reading, why, sizeof why, &journal), 0);
    return journal;
}

static void test_write_fails(void **state)
{
    (void)state;
    struct dropping_disk disk;
    disk_init(&disk, 1);
    struct journal *journal = open_on(&disk, JOURNAL_SYNC_INTERVAL);
    write_records(journal, 5);
    disk.fail_writes_after = 0;
    append(journal, 2);
    assert_int_equal(journal_commit(journal, true), -ENOSPC);
    disk.fail_writes_after = -1;
    append(journal, 1);
    assert_int_equal(journal_commit(journal, true), -ENOSPC);
    assert_int_equal(journal_commit(journal, false), -ENOSPC);
    assert_int_equal(journal_rotate(journal), -ENOSPC);
    journal_close(journal);
    disk_fini(&disk);
    journal_close(open_expecting(0, 5));
}

static void test_sync_fails(void **state)
{
    (void)state;
    struct dropping_disk disk;
    disk_init(&disk, 1);
    struct journal *journal = open_on(&disk, JOURNAL_SYNC_ALWAYS);
    write_records(journal, 5);
    disk.fail_syncs_after = 0;
    append(journal, 1);
    assert_int_equal(journal_commit(journal, true), -EIO);
    assert_int_equal(journal_commit(journal, true), -EIO); /* though the second fdatasync would say yes */
    append(journal, 1);
    assert_int_equal(journal_commit(journal, false), -EIO);
    uint64_t syncs = disk.syncs;
    journal_close(journal);
    assert_int_equal(disk.syncs, syncs);
    disk_fini(&disk);
}

static void test_new_file_fails(void **state)
{
    (void)state;
    struct dropping_disk disk;
    disk_init(&disk, 1);
    struct journal *journal = open_on(&disk, JOURNAL_SYNC_ALWAYS);
    write_records(journal, 5);
    disk.fail_writes_after = 0;
    assert_int_equal(journal_rotate(journal), -ENOSPC);
    disk.fail_writes_after = -1;
    write_records(journal, 5); /* the old file goes on */
    assert_int_equal(journal_rotate(journal), 0);
    journal_close(journal);
    disk_fini(&disk);
    journal_close(open_expecting(0, 10));
}

static uint64_t syncs_of(struct dropping_disk *disk)
{
    pthread_mutex_lock(&disk->lock);
    uint64_t syncs = disk->syncs;
    pthread_mutex_unlock(&disk->lock);
    return syncs;
}

/* Returns the time until a sync beyond `before`, in ns; at most 2 s. */
static int64_t wait_for_sync(struct dropping_disk *disk, uint64_t before)
{
    int64_t start = clock_mono_ns();
    while (syncs_of(disk) == before && clock_mono_ns() - start < 2 * NS_PER_S)
        clock_sleep_ns(5 * NS_PER_MS);
    return clock_mono_ns() - start;
}

static void check_interval(enum journal_sync sync)
{
    struct dropping_disk disk;
    disk_init(&disk, 1);
    struct journal *journal = open_on(&disk, sync);
    for (int i = 0; i < 2; i++) {
        uint64_t before = syncs_of(&disk);
        append(journal, 1);
        assert_int_equal(journal_commit(journal, sync == JOURNAL_SYNC_INTERVAL), 0);
        assert_int_equal(syncs_of(&disk), before);
        assert_true(wait_for_sync(&disk, before) < NS_PER_S);
        assert_int_equal(syncs_of(&disk), before + 1);
    }
    uint64_t idle = syncs_of(&disk);
    clock_sleep_ns(700 * NS_PER_MS);
    assert_int_equal(syncs_of(&disk), idle);
    journal_close(journal);
    disk_fini(&disk);
}

static void test_interval_syncs_within_a_second(void **state)
{
    (void)state;
    check_interval(JOURNAL_SYNC_INTERVAL);
}

/* In mode always too: what need not wait is not left behind for ever. */
static void test_always_syncs_the_rest(void **state)
{
    (void)state;
    check_interval(JOURNAL_SYNC_ALWAYS);
}

static void test_background_sync_fails(void **state)
{
    (void)state;
    struct dropping_disk disk;
    disk_init(&disk, 1);
    struct journal *journal = open_on(&disk, JOURNAL_SYNC_INTERVAL);
    write_records(journal, 1);
    pthread_mutex_lock(&disk.lock);
    disk.fail_syncs_after = 0;
    pthread_mutex_unlock(&disk.lock);
    (void)wait_for_sync(&disk, syncs_of(&disk));
    append(journal, 1);
    int rc = 0;
    for (int i = 0; i < 100 && rc == 0; i++, clock_sleep_ns(5 * NS_PER_MS))
        rc = journal_commit(journal, false);
    assert_int_equal(rc, -EIO);
    journal_close(journal);
    disk_fini(&disk);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_big_records_and_groups), TEST(test_replay_can_refuse),
        TEST(test_rotate_and_drop), TEST(test_snapshot_ahead), TEST(test_middle_file_missing), TEST(test_one_process),
        TEST(test_left_overs_and_strangers), TEST(test_no_directory), TEST(test_cut_at_every_byte),
        TEST(test_damage_before_mark), TEST(test_damage_after_clean_end), TEST(test_damage_without_sync),
        TEST(test_damage_before_later_file), TEST(test_old_bytes_of_another_file), TEST(test_write_fails),
        TEST(test_sync_fails), TEST(test_new_file_fails), TEST(test_interval_syncs_within_a_second),
        TEST(test_always_syncs_the_rest), TEST(test_background_sync_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
