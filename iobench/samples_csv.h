/* SPDX-License-Identifier: Apache-2.0
 *
 * samples.csv: the raw samples for spreadsheets and statistics programs, one row a sample, a header row, RFC 4180 with plain
 * newlines. It is derived from the same tables as results.json and never read back.
 */
#ifndef CALF_IOBENCH_SAMPLES_CSV_H
#define CALF_IOBENCH_SAMPLES_CSV_H

#include "iobench/result.h"

/* Writes the whole text to fd. 0 or the negative errno of write(2); blocks on it. */
int samples_csv_write(const struct result *r, int fd) __attribute__((warn_unused_result));

#endif
