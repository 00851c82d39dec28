/* SPDX-License-Identifier: Apache-2.0
 *
 * What the cluster behind a mount has served since it started. A calf mount answers with JSON in the extended
 * attribute user.calf.counters of its root; any other file system has no such attribute, and nothing is known.
 * Stateless; blocks on the file system.
 */
#ifndef CALF_IOBENCH_SERVED_COUNTERS_H
#define CALF_IOBENCH_SERVED_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobench/result.h"

#define SERVED_COUNTERS_ATTRIBUTE "user.calf.counters"

struct served_counters {
    bool known;
    uint64_t read_bytes, read_requests, write_bytes, write_requests; /* by all chunkservers together */
    uint64_t servers;
    uint64_t write_copies; /* how often one written byte is counted; 1 unless the cluster says more */
    char journal_mode[64];
    char binary_hash[65];
    char transport[16]; /* how data goes between client and chunkservers: "tcp", "unix", "shm"; "" where unknown */
    char fuse[16];      /* how the kernel's requests reach the client: "uring", "device"; "" where unknown */
};

/* Reads the attribute of mount_root. Anything missing or damaged gives .known = false and zeros. */
void served_counters_read(const char *mount_root, struct served_counters *counters);

/* The same from the attribute's text, which may be hostile. */
void served_counters_parse(const char *text, size_t bytes, struct served_counters *counters);

/* What was served from one reading to the next, into the sample; a counter that went back counts as 0. */
void served_counters_between(const struct served_counters *before, const struct served_counters *after, struct sample *sample);

#endif
