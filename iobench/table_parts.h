/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the table, in the order in which table.c prints them. Each reads the comparison and writes to the page, as
 * text or Markdown. Internal to the table's files.
 */
#ifndef CALF_IOBENCH_TABLE_PARTS_H
#define CALF_IOBENCH_TABLE_PARTS_H

#include "iobench/table_text.h"

/* Title, machine, settings, versions, deployments; that a quick preset or an interrupted sweep is no evidence. */
void table_head_print(const struct table_page *page);

/* Rates of every deployment, with CPU seconds per GiB where they are known. */
void table_rates_print(const struct table_page *page);

/* The article's grid of ratios to the baseline, marked by verdict: where it is slow, at a glance. */
void table_glance_print(const struct table_page *page);

/* Every cell as a ratio to the baseline with its interval. */
void table_cells_print(const struct table_page *page);

/* Geometric means: overall, by test, block size, threads. */
void table_means_print(const struct table_page *page);

/* CPU seconds per GiB: means, ratio to the baseline, who used them. */
void table_cpu_print(const struct table_page *page);

/* Which part used how much CPU time and memory; how far several clients lay apart. Only where results know it. */
void table_use_print(const struct table_page *page);

/* What the A/A arms show. */
void table_noise_print(const struct table_page *page);

/* Failed and marked cells, how to read the marks, what the rounds can and cannot show. */
void table_notes_print(const struct table_page *page);

/* The sentence to quote. */
void table_closing_print(const struct table_page *page);

/* The next candidate arms from *next on, as many as stand side by side; how many, 0 at the end. */
enum { TABLE_TOGETHER = 3 };
size_t table_candidates(const struct comparison *c, size_t *next, size_t arms[TABLE_TOGETHER]);

/* "write, 4k, 1 thread" for sentences; returns to. */
const char *table_cell_name(const struct compare_cell *cell, char to[TABLE_NAME]);

/* "percent of", "percent change from", "times". */
const char *table_unit_phrase(const struct table_page *page);

#endif
