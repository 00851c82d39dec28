/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/server_calls.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/scope.h"

/* "syscr: N" and "syscw: N" are lines of proc_pid_io(5). */
static bool add_calls(pid_t pid, uint64_t *calls)
{
    char path[64], line[128];
    unsigned seen = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t number;
        if (sscanf(line, "syscr: %" SCNu64, &number) != 1 && sscanf(line, "syscw: %" SCNu64, &number) != 1)
            continue;
        *calls += number;
        seen++;
    }
    return seen == 2;
}

bool server_calls_read(const struct cpu_processes *processes, uint64_t *calls)
{
    bool found = false;
    *calls = 0;
    for (uint32_t i = 0; i < processes->count; i++) {
        if (processes->part[i] != RESULT_PART_CHUNKSERVERS)
            continue;
        if (!add_calls(processes->pid[i], calls))
            return false;
        found = true;
    }
    return found;
}
