/* SPDX-License-Identifier: Apache-2.0
 *
 * A result on disk: a directory with results.json (the whole result, documented in docs/results-format.md), samples.csv
 * (the raw samples for other programs), table.txt and table.md (what `iobench compare` prints for it, byte for byte).
 * Only results.json is ever read back. Every file appears whole or not at all: it is written under a temporary name,
 * synced and renamed, so that a result parses also after an interrupt or a kill. Not thread-safe; the functions block on
 * the file system.
 */
#ifndef CALF_IOBENCH_RESULT_FILE_H
#define CALF_IOBENCH_RESULT_FILE_H

#include <stddef.h>

#include "iobench/result.h"

/* Longest reason that result_file_read gives, its NUL included. */
enum { RESULT_FILE_WHY = 512 };

/* Writes the four files into the existing directory dir, replacing older ones. 0, or the negative errno of the file system;
 * files that were there before are then still whole. */
int result_file_write(const struct result *r, const char *dir) __attribute__((warn_unused_result));

/* Reads a result directory or a results.json. r must be initialized (result_init) and empty; the caller owns it and calls
 * result_fini also after an error. 0; else a negative errno, and why holds one line that names the file, what is wrong with
 * it and what to do: -EINVAL for a damaged, empty or foreign file or one of a newer version, the error of the file system
 * otherwise. */
int result_file_read(const char *path, struct result *r, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

#endif
