/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/environment.h"

#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/units.h"
#include "iobench/child_process.h"
#include "iobench/environment_disks.h"
#include "iobench/text_print.h"

static void trim(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n\"", text[length - 1]))
        text[--length] = '\0';
    size_t skip = strspn(text, " \t\"");
    memmove(text, text + skip, length - skip + 1);
}

/* The first line of a file, trimmed; empty if it cannot be read. */
static void read_line(const char *path, char *text, size_t room)
{
    text[0] = '\0';
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    if (file && fgets(text, (int)room, file))
        trim(text);
    else
        text[0] = '\0';
}

void environment_boot_id(char *text, size_t room)
{
    read_line("/proc/sys/kernel/random/boot_id", text, room);
}

bool environment_find_value(const char *path, const char *key, char separator, char *value, size_t value_bytes)
{
    value[0] = '\0';
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    SCOPE_FREE char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) >= 0) {
        char *at = strchr(line, separator);
        if (!at)
            continue;
        *at = '\0';
        trim(line);
        if (strcmp(line, key) != 0)
            continue;
        trim(at + 1);
        text_print(value, value_bytes, "%s", at + 1);
        return true;
    }
    return false;
}

static void read_processor(struct result_environment *e)
{
    static const char *const keys[] = {"model name", "Processor", "cpu model", "Hardware"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !e->cpu_model[0]; i++)
        (void)environment_find_value("/proc/cpuinfo", keys[i], ':', e->cpu_model, sizeof e->cpu_model);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    e->cpus = cpus > 0 ? (uint32_t)cpus : 0;
    struct sysinfo info;
    if (sysinfo(&info) == 0)
        e->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
    static const char folder[] = "/sys/devices/system/cpu/";
    char path[128];
    text_print(path, sizeof path, "%scpuidle/current_driver", folder);
    read_line(path, e->cpuidle_driver, sizeof e->cpuidle_driver);
    text_print(path, sizeof path, "%scpuidle/current_governor", folder);
    read_line(path, e->cpuidle_governor, sizeof e->cpuidle_governor);
    if (!e->cpuidle_governor[0]) {
        text_print(path, sizeof path, "%scpuidle/current_governor_ro", folder);
        read_line(path, e->cpuidle_governor, sizeof e->cpuidle_governor);
    }
    text_print(path, sizeof path, "%scpu0/cpufreq/scaling_governor", folder);
    read_line(path, e->frequency_governor, sizeof e->frequency_governor);
}

/* The processor says whether there is a hypervisor, the firmware's tables (where there are any) which one. */
static void read_virtualization(struct result_environment *e)
{
    SCOPE_FREE char *flags = NULL;
    enum { FLAGS_LIMIT = 8192 };
    flags = malloc(FLAGS_LIMIT);
    if (!flags || !environment_find_value("/proc/cpuinfo", "flags", ':', flags, FLAGS_LIMIT))
        return;
    if (!strstr(flags, " hypervisor")) {
        text_print(e->virtualization, sizeof e->virtualization, "none");
        return;
    }
    char vendor[RESULT_NAME], product[RESULT_NAME];
    read_line("/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor);
    read_line("/sys/class/dmi/id/product_name", product, sizeof product);
    if (!vendor[0])
        read_line("/sys/hypervisor/type", vendor, sizeof vendor);
    if (vendor[0] || product[0])
        text_print(e->virtualization, sizeof e->virtualization, "%s%s%s", vendor,
                   vendor[0] && product[0] ? " " : "", product);
    else
        text_print(e->virtualization, sizeof e->virtualization, "hypervisor");
}

static void read_container_runtime(struct result_environment *e)
{
    char *argv[] = {(char[]){"docker"}, (char[]){"version"}, (char[]){"--format"},
                    (char[]){"docker {{.Server.Version}}"}, NULL};
    char output[RESULT_TEXT];
    if (child_process_run(argv, 5 * NS_PER_S, true, output, sizeof output) != 0)
        return;
    trim(output);
    text_print(e->container_runtime, sizeof e->container_runtime, "%s", output);
}

void environment_read(struct result_environment *environment)
{
    memset(environment, 0, sizeof *environment);
    struct utsname name;
    if (uname(&name) == 0) {
        text_print(environment->hostname, sizeof environment->hostname, "%s", name.nodename);
        text_print(environment->kernel, sizeof environment->kernel, "%s %s %s %s", name.sysname, name.release,
                   name.version, name.machine);
    }
    if (!environment_find_value("/etc/os-release", "PRETTY_NAME", '=', environment->os, sizeof environment->os))
        (void)environment_find_value("/usr/lib/os-release", "PRETTY_NAME", '=', environment->os,
                                     sizeof environment->os);
    char text[32];
    uint64_t poll_ns;
    environment->guest_halt_poll_ns = -1;
    read_line("/sys/module/haltpoll/parameters/guest_halt_poll_ns", text, sizeof text);
    if (units_parse_number(text, 0, INT64_MAX, &poll_ns) == 0)
        environment->guest_halt_poll_ns = (int64_t)poll_ns;
    read_processor(environment);
    read_virtualization(environment);
    read_container_runtime(environment);
    environment_caches("/sys", environment->caches, sizeof environment->caches);
    if (!environment->caches[0])
        (void)environment_find_value("/proc/cpuinfo", "cache size", ':', environment->caches, sizeof environment->caches);
    environment_disks("/sys", environment->disks, sizeof environment->disks);
    environment_idle_states("/sys", environment->idle_states, sizeof environment->idle_states);
}

const char *environment_idle_warning(const struct result_environment *environment)
{
    /* The setting is there without its driver, too, and then does nothing. */
    bool polls = strcmp(environment->cpuidle_driver, "haltpoll") == 0 && environment->guest_halt_poll_ns > 0;
    if (!environment->virtualization[0] || strcmp(environment->virtualization, "none") == 0 || polls)
        return NULL;
    return "idle cores of this virtual machine halt, and waking one costs tens of microseconds: small blocks measure "
           "that first (compare only results with the same setting of guest_halt_poll_ns)";
}
