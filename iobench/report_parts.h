/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the report that report.c puts together, and how they write text. Internal to the report's files.
 */
#ifndef CALF_IOBENCH_REPORT_PARTS_H
#define CALF_IOBENCH_REPORT_PARTS_H

#include <stddef.h>
#include <stdio.h>

#include "iobench/compare.h"

/* The JSON block that the charts and tables are made from: an object, without a newline. It holds no '<', so that nothing in it
 * can end the element it stands in. */
void report_data_print(FILE *out, const struct comparison *c);

/* The samples: a JSON array of [arm, cell, start in ms since the first, MB/s or operations per second], in the
 * order in which they ran. */
void report_samples_print(FILE *out, const struct comparison *c);

/* Latencies of one cell and deployment: medians over its runs, as a JSON object; null where there are none. */
void report_latency_print(FILE *out, const struct comparison *c, const struct compare_cell *cell, size_t arm);

/* The samples sorted by cell and arm, for report_latency_print: made by begin, freed by end. */
void report_samples_begin(const struct comparison *c);
void report_samples_end(void);

/* The sentence to quote and what limits it, as paragraphs. */
void report_summary_print(FILE *out, const struct comparison *c);

/* The text as HTML; as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void report_html(FILE *out, const char *text);
void report_json(FILE *out, const char *text);

/* What was taken in at build time: texts of HTML, style and script. */
struct report_asset {
    const char *bytes;
    size_t size;
};
enum report_asset_name { REPORT_STYLE, REPORT_PAGE, REPORT_CHART_LIBRARY, REPORT_SCRIPT, REPORT_CHARTS, REPORT_TABLES, REPORT_ASSETS };
struct report_asset report_asset(enum report_asset_name name);

#endif
