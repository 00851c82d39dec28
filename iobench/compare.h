/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison: every deployment of one or several results against the baseline, cell by cell and in geometric means, with
 * estimates, intervals and verdicts from statistics.h. It holds numbers only; table.c prints it for people, compare_export.c
 * for programs. Building it does no input or output. Not thread-safe.
 *
 * Rules (they stand in docs/results-format.md too):
 * - Deployments of one result are compared in pairs, round by round. Those of two results, and figures from a CSV, have no
 *   pairs: a rank test compares them, and they are marked as weaker.
 * - A failed or marked sample takes its whole cell out, for that deployment: no rate, no ratio, no part in any mean.
 * - A mean is made for each round over all its cells; rounds that lack one of them are left out.
 * - The A/A arm is compared with the scenario it repeats and takes part in nothing else.
 */
#ifndef CALF_IOBENCH_COMPARE_H
#define CALF_IOBENCH_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobench/result.h"
#include "iobench/statistics.h"

enum compare_state {
    COMPARE_MEASURED,
    COMPARE_MISSING, /* never run */
    COMPARE_MARKED,  /* run, but no ratio may be taken from it */
    COMPARE_FAILED,  /* a worker failed */
};

enum compare_metric { COMPARE_RATE, COMPARE_CPU, COMPARE_METRICS };

/* One run: a sample reduced to what is compared. */
struct compare_run {
    uint32_t round;
    bool cpu_known;
    double log[COMPARE_METRICS]; /* of bytes per second, or operations where nothing is moved; of CPU seconds (whole machine) per GiB, if known */
};

/* One deployment in one cell. */
struct compare_series {
    enum compare_state state;
    const char *why;            /* the first bad sample's error or mark; points into the result; NULL if measured */
    size_t bad_count;           /* failed or marked samples among sample_count */
    size_t sample_count;
    const struct compare_run *runs; /* run_count, by round, one for each round; none unless measured */
    size_t run_count;
    bool cpu_known;             /* of every run */
    double rate_median;         /* bytes per second, or operations (test_kind_counts_operations); if measured */
    double cpu_median;          /* seconds per GiB; if cpu_known */
};

/* One deployment against its reference: in a cell or in a mean. */
struct compare_ratio {
    enum compare_state state;   /* the worse of the two sides */
    bool present;               /* there is an estimate */
    bool cpu_present;
    bool survives;              /* cells: marked by Benjamini-Hochberg at 5% */
    bool noisier;               /* cells: the spread is more than three times the reference's, or less than a third */
    size_t cells;               /* means: cells that took part */
    size_t rounds;              /* means: complete rounds that took part */
    enum statistics_verdict verdict; /* of the rate */
    struct statistics_estimate rate, cpu; /* log ratios: deployment / reference */
};

struct compare_arm {
    char name[RESULT_NAME + RESULT_TEXT + 16]; /* unique in the comparison */
    const struct result *result;
    uint32_t scenario;   /* in the result */
    bool noise;          /* an A/A arm */
    size_t reference;    /* index of the arm it is compared with; its own for the baseline */
    bool paired;         /* with its reference */
    size_t cells[COMPARE_FAILED + 1]; /* how many cells are in each state */
    size_t verdicts[VERDICTS];        /* how many cells have each verdict */
    size_t survivors;    /* cells that Benjamini-Hochberg marks */
    size_t best, worst;  /* cell indices by the estimate; meaningless if no cell has one */
};

struct compare_cell {
    enum test_kind test;
    uint64_t block_bytes;
    uint32_t threads;
    struct compare_series *series; /* one for each arm */
    struct compare_ratio *ratios;  /* likewise; the baseline's is empty */
};

enum compare_axis { COMPARE_OVERALL, COMPARE_BY_TEST, COMPARE_BY_BLOCK, COMPARE_BY_THREADS };

/* A geometric mean over the cells that share a value of the axis. */
struct compare_mean {
    enum compare_axis axis;
    enum test_kind test;   /* for COMPARE_BY_TEST, */
    uint64_t block_bytes;  /* for COMPARE_BY_BLOCK, */
    uint32_t threads;      /* for COMPARE_BY_THREADS */
    struct compare_ratio *ratios; /* one for each arm */
    double *cpu;           /* likewise: geometric mean of the cells' medians in seconds per GiB; 0 where unknown */
};

struct comparison {
    const struct result *const *results; /* the caller's */
    size_t result_count;
    size_t baseline;       /* index of the arm */
    bool cpu_known;        /* somewhere */
    uint32_t round_bound;  /* all rounds are below it */
    size_t most_rounds;    /* runs of the longest series */
    size_t tested;         /* cells over which Benjamini-Hochberg was made */
    size_t arm_count, cell_count, mean_count;
    struct compare_arm *arms;   /* in the order of the results */
    struct compare_cell *cells; /* by test, block size, threads */
    struct compare_mean *means; /* [0] is COMPARE_OVERALL, then tests, block sizes, threads */
    struct compare_run *runs;   /* what the series point to */
};

/* Compares all scenarios of the results. baseline names the arm to compare with; NULL: the first scenario of the first result
 * (of a CSV: "bare" if there is one). The results are kept, not copied; count > 0. 0, or -EINVAL and why says which names
 * there are; *c needs compare_fini only after 0. */
int compare_init(struct comparison *c, const struct result *const *results, size_t count, const char *baseline, char *why,
                 size_t why_bytes) __attribute__((warn_unused_result));
void compare_fini(struct comparison *c);

/* Fills ratios and means of a comparison whose arms, cells and series are there: the second half of compare_init. */
void compare_ratios_fill(struct comparison *c);

/* True for arms that are compared with the baseline: neither the baseline nor a noise arm. */
bool compare_is_candidate(const struct comparison *c, size_t arm);

/* True if the cell belongs to the mean. */
bool compare_in_mean(const struct compare_mean *mean, const struct compare_cell *cell);

#endif
