/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that tests of names work on: in a directory of each worker ("d.3"), numbered files ("0", "1", ...), which rename
 * turns into "r0", "r1", ... Each is one operation per name, but for readdir, where an operation is one pass over the whole directory:
 *
 *   create   open with O_CREAT and O_EXCL, close        (the directory is empty before)
 *   stat     stat                                        (files are there before)
 *   open     open, close
 *   readdir  opendir, readdir to the end, closedir; 10 times
 *   rename   to the other name
 *   unlink   unlink
 *
 * Stateless; any thread.
 */
#ifndef CALF_IOBENCH_WORKER_NAMES_H
#define CALF_IOBENCH_WORKER_NAMES_H

#include <stdint.h>

enum { WORKER_NAMES_PASSES = 10, WORKER_NAMES_PATH = 480 };

/* Removes a directory of names with everything in it. 0 (also if it is not there) or a negative errno. */
int worker_names_remove(const char *directory) __attribute__((warn_unused_result));

#endif
