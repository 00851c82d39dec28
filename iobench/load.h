/* SPDX-License-Identifier: Apache-2.0
 *
 * How the workers of a sweep make their load, beside test, block size and number of workers: the axes that are the same for
 * all cells. Filled once from the result's configuration; checked before anything is run. Immutable then.
 */
#ifndef CALF_IOBENCH_LOAD_H
#define CALF_IOBENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobench/engine.h"
#include "iobench/result.h"

enum { LOAD_CPUS = 1024 };

struct load {
    enum sync_mode sync;
    enum msync_mode msync;
    uint32_t depth;        /* requests in flight of each worker, at least 1 */
    uint64_t rate_limit;   /* operations per second of all workers; 0: none */
    int64_t duration_ns, warm_up_ns; /* 0: by size */
    int64_t interval_ns;   /* 0: no series */
    uint64_t working_set_bytes; /* 0: the whole file */
    uint32_t read_percent, stride_blocks, files_per_worker;
    bool shared, processes, replacement;
    bool on_node;          /* memory comes from `node` alone */
    uint32_t node;
    uint32_t cpu_count;    /* workers are held on these in turn; 0: nowhere */
    uint16_t cpus[LOAD_CPUS];
};

enum { LOAD_WHY = 320, LOAD_DEPTH_MAX = 256 };

/* From a configuration that is complete (tests, blocks, sizes, engine). 0; -EINVAL with one line in why: what cannot be had
 * together, what the engine cannot do, no such CPU or node. Reads /sys for a node. */
int load_init(struct load *load, const struct result *config, char why[LOAD_WHY]) __attribute__((warn_unused_result));

/* The engine of a test: the workload's own, else the one asked for. */
const struct engine *load_engine(const struct result *config, enum test_kind test);

/* "0-3,8" as numbers. 0; -EINVAL. */
int load_parse_cpus(const char *text, uint16_t cpus[LOAD_CPUS], uint32_t *count) __attribute__((warn_unused_result));

/* Holds the calling worker on its core, and its memory on the node. 0 or a negative errno. */
int load_place_here(const struct load *load, uint32_t worker) __attribute__((warn_unused_result));

#endif
