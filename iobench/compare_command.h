/* SPDX-License-Identifier: Apache-2.0
 *
 * `iobench compare`: the command line around compare.h, table.h and compare_export.h. It reads results, prints to stdout and
 * judges --fail-below; it computes nothing itself.
 */
#ifndef CALF_IOBENCH_COMPARE_COMMAND_H
#define CALF_IOBENCH_COMPARE_COMMAND_H

/* argv[0] is "compare". Returns the exit status: 0, 1 when stdout cannot be written, 2 for wrong usage or input (one line on
 * stderr), 3 when --fail-below says no. Blocks on the file system. */
int compare_command(int argc, char **argv) __attribute__((warn_unused_result));

#endif
