/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal's files as they lie on the disk: a file header, then groups; a group is a header and its records;
 * a record is a header and its body, padded to 8 bytes. All numbers are little-endian; everything begins at a
 * multiple of 8.
 *
 * A group's checksum is seeded with the identity of its file, which is random and never used again, and covers
 * where it lies: what an earlier file left on the disk, or what a record holds, cannot pass for a group.
 * `previous` ties it to the group before it.
 */
#ifndef CALF_JOURNAL_FORMAT_H
#define CALF_JOURNAL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "master/journal.h"

#define JOURNAL_FILE_MAGIC UINT64_C(0x6c6e726a666c6163)  /* "calfjrnl" */
#define JOURNAL_GROUP_MAGIC UINT64_C(0x70756f7267e7a1f3) /* no text has it */

enum { JOURNAL_FORMAT = 1, JOURNAL_GROUP_LIMIT = 16 << 20 /* bytes of records; one record more may follow */ };

struct journal_file_header {
    uint64_t magic;
    uint32_t format;
    uint32_t reserved;
    uint64_t identity;
    uint64_t first_index; /* of its first record: all before it were synced when the file was made */
    uint64_t epoch;       /* in which it was made */
    uint64_t checksum;    /* of what stands before */
};

struct journal_group_header {
    uint64_t magic;
    uint64_t offset;      /* of this header in the file */
    uint64_t first_index; /* of its first record; of the next record if it has none */
    uint32_t records;     /* none: the group only carries its mark */
    uint32_t bytes;       /* of the records, with their headers and padding */
    uint64_t epoch;
    uint64_t synced_index; /* the mark: all records up to this one were synced when this group was written */
    uint64_t previous;     /* checksum of the group before, or of the file header */
    uint64_t checksum;     /* of what stands before and of the records */
};

struct journal_record_header {
    uint32_t body_bytes;
    uint16_t type;
    uint16_t reserved;
    uint64_t session;
    uint32_t slot, sequence;
    int64_t time_ns;
};

_Static_assert(sizeof(struct journal_file_header) == 48, "as on the disk");
_Static_assert(sizeof(struct journal_group_header) == 64, "as on the disk");
_Static_assert(sizeof(struct journal_record_header) == 32, "as on the disk");

static inline uint32_t journal_record_bytes(uint32_t body_bytes)
{
    return (uint32_t)sizeof(struct journal_record_header) + ((body_bytes + 7) & ~7u);
}

uint64_t journal_file_checksum(const struct journal_file_header *header);
uint64_t journal_group_checksum(uint64_t identity, const struct journal_group_header *header, const void *records);

#endif
