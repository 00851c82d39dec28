/* SPDX-License-Identifier: Apache-2.0
 *
 * `iobench report`: the command line around report.h. It reads results as `iobench compare` does and writes one HTML file.
 */
#ifndef CALF_IOBENCH_REPORT_COMMAND_H
#define CALF_IOBENCH_REPORT_COMMAND_H

/* argv[0] is "report". Returns the exit status: 0, 1 when the file cannot be written, 2 for wrong usage or input (one line on
 * stderr). Blocks on the file system. */
int report_command(int argc, char **argv) __attribute__((warn_unused_result));

#endif
