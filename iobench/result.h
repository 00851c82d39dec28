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

#include "iobench/test_kind.h"

enum { RESULT_FORMAT_VERSION = 1, RESULT_NAME = 64, RESULT_MARK = 24, RESULT_TEXT = 256, RESULT_SCENARIOS = 16 };

/* Rounds are numbered from 0 and below this. */
enum { RESULT_ROUNDS = 1000 };

enum cache_mode { CACHE_COLD, CACHE_DIRECT, CACHE_WARM };

/* What makes written data lasting: one fsync at the end, nothing, O_DSYNC or O_SYNC on every write (and the fsync). */
enum sync_mode { SYNC_FSYNC, SYNC_NONE, SYNC_DSYNC, SYNC_SYNC, SYNC_MODES };

/* One deployment of the comparison. The first one of a result is the baseline. */
struct scenario_info {
    char name[RESULT_NAME];
    char directory[RESULT_TEXT];    /* where the test files stood */
    char fs_type[RESULT_NAME];      /* as in /proc/self/mountinfo, e.g. "fuse.calf" */
    char mount_source[RESULT_TEXT]; /* likewise */
    char mount_options[RESULT_TEXT]; /* likewise, of the file system; cut when longer */
    char device[RESULT_NAME];       /* "major:minor" of the directory */
    char disk[RESULT_NAME];         /* the kernel's name of that device, "" where it is none */
    char journal_mode[RESULT_NAME]; /* "always", "interval", or "" where unknown */
    char transport[RESULT_NAME];    /* of data between client and chunkservers: "tcp", "unix", "shm", or "" */
    char fuse[RESULT_NAME];         /* how the kernel's requests reach the client: "uring", "device", or "" */
    char binary_hash[65];           /* SHA-256 of the client program behind the mount, "" where unknown */
    bool a_a_arm;                   /* the baseline's second arm: shows the noise floor, takes no part in means */
};

struct latency_summary {
    uint64_t min_ns, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns;
};

/* What a calf cluster is made of. */
enum result_part { RESULT_PART_MASTER, RESULT_PART_CHUNKSERVERS, RESULT_PART_CLIENTS, RESULT_PARTS };

/* KiB at the end of the measured window; 0 where unknown. */
struct memory_use {
    uint32_t machine; /* in use on the whole machine, page cache that can be dropped left out */
    uint32_t iobench;
    uint32_t part[RESULT_PARTS]; /* resident: their own memory, RAM disks not counted */
    uint32_t charged; /* to those parts that have a memory cgroup of their own: page cache, RAM disks, sockets, too */
};

/* Over the mounts of a scenario that has several, or over several machines: each instance's rate is its bytes (operations) divided by its own time. */
struct instance_rates {
    uint32_t count;            /* 0: one mount */
    uint32_t slowest_permille; /* the slowest one's rate in thousandths of the fastest one's */
};

/* Seconds are CPU time inside the measured window. */
struct cpu_use {
    double machine_busy_s;  /* all cores, everything but idle and iowait and steal */
    double workers_s;       /* iobench's own workers */
    double cluster_s;       /* the scenario's processes, as far as they are known */
    double unattributed_s;  /* machine - workers - cluster: soft interrupts, veth, the rest */
    double steal_s;         /* taken by the hypervisor */
    double part_s[RESULT_PARTS]; /* of cluster_s, as far as the part is known */
};

/* What single workers reached, in bytes per second (operations per second where a test moves no bytes), each over its own
 * time from the release to its end. */
struct worker_rates {
    uint64_t min, mean, max;
    uint64_t mean_inner; /* the mean without the slowest and the fastest; 0 with fewer than three workers */
};

/* Time in which tasks stood still for want of something: the kernel's pressure stall information, "some". */
struct pressure {
    uint64_t cpu_ns, io_ns, memory_ns;
};

/* A piece of a run, as its rate went: so many operations ended in the time up to end_ns since the release, from the end of
 * the piece before. */
struct sample_interval {
    int64_t end_ns;
    uint64_t operations;
};

/* A long run has longer intervals, not more. */
enum { RESULT_INTERVALS = 128 };

