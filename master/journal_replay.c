/* SPDX-License-Identifier: Apache-2.0 */
#include "master/journal_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/scope.h"
#include "master/journal_scan.h"

/* One line about offset `offset` of a file. */
static int say(const struct journal_files *files, const struct journal_replay *replay, uint64_t first_index,
               uint64_t offset, int error, const char *what)
{
    char name[JOURNAL_NAME_BYTES];
    (void)snprintf(replay->why, replay->why_bytes, "%s/%s: offset %" PRIu64 ": %s", files->dir,
                   journal_file_name(first_index, name), offset, what);
    return error;
}

static int hand_over(const struct journal_files *files, const struct journal_scan *scan, uint64_t group_offset,
                     const struct journal_group_header *group, const uint8_t *records,
                     const struct journal_replay *replay)
{
    const uint8_t *end = records + group->bytes;
    struct journal_record record;
    for (uint64_t index = group->first_index; journal_scan_record(&records, end, &record); index++) {
        int rc = index > replay->after_index ? replay->take(replay->context, &record) : 0;
        if (rc < 0) {
            char what[120];
            (void)snprintf(what, sizeof what, "record %" PRIu64 " of type %u cannot be applied: %s", index, record.type,
                           strerror(-rc));
            return say(files, replay, scan->file.first_index, group_offset, rc, what);
        }
    }
    return 0;
}

/* The last file is damaged at scan->offset, and no file follows: cut (whoever writes next syncs first), or
 * refuse. */
static int end_at_damage(const struct journal_files *files, const struct journal_io *io, struct journal_scan *scan,
                         const struct journal_replay *replay)
{
    char name[JOURNAL_NAME_BYTES], what[240];
    uint64_t proof, first = scan->file.first_index;
    int rc = journal_scan_find_proof(scan, &proof);
    if (rc < 0)
        return say(files, replay, first, scan->offset, rc, strerror(-rc));
    if (rc == 1) {
        (void)snprintf(what, sizeof what,
                       "damaged where record %" PRIu64 " should be (%s), and the group at offset %" PRIu64
                       " proves that it had been on the disk",
                       scan->next_index, scan->reason, proof);
        return say(files, replay, first, scan->offset, -EUCLEAN, what);
    }
    if (io->ftruncate(io->context, scan->fd, (off_t)scan->offset) < 0) {
        rc = -errno;
        return say(files, replay, first, scan->offset, rc, strerror(-rc));
    }
    log_warning("%s/%s: cut off %" PRIu64 " bytes at offset %" PRIu64 " (%s): they were not synced when the program or "
                "the machine stopped; the last record is %" PRIu64, files->dir, journal_file_name(first, name),
                scan->size - scan->offset, scan->offset, scan->reason, scan->next_index - 1);
    return 0;
}

/* A file that another follows was synced as a whole before that one was made. */
static int check_seam(const struct journal_files *files, const struct journal_scan *scan, int rc, uint64_t follower,
                      const struct journal_replay *replay)
{
    char name[JOURNAL_NAME_BYTES], what[240];
    if (rc == 0 && scan->next_index == follower)
        return 0;
    (void)journal_file_name(follower, name);
    if (rc < 0)
        (void)snprintf(what, sizeof what,
                       "damaged where record %" PRIu64 " should be (%s), and the file %s proves that it had been on "
                       "the disk",
                       scan->next_index, scan->reason, name);
    else
        (void)snprintf(what, sizeof what, "ends with record %" PRIu64 ", which the file %s does not follow",
                       scan->next_index - 1, name);
    return say(files, replay, scan->file.first_index, scan->offset, -EUCLEAN, what);
}

static int replay_file(struct journal_files *files, size_t row, const struct journal_io *io,
                       const struct journal_replay *replay, struct journal_scan *scan)
{
    const struct journal_group_header *group;
    const uint8_t *records;
    struct journal_file *file = &files->rows[row];
    int rc = journal_scan_begin(scan, scan->fd);
    if (rc == 0 && scan->file.first_index != file->first_index) {
        rc = -EUCLEAN;
        scan->reason = "the file header belongs to another name";
    }
    if (rc < 0)
        return say(files, replay, file->first_index, 0, rc, rc == -EUCLEAN ? scan->reason : strerror(-rc));
    uint64_t offset = scan->offset;
    while ((rc = journal_scan_group(scan, &group, &records)) == 1) {
        rc = hand_over(files, scan, offset, group, records, replay);
        if (rc < 0)
            return rc;
        offset = scan->offset;
    }
    if (rc < 0 && rc != -EUCLEAN)
        return say(files, replay, file->first_index, scan->offset, rc, strerror(-rc));
    if (row + 1 < files->count)
        return check_seam(files, scan, rc, files->rows[row + 1].first_index, replay);
    if (rc == -EUCLEAN) {
        rc = end_at_damage(files, io, scan, replay);
        if (rc == 0)
            file->bytes = scan->offset;
    }
    return rc;
}

/* The file that holds the record after after_index, if it is in any; those before are not needed. */
static size_t first_needed(const struct journal_files *files, uint64_t after_index)
{
    size_t row = 0;
    while (row + 1 < files->count && files->rows[row + 1].first_index <= after_index + 1)
        row++;
    return row;
}

int journal_replay_all(struct journal_files *files, const struct journal_io *io, const struct journal_replay *replay,
                       struct journal_end *end)
{
    *end = (struct journal_end){.fd = -1, .last_index = replay->after_index, .mark = replay->after_index};
    size_t row = first_needed(files, replay->after_index);
    if (files->count && files->rows[row].first_index > replay->after_index + 1) {
        (void)snprintf(replay->why, replay->why_bytes,
                       "%s: records %" PRIu64 " to %" PRIu64 " are missing: no journal file holds them", files->dir,
                       replay->after_index + 1, files->rows[row].first_index - 1);
        return -EUCLEAN;
    }
    for (; row < files->count; row++) {
        SCOPE_CLOSE int fd = journal_files_open_one(files, files->rows[row].first_index);
        if (fd < 0)
            return say(files, replay, files->rows[row].first_index, 0, fd, strerror(-fd));
        struct journal_scan scan = {.fd = fd};
        int rc = replay_file(files, row, io, replay, &scan);
        journal_scan_end(&scan);
        if (rc < 0)
            return rc;
        *end = (struct journal_end){
            .fd = -1, .last_index = scan.next_index - 1, .epoch = scan.epoch, .mark = scan.mark,
            .offset = scan.offset, .identity = scan.file.identity, .previous = scan.previous,
        };
        if (row + 1 == files->count) {
            end->fd = fd;
            fd = -1;
        }
    }
    return 0;
}
