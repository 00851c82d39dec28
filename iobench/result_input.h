/* SPDX-License-Identifier: Apache-2.0
 *
 * Results as commands take them: a directory, a results.json, or a CSV of earlier figures, several at a time. Not thread-safe;
 * blocks on the file system.
 */
#ifndef CALF_IOBENCH_RESULT_INPUT_H
#define CALF_IOBENCH_RESULT_INPUT_H

#include <stddef.h>

#include "iobench/compare.h"

enum { RESULT_INPUT_COUNT = 16 };

struct result_input {
    struct result results[RESULT_INPUT_COUNT];
    const struct result *list[RESULT_INPUT_COUNT]; /* to the results, for compare_init */
    size_t count;
};

/* Reads every path of the NULL-terminated list (at most RESULT_INPUT_COUNT). 0, or -EINVAL after a line on stderr that starts
 * with the program's name. The caller calls fini in either case. */
int result_input_read(struct result_input *input, char **paths, const char *program) __attribute__((warn_unused_result));
void result_input_fini(struct result_input *input);

#endif
