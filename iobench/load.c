/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/load.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/units.h"
#include "iobench/workload.h"

/* As in the kernel's linux/mempolicy.h: strictly from the given nodes. */
enum { BIND = 2, NODE_BITS = 1024 };

static int refuse(char why[LOAD_WHY], const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(char why[LOAD_WHY], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, LOAD_WHY, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

int load_parse_cpus(const char *text, uint16_t cpus[LOAD_CPUS], uint32_t *count)
{
    *count = 0;
    while (*text) {
        char *end;
        if (!isdigit((unsigned char)*text))
            return -EINVAL;
        unsigned long low = strtoul(text, &end, 10), high = low;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1]))
                return -EINVAL;
            high = strtoul(end + 1, &end, 10);
        }
        if (low > high || high >= LOAD_CPUS || (*end && *end != ',') || (*end == ',' && !end[1]))
            return -EINVAL;
        for (unsigned long cpu = low; cpu <= high; cpu++) {
            if (*count == LOAD_CPUS)
                return -EINVAL;
            cpus[(*count)++] = (uint16_t)cpu;
        }
        text = *end ? end + 1 : end;
    }
    return *count > 0 ? 0 : -EINVAL;
}

static int take_cpus(struct load *load, const struct result *config, char why[LOAD_WHY])
{
    cpu_set_t allowed;
    if (!config->cpus[0])
        return 0;
    if (load_parse_cpus(config->cpus, load->cpus, &load->cpu_count) < 0)
        return refuse(why, "--cpus '%.64s': not a list such as 0-3,8", config->cpus);
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return 0;
    for (uint32_t i = 0; i < load->cpu_count; i++)
        if (!CPU_ISSET(load->cpus[i], &allowed))
            return refuse(why, "--cpus: there is no CPU %u for this process (see 'nproc', taskset)", load->cpus[i]);
    return 0;
}

static int take_node(struct load *load, const struct result *config, char why[LOAD_WHY])
{
    uint64_t node;
    char path[96], list[4096] = "";
    if (!config->numa_node[0])
        return 0;
    if (units_parse_number(config->numa_node, 0, NODE_BITS - 1, &node) < 0)
        return refuse(why, "--numa-node '%.32s': not a number", config->numa_node);
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%llu/cpulist", (unsigned long long)node);
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    if (!file || !fgets(list, sizeof list, file))
        return refuse(why, "--numa-node %llu: there is no such node (see /sys/devices/system/node)", (unsigned long long)node);
    list[strcspn(list, "\n")] = '\0';
    load->on_node = true;
    load->node = (uint32_t)node;
    if (load->cpu_count == 0 && load_parse_cpus(list, load->cpus, &load->cpu_count) < 0)
        load->cpu_count = 0; /* a node of memory alone */
    return 0;
}

const struct engine *load_engine(const struct result *config, enum test_kind test)
{
    const struct workload *workload = workload_of(test);
    return workload->engine ? workload->engine : engine_find(config->engine);
}

static int check_test(const struct load *load, const struct result *config, enum test_kind test, char why[LOAD_WHY])
{
    const struct workload *workload = workload_of(test);
    const struct engine *engine = load_engine(config, test);
    const char *name = test_kind_name(test);
    if (workload->names) {
        if (load->duration_ns || load->rate_limit || load->depth > 1)
            return refuse(why, "the test %s goes by --files: --duration, --rate and --depth are for tests of data", name);
        return engine->outside_kernel ? refuse(why, "the test %s goes through the mount: not with --engine calf", name) : 0;
    }
    if (config->cache == CACHE_DIRECT && engine->no_direct)
        return refuse(why, "--cache direct: the engine %s (test %s) has no O_DIRECT", engine->name, name);
    if (load->depth > 1 && !engine->submit)
        return refuse(why, "--depth %u: the engine %s (test %s) has one request in flight at a time; libaio has more",
                      load->depth, engine->name, name);
    if (workload->writes && (load->sync == SYNC_DSYNC || load->sync == SYNC_SYNC) && engine->no_dsync)
        return refuse(why, "--sync %s: the engine %s (test %s) cannot%s", sync_mode_name(load->sync), engine->name, name,
                      engine == &engine_mmap ? "; --msync sync does what it means" : "");
    if (config->verify && load->duration_ns && workload->new_files)
        return refuse(why, "--verify with --duration: the test %s may leave a file that is not whole", name);
    if (workload->append && engine->no_append)
        return refuse(why, "the engine %s cannot append", engine->name);
    if (workload->append && load->shared)
        return refuse(why, "the test append with --shared: nobody could say afterwards whose block stands where");
    if (workload->append && (load->duration_ns || load->depth > 1))
        return refuse(why, "the test append goes by --size, one block at a time: not with --duration or --depth");
    return 0;
}

static int check(const struct load *load, const struct result *config, char why[LOAD_WHY])
{
    const struct engine *engine = engine_find(config->engine);
    if (load->warm_up_ns > 0 && load->duration_ns == 0)
        return refuse(why, "--warm-up needs --duration: a run by size has each block once, so nothing to warm up with");
    if (config->msync[0] && engine != &engine_mmap)
        return refuse(why, "--msync is for --engine mmap, not for %s", engine->name);
    if (load->processes && engine->outside_kernel)
        return refuse(why, "--processes: the engine %s has one session, which processes cannot share", engine->name);
    for (uint32_t i = 0; i < config->block_count; i++) {
        uint64_t block = config->block_bytes[i];
        if (load->working_set_bytes && load->working_set_bytes < block)
            return refuse(why, "--working-set is smaller than a block");
        if (load->working_set_bytes > config->file_bytes_by_block[i])
            return refuse(why, "--working-set is larger than a worker's file: give a larger --size");
    }
    for (uint32_t i = 0; i < config->test_count; i++) {
        int rc = check_test(load, config, config->tests[i], why);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int load_init(struct load *load, const struct result *config, char why[LOAD_WHY])
{
    static const char *const words[MSYNC_MODES] = {"end", "async", "sync"};
    *load = (struct load){
        .sync = config->sync,
        .depth = config->queue_depth ? config->queue_depth : 1,
        .rate_limit = config->rate_limit,
        .duration_ns = config->duration_ns,
        .warm_up_ns = config->warm_up_ns,
        .interval_ns = config->interval_ns,
        .working_set_bytes = config->working_set_bytes,
        .read_percent = config->read_percent,
        .stride_blocks = config->stride_blocks ? config->stride_blocks : 1,
        .files_per_worker = config->files_per_worker,
        .shared = config->shared_file,
        .processes = config->processes,
        .replacement = config->replacement,
    };
    for (unsigned i = 0; i < MSYNC_MODES; i++)
        if (strcmp(config->msync, words[i]) == 0)
            load->msync = (enum msync_mode)i;
    int rc = take_cpus(load, config, why);
    if (rc == 0)
        rc = take_node(load, config, why);
    return rc < 0 ? rc : check(load, config, why);
}

int load_place_here(const struct load *load, uint32_t worker)
{
    if (load->cpu_count > 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(load->cpus[worker % load->cpu_count], &one);
        if (sched_setaffinity(0, sizeof one, &one) < 0)
            return -errno;
    }
    if (load->on_node) {
        unsigned long mask[NODE_BITS / (8 * sizeof(long)) + 1] = {0};
        mask[load->node / (8 * sizeof(long))] = 1UL << load->node % (8 * sizeof(long));
        if (syscall(SYS_set_mempolicy, BIND, mask, (unsigned long)NODE_BITS) < 0)
            return -errno;
    }
    return 0;
}
