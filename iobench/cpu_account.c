/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/cpu_account.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

/* "chunkserver12" is a chunkserver. */
static enum result_part part_of(const char *name)
{
    static const char *const names[RESULT_PARTS] = {"master", "chunkserver", "client"};
    size_t length = strcspn(name, "0123456789");
    for (unsigned i = 0; i < RESULT_PARTS; i++)
        if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0)
            return (enum result_part)i;
    return RESULT_PARTS;
}

void cpu_account_processes(const char *path, struct cpu_processes *processes)
{
    processes->count = 0;
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    char line[256];
    while (file && processes->count < CPU_ACCOUNT_PROCESSES && fgets(line, sizeof line, file)) {
        int pid;
        char name[64];
        if (sscanf(line, "%63s %d", name, &pid) != 2 || pid <= 0)
            continue;
        processes->part[processes->count] = part_of(name);
        processes->pid[processes->count++] = pid;
    }
}

/* proc(5): user nice system idle iowait irq softirq steal guest guest_nice; the guest times are within user
 * and nice. */
static void read_machine(struct cpu_snapshot *snapshot)
{
    SCOPE_FCLOSE FILE *file = fopen("/proc/stat", "re");
    uint64_t user = 0, nice = 0, system = 0, irq = 0, softirq = 0, steal = 0;
    snapshot->machine_busy_s = snapshot->steal_s = 0;
    if (!file || fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
                        &user, &nice, &system, &irq, &softirq, &steal) != 6)
        return;
    double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    snapshot->machine_busy_s = (double)(user + nice + system + irq + softirq) / ticks_per_s;
    snapshot->steal_s = (double)steal / ticks_per_s;
}

/* "some avg10=0.00 ... total=MICROSECONDS" is the first line. */
static uint64_t stalled_ns(const char *path)
{
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    uint64_t microseconds;
    if (!file || fscanf(file, "some %*s %*s %*s total=%" SCNu64, &microseconds) != 1)
        return 0;
    return microseconds * (uint64_t)NS_PER_US;
}

static double process_s(pid_t pid)
{
    clockid_t id;
    struct timespec t;
    if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) != 0)
        return -1;
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void cpu_account_take(const struct cpu_processes *processes, struct cpu_snapshot *snapshot)
{
    read_machine(snapshot);
    snapshot->pressure = (struct pressure){stalled_ns("/proc/pressure/cpu"), stalled_ns("/proc/pressure/io"),
                                           stalled_ns("/proc/pressure/memory")};
    for (uint32_t i = 0; i < processes->count; i++)
        snapshot->process_s[i] = process_s(processes->pid[i]);
}

static double not_negative(double value)
{
    return value > 0 ? value : 0;
}

void cpu_account_between(const struct cpu_processes *processes, const struct cpu_snapshot *before,
                         const struct cpu_snapshot *after, double workers_s, struct cpu_use *use)
{
    use->machine_busy_s = not_negative(after->machine_busy_s - before->machine_busy_s);
    use->steal_s = not_negative(after->steal_s - before->steal_s);
    use->workers_s = not_negative(workers_s);
    use->cluster_s = 0;
    memset(use->part_s, 0, sizeof use->part_s);
    for (uint32_t i = 0; i < processes->count; i++) {
        if (before->process_s[i] < 0 || after->process_s[i] < 0)
            continue;
        double used = not_negative(after->process_s[i] - before->process_s[i]);
        use->cluster_s += used;
        if (processes->part[i] < RESULT_PARTS)
            use->part_s[processes->part[i]] += used;
    }
    use->unattributed_s = not_negative(use->machine_busy_s - use->workers_s - use->cluster_s);
}

static uint64_t since(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

void cpu_account_pressure(const struct cpu_snapshot *before, const struct cpu_snapshot *after, struct pressure *pressure)
{
    pressure->cpu_ns = since(before->pressure.cpu_ns, after->pressure.cpu_ns);
    pressure->io_ns = since(before->pressure.io_ns, after->pressure.io_ns);
    pressure->memory_ns = since(before->pressure.memory_ns, after->pressure.memory_ns);
}
