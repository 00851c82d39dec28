/* SPDX-License-Identifier: Apache-2.0
 *
 * results.json as a text: writing a result and reading it back, field for field from result_schema.h. The format is
 * documented in docs/results-format.md. What is read may be damaged or hostile: every count, name and number is checked
 * before it is used. Not thread-safe.
 */
#ifndef CALF_IOBENCH_RESULT_JSON_H
#define CALF_IOBENCH_RESULT_JSON_H

#include <stddef.h>

#include "iobench/result.h"

/* Writes the whole text to fd. 0 or the negative errno of write(2); blocks on it. */
int result_json_write(const struct result *r, int fd) __attribute__((warn_unused_result));

/* Reads a text into r, which is initialized and empty. 0, or -EINVAL and why holds a phrase such as "damaged at byte 17: a
 * colon was expected"; what r then holds is meaningless but safe for result_fini. Does not block. */
int result_json_read(const char *text, size_t size, struct result *r, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

#endif
