/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/memory_account.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/scope.h"
#include "iobench/text_print.h"

/* The number after "KEY:", in KiB; 0 without one. */
static uint32_t read_kib(const char *path, const char *key)
{
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    char line[256];
    size_t length = strlen(key);
    uint32_t kib;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && sscanf(line + length, ": %" SCNu32 " kB", &kib) == 1)
            return kib;
    return 0;
}

static uint32_t resident(pid_t pid)
{
    char path[64];
    text_print(path, sizeof path, "/proc/%d/status", (int)pid);
    return read_kib(path, "VmRSS");
}

static uint64_t read_number(const char *directory, const char *name)
{
    char path[PATH_MAX];
    uint64_t number = 0;
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return 0;
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    return file && fscanf(file, "%" SCNu64, &number) == 1 ? number : 0;
}

/* True if the process is the only one of the group. */
static bool is_alone(const char *directory, pid_t pid)
{
    char path[PATH_MAX];
    int first = 0, second;
    if (snprintf(path, sizeof path, "%s/cgroup.procs", directory) >= (int)sizeof path)
        return false;
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    return file && fscanf(file, "%d", &first) == 1 && first == pid && fscanf(file, "%d", &second) != 1;
}

uint64_t memory_account_charged(const char *proc, const char *root, pid_t pid)
{
    char path[PATH_MAX], line[PATH_MAX], directory[2 * PATH_MAX];
    text_print(path, sizeof path, "%s/%d/cgroup", proc, (int)pid);
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    /* "4:memory:/docker/..." is version 1's, "0::/system.slice/..." version 2's; both may be there. */
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *colon = strchr(line, ':'), *group = colon ? strchr(colon + 1, ':') : NULL;
        if (!group)
            continue;
        bool first = strncmp(colon, ":memory:", 8) == 0;
        if ((!first && group != colon + 1) || strcmp(group + 1, "/") == 0)
            continue;
        (void)snprintf(directory, sizeof directory, "%s%s%s", root, first ? "/memory" : "", group + 1);
        uint64_t bytes = read_number(directory, first ? "memory.usage_in_bytes" : "memory.current");
        if (bytes > 0 && is_alone(directory, pid))
            return bytes;
    }
    return 0;
}

void memory_account_take(const struct cpu_processes *processes, struct memory_use *use)
{
    *use = (struct memory_use){0};
    uint32_t total = read_kib("/proc/meminfo", "MemTotal"), available = read_kib("/proc/meminfo", "MemAvailable");
    use->machine = total > available ? total - available : 0;
    use->iobench = resident(getpid());
    for (uint32_t i = 0; i < processes->count; i++) {
        if (processes->part[i] < RESULT_PARTS)
            use->part[processes->part[i]] += resident(processes->pid[i]);
        use->charged += (uint32_t)(memory_account_charged("/proc", "/sys/fs/cgroup", processes->pid[i]) / 1024);
    }
}
