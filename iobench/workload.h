/* SPDX-License-Identifier: Apache-2.0
 *
 * What each test does, as a table. The workers and the preparation go by these properties and never by a test's
 * name.
 *
 *   write         sequential write of a new file. Creating (or truncating) it happens before the workers are
 *                 released, so that the window holds the writing alone; fsync and close are inside.
 *   read          sequential read of an existing file, from first to last block.
 *   random-write  each block of an existing file once, in a seeded random order; fsync and close inside.
 *   random-read   each block of an existing file once, in a seeded random order.
 *
 * Existing files are written before, outside of the clock, with fsync. Immutable.
 */
#ifndef CALF_IOBENCH_WORKLOAD_H
#define CALF_IOBENCH_WORKLOAD_H

#include <stdbool.h>

#include "iobench/result.h"

struct workload {
    enum test_kind test;
    bool writes;
    bool random;
    bool new_files; /* else the prepared ones */
};

/* Never NULL for a test of the list. */
const struct workload *workload_of(enum test_kind test);

#endif
