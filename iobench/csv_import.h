/* SPDX-License-Identifier: Apache-2.0
 *
 * Earlier figures as a result: a CSV with a header row and the columns deployment, test, block_bytes, threads, mb_per_s (10^6
 * bytes a second), in any order; others are ignored. Rows that repeat a combination are further runs of it. Such a result has
 * rates only (result.earlier_figures). The file may be damaged or hostile. Not thread-safe; blocks on the file system.
 */
#ifndef CALF_IOBENCH_CSV_IMPORT_H
#define CALF_IOBENCH_CSV_IMPORT_H

#include <stddef.h>

#include "iobench/result.h"

/* Reads the file at path into r, which is initialized and empty; its label becomes the file's name. The caller owns r and
 * calls result_fini also after an error. 0; else a negative errno, and why holds one line that names the file, the line and
 * what is wrong: -EINVAL for its content, the error of the file system otherwise. */
int csv_import_read(const char *path, struct result *r, char *why, size_t why_bytes) __attribute__((warn_unused_result));

/* The same from a text in memory, which it changes and which ends with a NUL at text[size]. why: "line 7: ...". */
int csv_import_text(char *text, size_t size, struct result *r, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

#endif
