/* SPDX-License-Identifier: Apache-2.0
 *
 * The table that people read: rates, percentages of the baseline with intervals and verdicts, means, CPU cost, noise floor,
 * and the sentence to quote. Text fits 80 columns. The same input and style give the same bytes: nothing here looks at the
 * clock, the terminal or the environment. Not thread-safe; blocks as far as the stream does.
 */
#ifndef CALF_IOBENCH_TABLE_H
#define CALF_IOBENCH_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "iobench/result.h"

struct comparison; /* compare.h */

enum table_unit {
    TABLE_PERCENT, /* of the baseline: 92.2 */
    TABLE_CHANGE,  /* percent change: -7.8 */
    TABLE_SPEEDUP, /* times the baseline: 0.922 */
};

/* All zero is the style of table.txt. */
struct table_style {
    bool markdown;        /* table.md instead of text for a terminal */
    bool color;           /* heat map by background colour (text only); the marks stay, so it carries nothing alone */
    enum table_unit unit; /* of all comparisons with the baseline */
};

/* Prints the table of one result, compared with its first scenario. Errors stay in the stream (ferror). */
void table_print(FILE *out, const struct result *r, const struct table_style *style);

/* The same for a comparison that the caller made (another baseline, several results). */
void table_print_comparison(FILE *out, const struct comparison *comparison, const struct table_style *style);

#endif
