/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks for rot: reads all chunks again and again, slowly, and compares headers and blocks with their checksums. What does not match
 * is noted by the store as by any read, and so comes to the master. A thread of its own; while the server is busy it goes at an
 * eighth of its pace.
 */
#ifndef CALF_SCRUB_H
#define CALF_SCRUB_H

#include "chunkserver/serve_counters.h"
#include "chunkserver/store.h"

struct scrub;

/* bytes_per_s of data: one MiB costs some tenths of a millisecond. store and counters must outlive it. */
struct scrub *scrub_create(struct store *store, struct serve_counters *counters, uint64_t bytes_per_s);

/* Ends at once. NULL is allowed. */
void scrub_destroy(struct scrub *scrub);

#endif
