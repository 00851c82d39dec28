/* SPDX-License-Identifier: Apache-2.0
 *
 * A result in memory: what was asked, where it ran, and every raw sample. result_file.c writes and reads it
 * (results.json, samples.csv); compare.c and table.c only read it. Not thread-safe.
 *
 * A *cell* is one combination of test, block size and thread count. A *sample* is one run of a cell by one scenario in one
 * round. Rates are never stored: they are bytes ÷ elapsed_ns, computed where they are shown.
 */
#ifndef CALF_IOBENCH_RESULT_H
#define CALF_IOBENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESULT_FORMAT_VERSION = 1, RESULT_NAME = 64, RESULT_TEXT = 256, RESULT_SCENARIOS = 16 };

/* Rounds are numbered from 0 and below this. */
enum { RESULT_ROUNDS = 1000 };

enum test_kind { TEST_WRITE, TEST_READ, TEST_RANDOM_WRITE, TEST_RANDOM_READ, TEST_KINDS };
enum cache_mode { CACHE_COLD, CACHE_DIRECT, CACHE_WARM };

/* One deployment of the comparison. The first one of a result is the baseline. */
struct scenario_info {
    char name[RESULT_NAME];
    char directory[RESULT_TEXT];    /* where the test files stood */
    char fs_type[RESULT_NAME];      /* as in /proc/self/mountinfo, e.g. "fuse.calf" */
    char mount_source[RESULT_TEXT]; /* likewise */
    char device[RESULT_NAME];       /* "major:minor" of the directory */
    char journal_mode[RESULT_NAME]; /* "always", "interval", or "" where unknown */
    char binary_hash[65];           /* SHA-256 of the client program behind the mount, "" where unknown */
    bool a_a_arm;                   /* the baseline's second arm: shows the noise floor, takes no part in means */
};

struct latency_summary {
    uint64_t min_ns, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns;
};

/* Seconds are CPU time inside the measured window. */
struct cpu_use {
    double machine_busy_s;  /* all cores, everything but idle and iowait and steal */
    double workers_s;       /* iobench's own workers */
    double cluster_s;       /* the scenario's processes, as far as they are known */
    double unattributed_s;  /* machine - workers - cluster: soft interrupts, veth, the rest */
    double steal_s;         /* taken by the hypervisor */
};

struct sample {
    uint32_t scenario; /* index into result.scenarios */
    uint32_t round;    /* from 0 */
    uint32_t position; /* in the round's order, from 0 */
    enum test_kind test;
    uint64_t block_bytes;
    uint32_t threads;
    bool failed;              /* a worker failed: no rate may be taken from it */
    char error[RESULT_TEXT];  /* which file and why, for a failed sample */
    char mark[RESULT_NAME];   /* "" or why no ratio may be taken: "served-bytes", "cache-not-cold" */
    int64_t start_wall_ns;
    uint64_t bytes, operations;
    int64_t elapsed_ns;    /* all released -> last worker done, fsync and close inside for writes */
    int64_t first_done_ns; /* all released -> first worker done (IOzone's stonewall); for information */
    uint64_t first_done_bytes; /* moved by all workers until then */
    int64_t flush_ns;      /* longest fsync + close of a worker */
    struct latency_summary latency;
    struct cpu_use cpu;
    uint64_t served_read_bytes, served_read_requests; /* by the chunkservers, over the cell; 0 where unknown */
    uint64_t served_write_bytes, served_write_requests;
    bool served_known;
};

struct result_environment {
    char hostname[RESULT_NAME], kernel[RESULT_TEXT], cpu_model[RESULT_TEXT], os[RESULT_TEXT];
    char virtualization[RESULT_NAME], cpuidle_driver[RESULT_NAME], cpuidle_governor[RESULT_NAME];
    char frequency_governor[RESULT_NAME], container_runtime[RESULT_TEXT];
    int64_t guest_halt_poll_ns; /* -1 where there is none */
    uint32_t cpus;
    uint64_t memory_bytes;
};

struct result {
    char label[RESULT_TEXT];
    char version[RESULT_NAME];   /* iobench's, with the commit */
    char iobench_hash[65];       /* SHA-256 of the iobench program */
    char command_line[1024];
    char preset[RESULT_NAME];
    bool smoke_test;             /* preset quick: its tables say that they are no evidence */
    bool complete;               /* false in a result whose sweep was interrupted */
    bool earlier_figures;        /* rates only, imported from a CSV (csv_import.h): no environment, no pairs, no CPU time; never
                                    written to a file */
    int64_t started_wall_ns, finished_wall_ns;
    uint64_t seed;
    enum cache_mode cache;
    char engine[RESULT_NAME];
    uint64_t file_bytes; /* per worker; 0 where it depends on the block size: see file_bytes_by_block */
    uint64_t file_bytes_by_block[32]; /* per worker, for each of block_bytes; a whole number of blocks */
    bool verify; /* the data was compared, readers inside of their window: rates are lower than without */
    uint32_t rounds_planned;
    struct result_environment environment;

    uint32_t scenario_count;
    struct scenario_info scenarios[RESULT_SCENARIOS];
    uint64_t block_bytes[32];
    uint32_t block_count;
    uint32_t threads[32];
    uint32_t thread_count;
    enum test_kind tests[TEST_KINDS];
    uint32_t test_count;

    struct sample *samples; /* owned */
    size_t sample_count, sample_room;
};

/* "write", "read", "random-write", "random-read"; NULL / -EINVAL for no such test. */
const char *test_kind_name(enum test_kind test);
int test_kind_parse(const char *name, enum test_kind *test) __attribute__((warn_unused_result));
const char *cache_mode_name(enum cache_mode cache);

void result_init(struct result *result);
void result_fini(struct result *result);

/* A new zeroed sample at the end; valid until the next call. */
struct sample *result_add_sample(struct result *result);

#endif