/* There may be a hundred thousand: what few of them have is not held within. */
struct sample {
    uint32_t scenario; /* index into result.scenarios */
    uint32_t round;    /* from 0 */
    uint32_t position; /* in the round's order, from 0 */
    enum test_kind test;
    uint64_t block_bytes;
    uint32_t threads;
    bool failed;              /* a worker failed: no rate may be taken from it */
    char *error;              /* owned; which file and why, for a failed sample; else NULL */
    char mark[RESULT_MARK];   /* "" or why no ratio may be taken: "served-bytes", "cache-not-cold" */
    int64_t start_wall_ns;
    uint64_t bytes, operations;
    int64_t elapsed_ns;    /* all released -> last worker done, fsync and close inside for writes */
    int64_t first_done_ns; /* all released -> first worker done (IOzone's stonewall); for information */
    uint64_t first_done_bytes; /* moved by all workers until then */
    int64_t flush_ns;      /* longest fsync + close of a worker */
    int64_t fsync_ns, close_ns; /* longest of each */
    uint64_t read_operations;   /* of a mixed test: so many of the operations read */
    uint64_t warm_up_bytes;     /* moved before the window */
    uint32_t failed_workers;
    struct worker_rates worker_rates;
    struct worker_rates machine_rates; /* the same of whole machines, where several ran the cell together; else 0 */
    struct pressure pressure;
    struct sample_interval *intervals; /* owned; NULL for a run shorter than one */
    uint32_t interval_count;
    struct latency_summary latency;
    struct cpu_use cpu;
    struct memory_use memory;
    struct instance_rates instances;
    uint64_t served_read_bytes, served_read_requests; /* by the chunkservers, over the cell; 0 where unknown */
    uint64_t served_write_bytes, served_write_requests;
    bool served_known;
    uint64_t server_calls; /* of the chunkservers, over the cell, where they do not count what they serve (server_calls.h) */
};

struct result_environment {
    char hostname[RESULT_NAME], kernel[RESULT_TEXT], cpu_model[RESULT_TEXT], os[RESULT_TEXT];
    char virtualization[RESULT_NAME], cpuidle_driver[RESULT_NAME], cpuidle_governor[RESULT_NAME];
    char frequency_governor[RESULT_NAME], container_runtime[RESULT_TEXT];
    int64_t guest_halt_poll_ns; /* -1 where there is none */
    char caches[RESULT_TEXT], disks[4 * RESULT_TEXT], idle_states[RESULT_TEXT]; /* environment_disks.h */
    uint32_t cpus;
    uint64_t memory_bytes;
};

/* A machine whose worker ran the cells, where another one led the sweep: the other end of its network. */
struct result_machine {
    char worker[RESULT_TEXT]; /* "HOST:PORT" */
    struct result_environment environment;
};

enum { RESULT_MACHINES = 64 };

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
    enum sync_mode sync;
    uint32_t queue_depth;         /* requests in flight of each worker; 0 or 1: one */
    uint64_t rate_limit;          /* operations per second of all workers; 0: none. Latency then counts from when each was due */
    int64_t duration_ns, warm_up_ns; /* of each run; 0: by size */
    int64_t interval_ns;          /* of the series in samples; 0: none */
    uint64_t working_set_bytes;   /* of each worker's file; 0: all of it */
    uint32_t read_percent;        /* of the mixed test; 0 without one */
    uint32_t stride_blocks;       /* of stride-read; 0 without one */
    uint32_t files_per_worker;    /* of the metadata tests; 0 without one */
    bool shared_file, processes, replacement; /* one file for all; processes, not threads; random blocks drawn again and again */
    char msync[RESULT_NAME];      /* of the engine mmap: "end", "async", "sync" */
    char cpus[RESULT_TEXT];       /* workers are held on these, as written; "": nowhere */
    char numa_node[RESULT_NAME];  /* whose memory and cores they use; "": any */
    uint32_t rounds_planned;
    uint32_t until_width_hundredths; /* adaptive: rounds are added until every interval is at most so many hundredths of a percent
                                        of the baseline wide; 0: rounds as planned */
    uint32_t max_rounds;             /* adaptive: not more than these */
    char workers[1024];              /* --workers as written: the machines whose `iobench worker` ran it; "": this one */
    uint32_t clients; /* mounts of each scenario that the workers are spread over; 0: one */
    struct result_environment environment;
    struct result_machine *machines; /* owned; machine_count of them, at most RESULT_MACHINES */
    uint32_t machine_count;

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

const char *cache_mode_name(enum cache_mode cache);
const char *sync_mode_name(enum sync_mode sync);

void result_init(struct result *result);
void result_fini(struct result *result);

/* A copy that owns what it points to; releasing that. A sample that is assigned takes it along. */
void sample_copy(struct sample *to, const struct sample *from);
void sample_fini(struct sample *sample);

/* The text is copied, RESULT_TEXT - 1 bytes of it at most. */
void sample_set_error(struct sample *sample, const char *error);

/* A new zeroed machine at the end, likewise. The result has fewer than RESULT_MACHINES. */
struct result_machine *result_add_machine(struct result *result);

/* A new zeroed sample at the end; valid until the next call. */
struct sample *result_add_sample(struct result *result);

#endif
