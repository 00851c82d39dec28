/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/sweep_axes.h"

#include <string.h>

#include "common/clock.h"
#include "iobench/engine.h"
#include "iobench/load.h"
#include "iobench/text_print.h"

enum { DEFAULT_READ_PERCENT = 70, DEFAULT_STRIDE = 17, DEFAULT_FILES = 1000 };
#define DEFAULT_INTERVAL_NS NS_PER_S
#define DAY_S 86400

unsigned sweep_axes_rows(struct sweep_axes *a, struct option_row *rows)
{
    const struct option_row mine[] = {
        {"sync", 0, OPTION_CHOICE, "fsync|none|dsync|sync",
         "written data lasts by one fsync at the end, not at all, or O_DSYNC or O_SYNC on each write (fsync)", &a->sync, false,
         0, 0, &a->sync_given},
        {"depth", 0, OPTION_NUMBER, "N", "requests in flight of each worker (1); --engine libaio", &a->depth, false, 1,
         LOAD_DEPTH_MAX, NULL},
        {"duration", 0, OPTION_NUMBER, "SECONDS", "of each run, instead of once through the file", &a->duration_s, false, 1,
         DAY_S, NULL},
        {"warm-up", 0, OPTION_NUMBER, "SECONDS", "before the window of a run by --duration (0)", &a->warm_up_s, false, 0,
         DAY_S, NULL},
        {"rate", 0, OPTION_NUMBER, "N",
         "operations per second of all workers at most; latency counts from when each was due", &a->rate_limit, false, 1,
         INT64_C(1000000000), NULL},
        {"interval", 0, OPTION_NUMBER, "MS", "length of the pieces of a run's series in the result (1000)", &a->interval_ms,
         false, 100, DAY_S * INT64_C(1000), NULL},
        {"working-set", 0, OPTION_SIZE, "BYTES", "touch only so much of each worker's file (all)", &a->working_set_bytes,
         false, 1, 0, NULL},
        {"shared", 0, OPTION_FLAG, NULL, "one file for all workers, a part for each", &a->shared, false, 0, 0, NULL},
        {"processes", 0, OPTION_FLAG, NULL, "workers are processes, not threads", &a->processes, false, 0, 0, NULL},
        {"replacement", 0, OPTION_FLAG, NULL, "random blocks are drawn with replacement, not each once", &a->replacement,
         false, 0, 0, NULL},
        {"read-percent", 0, OPTION_NUMBER, "N", "reads of the test mixed (70)", &a->read_percent, false, 1, 99, NULL},
        {"stride", 0, OPTION_NUMBER, "N", "blocks from one to the next of stride-read (17)", &a->stride_blocks, false, 1,
         INT32_MAX, NULL},
        {"files", 0, OPTION_NUMBER, "N", "names of each worker in tests of names (1000)", &a->files_per_worker, false, 1,
         10000000, NULL},
        {"msync", 0, OPTION_CHOICE, MSYNC_WORDS, "--engine mmap: once at the end, or after each block (end)", &a->msync,
         false, 0, 0, &a->msync_given},
        {"cpus", 0, OPTION_TEXT, "LIST", "hold workers on these CPUs in turn, such as 0-3,8", &a->cpus, false, 0, 0, NULL},
        {"numa-node", 0, OPTION_TEXT, "N", "hold workers and their memory on this node", &a->numa_node, false, 0, 0, NULL},
    };
    _Static_assert(sizeof mine / sizeof mine[0] == SWEEP_AXES_OPTIONS, "as the header says");
    memcpy(rows, mine, sizeof mine);
    return SWEEP_AXES_OPTIONS;
}

static bool has_test(const struct result *config, enum test_kind test)
{
    for (uint32_t i = 0; i < config->test_count; i++)
        if (config->tests[i] == test)
            return true;
    return false;
}

/* Settings of tests that do not run would only confuse. */
static void take_test_settings(const struct sweep_axes *a, struct result *config)
{
    bool names = false;
    for (uint32_t i = 0; i < config->test_count; i++)
        names = names || test_kind_counts_operations(config->tests[i]);
    if (a->read_percent || config->read_percent == 0)
        config->read_percent = a->read_percent ? (uint32_t)a->read_percent : DEFAULT_READ_PERCENT;
    if (a->stride_blocks || config->stride_blocks == 0)
        config->stride_blocks = a->stride_blocks ? (uint32_t)a->stride_blocks : DEFAULT_STRIDE;
    if (a->files_per_worker || config->files_per_worker == 0)
        config->files_per_worker = a->files_per_worker ? (uint32_t)a->files_per_worker : DEFAULT_FILES;
    if (!has_test(config, TEST_MIXED))
        config->read_percent = 0;
    if (!has_test(config, TEST_STRIDE_READ))
        config->stride_blocks = 0;
    if (!names)
        config->files_per_worker = 0;
}

void sweep_axes_take(const struct sweep_axes *a, bool keep, struct result *config)
{
    static const char *const msync_words[MSYNC_MODES] = {"end", "async", "sync"};
    if (a->sync_given || !keep)
        config->sync = (enum sync_mode)a->sync;
    if (a->depth)
        config->queue_depth = a->depth > 1 ? (uint32_t)a->depth : 0;
    if (a->duration_s)
        config->duration_ns = (int64_t)a->duration_s * NS_PER_S;
    if (a->warm_up_s)
        config->warm_up_ns = (int64_t)a->warm_up_s * NS_PER_S;
    if (a->rate_limit)
        config->rate_limit = a->rate_limit;
    if (a->interval_ms || !keep)
        config->interval_ns = a->interval_ms ? (int64_t)a->interval_ms * NS_PER_MS : DEFAULT_INTERVAL_NS;
    if (a->working_set_bytes)
        config->working_set_bytes = a->working_set_bytes;
    config->shared_file = config->shared_file || a->shared;
    config->processes = config->processes || a->processes;
    config->replacement = config->replacement || a->replacement;
    if (a->msync_given)
        text_print(config->msync, sizeof config->msync, "%s", msync_words[a->msync]);
    if (a->cpus)
        text_print(config->cpus, sizeof config->cpus, "%s", a->cpus);
    if (a->numa_node)
        text_print(config->numa_node, sizeof config->numa_node, "%s", a->numa_node);
    take_test_settings(a, config);
}
