/* SPDX-License-Identifier: Apache-2.0
 *
 * What each test does, as a table. The workers and the preparation go by these properties and never by a test's
 * name.
 *
 *   write, append      sequential write of a new file, the latter with O_APPEND. Creating (or truncating) it happens before
 *                      the workers are released, so that the window holds the writing alone; fsync and close are inside.
 *   rewrite            the same over an existing file.
 *   read               sequential read of an existing file; reread: of one that was read once right before.
 *   random-write, random-read   each block of an existing file once, in a seeded random order (or drawn with replacement).
 *   mixed              likewise, each operation a read with the given probability.
 *   backward-read, stride-read  from the last block to the first; every n-th block, in n rounds.
 *   record-rewrite     the first block, again and again.
 *   f..., vector-...   what is behind the dash or the f, always with the engine stdio or vectored.
 *   create ... unlink  names in a directory of each worker; see worker_names.h.
 *
 * Existing files are written before, outside of the clock, with fsync. Immutable.
 */
#ifndef CALF_IOBENCH_WORKLOAD_H
#define CALF_IOBENCH_WORKLOAD_H

#include <stdbool.h>

#include "iobench/access_pattern.h"
#include "iobench/engine.h"
#include "iobench/test_kind.h"

struct workload {
    enum test_kind test;
    bool reads, writes;        /* data; both for mixed */
    enum access_order order;
    bool new_files;            /* else the prepared ones */
    bool append;
    bool read_before;          /* the file is read once right before, outside of the clock */
    bool names;                /* no data: a test of names */
    const struct engine *engine; /* this one whatever was asked for; NULL: the one asked for */
};

/* Never NULL for a test of the list. */
const struct workload *workload_of(enum test_kind test);

/* True if one run writes every block of the file (without a duration, a working set or replacement). */
bool workload_covers(const struct workload *workload);

#endif
