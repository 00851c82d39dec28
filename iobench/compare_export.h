/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison for programs: JSON (one object) and CSV (one row for each deployment in each cell and mean), all figures with
 * full precision. A cell without a figure has a state and a reason, never a number. The fields are listed in
 * docs/results-format.md. Not thread-safe; blocks as far as the stream does.
 */
#ifndef CALF_IOBENCH_COMPARE_EXPORT_H
#define CALF_IOBENCH_COMPARE_EXPORT_H

#include <stdio.h>

#include "iobench/compare.h"

/* Errors stay in the stream (ferror). */
void compare_export_json(FILE *out, const struct comparison *c);
void compare_export_csv(FILE *out, const struct comparison *c);

/* "measured", "missing", "marked", "failed". */
const char *compare_export_state(enum compare_state state);

#endif
