/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a journal file. As they are, and with all magic numbers, places and checksums made right, so that what lies
 * behind the checksums is reached: the records are then done to a core. Some inputs are only scanned, which is quick; others
 * are opened: that refuses the file or cuts its tail, and what was opened once can be opened again and holds the same records.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/log.h"
#include "fuzz_seed.h"
#include "master/journal_scan.h"
#include "tests/unit/core_fixture.h"

#define FILE_NAME "journal.00000000000000000001"

enum { INPUT_LIMIT = 1 << 16, SEED_ROOM = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char dir[SCRATCH_PATH];

static void remove_dir(void)
{
    scratch_remove(dir);
}

struct replaying {
    struct core core;
    uint64_t records;
};

static int replay(void *context, const struct journal_record *record)
{
    static uint8_t reply_room[WIRE_BODY_LIMIT];
    struct replaying *replaying = context;
    union wire_any value;
    struct wire_out reply = wire_out_on(reply_room, sizeof reply_room);
    struct core_change change = {.type = record->type,
                                 .session = record->session,
                                 .slot = record->slot,
                                 .sequence = record->sequence,
                                 .time_ns = record->time_ns,
                                 .value = &value,
                                 .body = record->body,
                                 .body_bytes = record->body_bytes};
    replaying->records++;
    if (wire_get_any(record->type, record->body, record->body_bytes, &value) == 0)
        (void)core_apply(&replaying->core, &change, &reply);
    return 0;
}

/* Makes a whole journal of what has the shape of one. */
static void make_right(uint8_t *data, size_t bytes)
{
    struct journal_file_header file;
    struct journal_group_header group;
    if (bytes < sizeof file)
        return;
    memcpy(&file, data, sizeof file);
    file.magic = JOURNAL_FILE_MAGIC;
    file.format = JOURNAL_FORMAT;
    file.first_index = 1;
    file.checksum = journal_file_checksum(&file);
    memcpy(data, &file, sizeof file);
    uint64_t previous = file.checksum, index = 1;
    for (size_t at = sizeof file; at + sizeof group <= bytes;) {
        memcpy(&group, data + at, sizeof group);
        group.magic = JOURNAL_GROUP_MAGIC;
        group.offset = at;
        group.first_index = index;
        group.previous = previous;
        if (group.bytes > bytes - at - sizeof group)
            group.bytes = (uint32_t)(bytes - at - sizeof group) & ~7u;
        group.records %= 64;
        group.checksum = journal_group_checksum(file.identity, &group, data + at + sizeof group);
        memcpy(data + at, &group, sizeof group);
        previous = group.checksum;
        index += group.records;
        at += sizeof group + group.bytes;
    }
}

static int open_and_close(uint64_t *records, uint64_t *last)
{
    char why[JOURNAL_WHY_BYTES] = "";
    struct journal *journal;
    struct replaying replaying = {.records = 0};
    core_init(&replaying.core, 1, CORE_CHUNK_BYTES_SMALL, 1);
    int rc = journal_open(dir, JOURNAL_SYNC_INTERVAL, 0, replay, &replaying, why, sizeof why, &journal);
    if (rc == 0) {
        *last = journal_last_index(journal);
        journal_close(journal);
    } else {
        CHECK(why[0] != '\0' && strchr(why, '\n') == NULL);
    }
    core_fini(&replaying.core);
    *records = replaying.records;
    return rc;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    size_t bytes;
    char why[JOURNAL_WHY_BYTES];
    struct journal *journal;
    log_init("fuzz", LOG_NOTHING);
    scratch_make(dir);
    (void)atexit(remove_dir);
    /* The records of a core's life, as the master would write them. */
    struct core_fixture *f = fixture_create(2);
    inode_id ino = fixture_make_file(f, "name");
    CHECK(fixture_lease(f, ino, 0, 2) == WIRE_OK && fixture_publish(f, ino, 100, 0, true) == WIRE_OK);
    CHECK(fixture_set_size(f, ino, 10) == WIRE_OK);
    CHECK(journal_open(dir, JOURNAL_SYNC_INTERVAL, 0, NULL, NULL, why, sizeof why, &journal) == 0);
    for (size_t i = 0; i < f->count; i++) {
        const struct core_change *change = &f->records[i].change;
        struct journal_record record = {change->type,    change->session,    change->slot,     change->sequence,
                                        change->time_ns, f->records[i].body, change->body_bytes};
        journal_append(journal, &record);
        CHECK(i % 3 || journal_commit(journal, false) == 0);
    }
    journal_close(journal);
    fixture_destroy(f);
    unsigned char *data = scratch_read(dir, FILE_NAME, &bytes), *input = malloc(bytes + 1);
    CHECK(data && input);
    input[0] = 1;
    memcpy(input + 1, data, bytes);
    fuzz_seed(*argc, *argv, "whole", input, bytes + 1);
    input[0] = 3;
    fuzz_seed(*argc, *argv, "scanned", input, bytes + 1);
    free(input);
    free(data);
    return 0;
}

static void scan_only(const uint8_t *data, size_t bytes)
{
    static int fd = -1;
    struct journal_scan scan;
    struct replaying replaying = {.records = 0};
    if (fd < 0)
        fd = memfd_create("journal", 0);
    CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
    core_init(&replaying.core, 1, CORE_CHUNK_BYTES_SMALL, 1);
    int rc = journal_scan_begin(&scan, fd);
    const struct journal_group_header *header;
    const uint8_t *at;
    while (rc == 0 && (rc = journal_scan_group(&scan, &header, &at)) == 1) {
        const uint8_t *end = at + header->bytes;
        struct journal_record record;
        for (uint32_t i = 0; i < header->records; i++) {
            CHECK(journal_scan_record(&at, end, &record));
            CHECK(replay(&replaying, &record) == 0);
        }
        rc = 0;
    }
    uint64_t offset;
    if (rc == -EUCLEAN && scan.reason && scan.offset)
        (void)journal_scan_find_proof(&scan, &offset);
    journal_scan_end(&scan);
    core_fini(&replaying.core);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t copy[INPUT_LIMIT];
    uint64_t records = 0, again = 0, last = 0, last_again = 0;
    if (bytes == 0 || bytes > sizeof copy)
        return 0;
    memcpy(copy, data + 1, bytes - 1);
    if (data[0] & 1)
        make_right(copy, bytes - 1);
    if (data[0] & 2) {
        scan_only(copy, bytes - 1);
        return 0;
    }
    scratch_empty(dir);
    CHECK(scratch_write(dir, FILE_NAME, copy, bytes - 1) == 0);
    if (open_and_close(&records, &last) == 0) {
        CHECK(open_and_close(&again, &last_again) == 0);
        CHECK(again == records && last_again == last);
    }
    return 0;
}
