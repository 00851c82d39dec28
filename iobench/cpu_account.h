/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time over a window: of the machine (/proc/stat, in steps of 10 ms), of the scenario's processes (their CPU
 * clocks, in nanoseconds, threads that ended included), of the workers (who count their own), and what is left
 * over: soft interrupts, bridges and kernel threads belong to nobody's process. And for how long tasks stood still (pressure
 * stall information, 0 where the kernel keeps none). Blocks only on /proc.
 */
#ifndef CALF_IOBENCH_CPU_ACCOUNT_H
#define CALF_IOBENCH_CPU_ACCOUNT_H

#include <stdint.h>
#include <sys/types.h>

#include "iobench/result.h"

enum { CPU_ACCOUNT_PROCESSES = 128 };

/* The processes of a scenario, from a file with one "part pid" per line. */
struct cpu_processes {
    uint32_t count;
    pid_t pid[CPU_ACCOUNT_PROCESSES];
    enum result_part part[CPU_ACCOUNT_PROCESSES]; /* RESULT_PARTS: some other */
};

struct cpu_snapshot {
    double machine_busy_s; /* since boot: everything but idle, iowait and steal */
    double steal_s;
    struct pressure pressure; /* since boot */
    double process_s[CPU_ACCOUNT_PROCESSES]; /* -1: no such process */
};

/* A file that is missing gives none; lines that hold no pid are skipped. */
void cpu_account_processes(const char *path, struct cpu_processes *processes);

void cpu_account_take(const struct cpu_processes *processes, struct cpu_snapshot *snapshot);

/* The use between two snapshots of the same processes. A process that is not in both counts 0 (its time stays
 * unattributed); no figure is negative. */
void cpu_account_between(const struct cpu_processes *processes, const struct cpu_snapshot *before,
                         const struct cpu_snapshot *after, double workers_s, struct cpu_use *use);

/* What came to the pressure between the two. */
void cpu_account_pressure(const struct cpu_snapshot *before, const struct cpu_snapshot *after, struct pressure *pressure);

#endif
