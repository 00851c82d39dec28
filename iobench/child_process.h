/* SPDX-License-Identifier: Apache-2.0
 *
 * Other programs run by this one: their output read, or shown on stderr, within a time limit and in a process
 * group of their own, so that Ctrl-C at the terminal reaches only us and we decide when they end. Main thread
 * only.
 */
#ifndef CALF_IOBENCH_CHILD_PROCESS_H
#define CALF_IOBENCH_CHILD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs argv[0] (found in PATH) and gives its exit status; -EINTR if an interrupt was requested and
 * `interruptible`, -ETIMEDOUT if it took longer than limit_ns (in both cases it and its group got SIGTERM,
 * thirty seconds later SIGKILL), -ECHILD if a signal ended it, else the negative errno of starting it (-ENOENT:
 * no such program). output: NULL to send its standard output to our stderr; else its first output_bytes - 1
 * bytes, terminated, and its stderr is thrown away. */
int child_process_run(char *const argv[], int64_t limit_ns, bool interruptible, char *output, size_t output_bytes)
    __attribute__((warn_unused_result));

#endif
