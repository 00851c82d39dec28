/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at one moment: of the machine (/proc/meminfo), of iobench, and of a scenario's processes: what is resident
 * (/proc/PID/status), and, for a process that has a memory cgroup of its own (a container, or a part with a limit), what is charged
 * to that, in version 1 or 2. Blocks only on /proc and the cgroup file system.
 */
#ifndef CALF_IOBENCH_MEMORY_ACCOUNT_H
#define CALF_IOBENCH_MEMORY_ACCOUNT_H

#include "iobench/cpu_account.h"

/* What cannot be read counts 0. */
void memory_account_take(const struct cpu_processes *processes, struct memory_use *use);

/* Bytes that are charged to the memory cgroup of a process, if it is alone in it; 0: it is not, or not to be found. `root` is
 * "/sys/fs/cgroup", `proc` "/proc", but in tests. */
uint64_t memory_account_charged(const char *proc, const char *root, pid_t pid);

#endif
