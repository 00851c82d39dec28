/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one file of the journal group by group and says where, and why, it stops being good. It decides
 * nothing: whether damage is a lost tail or a lost promise is journal_replay's business. Memory: a window of
 * the file, at least one group.
 *
 * Belongs to one thread.
 */
#ifndef CALF_JOURNAL_SCAN_H
#define CALF_JOURNAL_SCAN_H

#include "master/journal_format.h"

struct journal_scan {
    int fd; /* borrowed */
    uint64_t size;
    struct journal_file_header file;
    uint64_t offset;     /* of the next group */
    uint64_t next_index; /* of its first record */
    uint64_t previous;   /* checksum of the last good group, or of the file header */
    uint64_t epoch;      /* highest so far */
    uint64_t mark;       /* highest so far: records up to this one are known to have been synced */
    const char *reason;  /* set with -EUCLEAN: what is wrong at `offset` */

    uint8_t *window; /* bytes [window_start, window_start + window_bytes) of the file */
    size_t window_room, window_bytes;
    uint64_t window_start;
};

/* Reads the file header. journal_scan_end in any case. 0; -EUCLEAN; what the system said. */
int journal_scan_begin(struct journal_scan *scan, int fd) __attribute__((warn_unused_result));
void journal_scan_end(struct journal_scan *scan);

/* The next group. 1: *header and *records are valid until the next call, and journal_scan_record will succeed
 * header->records times. 0: the file ends here.
 * -EUCLEAN: what lies at scan->offset is no good group. Or what the system said. */
int journal_scan_group(struct journal_scan *scan, const struct journal_group_header **header, const uint8_t **records)
    __attribute__((warn_unused_result));

/* After
 * -EUCLEAN: looks for a good group behind scan->offset whose mark proves that record scan->next_index had been
 * synced. 1: *offset is where; 0: none; or what the system said. */
int journal_scan_find_proof(struct journal_scan *scan, uint64_t *offset) __attribute__((warn_unused_result));

/* Takes the first record off [*at, end). false: it does not fit. */
bool journal_scan_record(const uint8_t **at, const uint8_t *end, struct journal_record *record);

#endif
