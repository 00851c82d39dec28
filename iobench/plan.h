/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sweep will do: the presets, the cells in their order, the order of the scenarios within each, and what
 * all of it costs in bytes, space and time. Pure functions of the configuration and the seed; nothing here
 * touches a file.
 *
 * In each round every cell is run once by every scenario, one right after the other: never all of one scenario
 * and then all of the other. Within a cell, the scenarios' order changes from round to round so that over as
 * many rounds as there are scenarios each comes first, second, ... exactly once (a Latin square), and, for an
 * even number of them, each follows each other one exactly once (Williams, "Experimental designs balanced for
 * the estimation of residual effects", 1949). Rows and names are drawn from the seed for each such group of
 * rounds; which row a cell begins with is dealt out over the cells in a drawn order, so that also within one
 * round each scenario comes first in (almost) equally many cells.
 */
#ifndef CALF_IOBENCH_PLAN_H
#define CALF_IOBENCH_PLAN_H

#include <stdio.h>

#include "iobench/result.h"

enum plan_preset_number { PLAN_QUICK, PLAN_ARTICLE, PLAN_FULL, PLAN_PRESETS };

struct plan_preset {
    const char *name;
    const char *blocks, *threads, *tests; /* as the options take them */
    uint32_t rounds;
    bool smoke_test;
    /* File size per worker for blocks up to `block_bytes`; the last row is for all larger ones. */
    struct {
        uint64_t block_bytes, file_bytes;
    } sizes[5];
};

/* The words of --preset, in the order of the numbers. */
#define PLAN_PRESET_WORDS "quick|article|full"
const struct plan_preset *plan_preset(enum plan_preset_number number);

/* Size per worker for a block size: given_bytes if that is not 0, else the preset's; cut to whole blocks, so
 * 0 means that not even one fits. */
uint64_t plan_file_bytes(const struct plan_preset *preset, uint64_t given_bytes, uint64_t block_bytes);

struct plan_cell {
    enum test_kind test;
    uint64_t block_bytes, file_bytes; /* file_bytes: per worker; both 0 for tests of names, which stand there once */
    uint32_t threads;
    double estimate_s; /* of one run by one scenario, with its preparation */
};

struct plan {
    struct plan_cell *cells; /* owned; in the order they are run */
    uint32_t cell_count, rounds, scenarios;
    uint64_t runs;
    uint64_t moved_bytes; /* by all runs, without the preparation */
    uint64_t space_bytes; /* that one scenario needs at the worst moment */
    double estimate_s;
};

/* From the axes of the result's configuration (file_bytes_by_block must be filled). */
void plan_init(struct plan *plan, const struct result *config);
void plan_fini(struct plan *plan);

/* The order of the scenarios for one cell in one round: order[0] runs first. */
void plan_order(const struct plan *plan, uint64_t seed, uint32_t cell, uint32_t round,
                uint32_t order[RESULT_SCENARIOS]);

/* O_DIRECT is tried with this block size, the one that is a multiple of the smallest power of two. */
uint64_t plan_probe_block(const struct result *config);

/* For --dry-run and the beginning of a sweep. */
void plan_print(FILE *out, const struct plan *plan, const struct result *config);

/* "random-read 64k x4": a cell for people. */
const char *plan_cell_text(const struct plan_cell *cell, char text[RESULT_NAME]);

#endif
