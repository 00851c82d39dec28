/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/cluster_control.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "iobench/child_process.h"
#include "iobench/text_print.h"

/* An image may have to be built first. */
#define UP_LIMIT_NS (600 * NS_PER_S)
#define DOWN_LIMIT_NS (120 * NS_PER_S)

const char *cluster_control_script(void)
{
    static char path[PATH_MAX];
    const char *given = getenv("CALF_CLUSTER_SH");
    if (given && given[0])
        return given;
    /* The program is build/MODE/bin/iobench of its tree. */
    static const char within[] = "/docker/cluster.sh";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof within);
    path[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 4; up++) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
    size_t length = strlen(path);
    memcpy(path + length, within, sizeof within);
    return path;
}

static int run(const struct cluster_control *control, const char *command, const char *scenario, bool up)
{
    char chunkservers[24], bytes[24], clients[24];
    text_print(clients, sizeof clients, "%llu", (unsigned long long)control->clients);
    text_print(chunkservers, sizeof chunkservers, "%llu", (unsigned long long)control->chunkservers);
    text_print(bytes, sizeof bytes, "%llu", (unsigned long long)control->chunkserver_bytes);
    const char *words[12];
    int count = 0;
    words[count++] = cluster_control_script();
    words[count++] = command;
    words[count++] = scenario;
    if (strcmp(control->state, CLUSTER_CONTROL_DEFAULT_STATE) != 0) {
        words[count++] = "--state";
        words[count++] = control->state;
    }
    if (up && control->chunkservers > 0) {
        words[count++] = "--chunkservers";
        words[count++] = chunkservers;
    }
    if (up && control->chunkserver_bytes > 0) {
        words[count++] = "--size";
        words[count++] = bytes;
    }
    if (up && control->clients > 0) {
        words[count++] = "--clients";
        words[count++] = clients;
    }
    char *argv[12];
    for (int i = 0; i < count; i++)
        argv[i] = (char *)(uintptr_t)words[i]; /* exec takes them without const and does not write to them */
    argv[count] = NULL;
    return child_process_run(argv, up ? UP_LIMIT_NS : DOWN_LIMIT_NS, up, NULL, 0);
}

int cluster_control_up(const struct cluster_control *control, const char *scenario)
{
    return run(control, "up", scenario, true);
}

int cluster_control_down(const struct cluster_control *control, const char *scenario)
{
    return run(control, "down", scenario, false);
}
