/* SPDX-License-Identifier: Apache-2.0
 *
 * How the table writes numbers, names and paragraphs: the same digits for the same kind of figure everywhere, control
 * characters never passed on to a terminal (names come from files of others), lines of at most 80 columns. Not thread-safe.
 */
#ifndef CALF_IOBENCH_TABLE_TEXT_H
#define CALF_IOBENCH_TABLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "iobench/compare.h"
#include "iobench/table.h"

enum { TABLE_COLUMNS = 80, TABLE_NUMBER = 24, TABLE_NAME = 160, TABLE_LINE = 4096 };

/* What every part of the table is printed to, and from. */
struct table_page {
    FILE *out;
    const struct comparison *comparison;
    const struct table_style *style;
};

/* A text that grows; what does not fit is cut. Starts all zero. */
struct table_line {
    size_t used;
    char text[TABLE_LINE];
};

void table_line_add(struct table_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the line as it is, without the spaces at its end, and a newline. */
void table_row(const struct table_page *page, const struct table_line *line);

/* Text: the line, wrapped, behind the heading, with later lines indented by its width. Markdown: a list item with the heading
 * in bold; without a heading, a paragraph. */
void table_paragraph(const struct table_page *page, const char *heading, const struct table_line *line);

/* A line over a part of the table: underlined text, or a Markdown heading. */
void table_heading(const struct table_page *page, const char *text);

/* The name fit to be printed in a cell of width columns (0: any): control characters are replaced, Markdown's escaped, and
 * what is too long is cut with a '~'. Returns to. */
const char *table_name(const struct table_page *page, const char *name, size_t width, char to[TABLE_NAME]);

/* A log ratio in the style's unit, with `digits` digits more than usual: "96.7" (percent), "-3.3", "0.967". Returns to. */
const char *table_ratio(const struct table_page *page, double log_ratio, int digits, char to[TABLE_NUMBER]);

/* The sign behind it in sentences: "%" for percent and change, "x" for speed-up. */
const char *table_ratio_sign(const struct table_page *page);

/* Bytes per second as MB/s (10^6), three digits or more. Returns to. */
const char *table_rate(double bytes_per_second, char to[TABLE_NUMBER]);

/* Seconds per GiB, three digits or more. Returns to. */
const char *table_seconds(double seconds, char to[TABLE_NUMBER]);

/* "96.7 [94.1,104.0]?*n": estimate, interval in brackets or range in parentheses, and the marks. Returns to. */
enum { TABLE_RATIO_CELL = 80 };
const char *table_ratio_cell(const struct table_page *page, const struct compare_ratio *ratio,
                             const struct statistics_estimate *estimate, int digits, char to[TABLE_RATIO_CELL]);

/* "failed", "marked", "-": what stands in place of a number; NULL for a cell that was measured. */
const char *table_state(enum compare_state state);

/* '=', '-', '+', '?', or ' ' where there are too few rounds. */
char table_verdict_mark(enum statistics_verdict verdict);

/* Adds the text with the background colour that belongs to the ratio; plain unless the style has colours. */
void table_color_add(const struct table_page *page, struct table_line *line, double log_ratio, const char *text);

#endif
