/* SPDX-License-Identifier: Apache-2.0
 *
 * The report: one HTML file that needs nothing else, neither a network nor a server. It holds the comparison and the raw rates
 * as one JSON block (report_data.c), the script and style that draw it (report.js, report_charts.js, report.css) and the chart
 * library Chart.js, both taken in when iobench is built (report_assets.c). What a reader needs first, and the whole table as
 * text, stand in the HTML itself, so they are there without scripts too. Not thread-safe; blocks as far as the file does.
 */
#ifndef CALF_IOBENCH_REPORT_H
#define CALF_IOBENCH_REPORT_H

#include <stdio.h>

#include "iobench/compare.h"

/* Prints the report. Errors stay in the stream (ferror). */
void report_print(FILE *out, const struct comparison *comparison);

/* Writes it to the path, whole or not at all. 0 or negative errno. */
int report_write(const char *path, const struct comparison *comparison) __attribute__((warn_unused_result));

/* The same for one result, compared with its first scenario, as report.html in its directory. */
int report_write_result(const char *directory, const struct result *r) __attribute__((warn_unused_result));

#endif
