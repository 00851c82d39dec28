/* SPDX-License-Identifier: Apache-2.0
 *
 * `iobench worker`: waits for sweeps on other machines (--workers) and does its part of each (worker_session.h). Main thread;
 * runs until it is interrupted. Whoever reaches its address can have files made in any directory it can write to.
 */
#ifndef CALF_IOBENCH_WORKER_COMMAND_H
#define CALF_IOBENCH_WORKER_COMMAND_H

/* argv[0] is "worker". Returns the exit status. */
int worker_command(int argc, char **argv) __attribute__((warn_unused_result));

#endif
