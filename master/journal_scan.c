/* SPDX-License-Identifier: Apache-2.0 */
#include "master/journal_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/checksum.h"

enum { WINDOW_BYTES = 1 << 20 };

uint64_t journal_file_checksum(const struct journal_file_header *header)
{
    return checksum_chain(JOURNAL_FILE_MAGIC, header, offsetof(struct journal_file_header, checksum));
}

uint64_t journal_group_checksum(uint64_t identity, const struct journal_group_header *header, const void *records)
{
    uint64_t sum = checksum_chain(identity, header, offsetof(struct journal_group_header, checksum));
    return checksum_chain(sum, records, header->bytes);
}

/* Makes bytes [offset, offset + bytes), which lie inside the file, readable at *at; valid until the next call. */
static int show(struct journal_scan *scan, uint64_t offset, size_t bytes, const uint8_t **at)
{
    if (offset < scan->window_start || offset + bytes > scan->window_start + scan->window_bytes) {
        if (bytes > scan->window_room) {
            size_t usual = scan->size < WINDOW_BYTES ? (size_t)scan->size : WINDOW_BYTES;
            scan->window_room = bytes > usual ? bytes : usual;
            scan->window = check_alloc(realloc(scan->window, scan->window_room));
        }
        scan->window_start = offset;
        scan->window_bytes = 0;
        while (scan->window_bytes < scan->window_room) {
            ssize_t n = pread(scan->fd, scan->window + scan->window_bytes, scan->window_room - scan->window_bytes,
                              (off_t)(offset + scan->window_bytes));
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return -errno;
            if (n == 0)
                break;
            scan->window_bytes += (size_t)n;
        }
        if (scan->window_bytes < bytes)
            return -EIO; /* somebody cuts the file while it is read */
    }
    *at = scan->window + (offset - scan->window_start);
    return 0;
}

static int damaged(struct journal_scan *scan, const char *reason)
{
    scan->reason = reason;
    return -EUCLEAN;
}

int journal_scan_begin(struct journal_scan *scan, int fd)
{
    struct stat status;
    const uint8_t *at;
    *scan = (struct journal_scan){.fd = fd};
    if (fstat(fd, &status) < 0)
        return -errno;
    scan->size = (uint64_t)status.st_size;
    if (scan->size < sizeof scan->file)
        return damaged(scan, "the file header is incomplete");
    int rc = show(scan, 0, sizeof scan->file, &at);
    if (rc < 0)
        return rc;
    memcpy(&scan->file, at, sizeof scan->file);
    if (scan->file.magic != JOURNAL_FILE_MAGIC)
        return damaged(scan, "not a journal file");
    if (scan->file.checksum != journal_file_checksum(&scan->file))
        return damaged(scan, "the file header does not match its checksum");
    if (scan->file.format != JOURNAL_FORMAT)
        return damaged(scan, "a format of another version of this program");
    scan->offset = sizeof scan->file;
    scan->next_index = scan->file.first_index;
    scan->mark = scan->file.first_index - 1;
    scan->previous = scan->file.checksum;
    scan->epoch = scan->file.epoch;
    return 0;
}

void journal_scan_end(struct journal_scan *scan)
{
    free(scan->window);
    scan->window = NULL;
}

bool journal_scan_record(const uint8_t **at, const uint8_t *end, struct journal_record *record)
{
    struct journal_record_header header;
    if ((size_t)(end - *at) < sizeof header)
        return false;
    memcpy(&header, *at, sizeof header);
    if (header.body_bytes > JOURNAL_BODY_LIMIT || journal_record_bytes(header.body_bytes) > (size_t)(end - *at))
        return false;
    *record = (struct journal_record){
        .type = header.type, .session = header.session, .slot = header.slot, .sequence = header.sequence,
        .time_ns = header.time_ns, .body = *at + sizeof header, .body_bytes = header.body_bytes,
    };
    *at += journal_record_bytes(header.body_bytes);
    return true;
}

static bool records_fit(const struct journal_group_header *header, const uint8_t *at)
{
    const uint8_t *end = at + header->bytes;
    struct journal_record record;
    for (uint32_t i = 0; i < header->records; i++)
        if (!journal_scan_record(&at, end, &record))
            return false;
    return at == end;
}

/* A good group at offset, whatever stands before it. 1; 0 with *reason; or what the system said. */
static int group_at(struct journal_scan *scan, uint64_t offset, const uint8_t **at, const char **reason)
{
    struct journal_group_header header;
    *reason = "an incomplete group header";
    if (scan->size - offset < sizeof header)
        return 0;
    int rc = show(scan, offset, sizeof header, at);
    if (rc < 0)
        return rc;
    memcpy(&header, *at, sizeof header);
    *reason = "not a group";
    if (header.magic != JOURNAL_GROUP_MAGIC || header.offset != offset ||
        header.bytes > JOURNAL_GROUP_LIMIT + journal_record_bytes(JOURNAL_BODY_LIMIT) || header.bytes % 8 != 0)
        return 0;
    *reason = "an incomplete group";
    if (header.bytes > scan->size - offset - sizeof header)
        return 0;
    rc = show(scan, offset, sizeof header + header.bytes, at);
    if (rc < 0)
        return rc;
    *reason = "a group that does not match its checksum";
    return header.checksum == journal_group_checksum(scan->file.identity, &header, *at + sizeof header);
}

int journal_scan_group(struct journal_scan *scan, const struct journal_group_header **header, const uint8_t **records)
{
    const uint8_t *at;
    if (scan->offset == scan->size)
        return 0;
    int rc = group_at(scan, scan->offset, &at, &scan->reason);
    if (rc <= 0)
        return rc < 0 ? rc : -EUCLEAN;
    /* The window begins where a group was asked for, or a multiple of 8 behind, so this is aligned. */
    const struct journal_group_header *group = (const struct journal_group_header *)(const void *)at;
    if (group->previous != scan->previous || group->first_index != scan->next_index || group->epoch < scan->epoch)
        return damaged(scan, "a group that does not follow the one before it");
    if (!records_fit(group, at + sizeof *group))
        return damaged(scan, "a group whose records do not fit it");
    scan->offset += sizeof *group + group->bytes;
    scan->next_index += group->records;
    scan->previous = group->checksum;
    scan->epoch = group->epoch;
    if (group->synced_index > scan->mark)
        scan->mark = group->synced_index;
    *header = group;
    *records = at + sizeof *group;
    return 1;
}

int journal_scan_find_proof(struct journal_scan *scan, uint64_t *offset)
{
    for (uint64_t at = scan->offset + 8; at + sizeof(struct journal_group_header) <= scan->size; at += 8) {
        const uint8_t *p;
        const char *reason;
        uint64_t magic;
        int rc = show(scan, at, sizeof magic, &p);
        if (rc < 0)
            return rc;
        memcpy(&magic, p, sizeof magic);
        if (magic != JOURNAL_GROUP_MAGIC)
            continue;
        rc = group_at(scan, at, &p, &reason);
        if (rc < 0)
            return rc;
        const struct journal_group_header *group = (const struct journal_group_header *)(const void *)p;
        if (rc == 1 && group->synced_index >= scan->next_index) {
            *offset = at;
            return 1;
        }
    }
    return 0;
}
