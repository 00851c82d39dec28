/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/served_check.h"

#include "common/units.h"
#include "iobench/load.h"
#include "iobench/workload.h"

/* What the kernel and a client may read beyond the end of what was asked, per worker. */
#define READ_AHEAD_ALLOWANCE (4 * MIB)
#define PAGE 4096

/* Counters of several servers are not read at one instant. */
static const double read_share = 0.95, write_share = 0.99;

struct moved {
    double read_bytes, read_operations, write_bytes, write_operations;
};

static struct moved moved_of(const struct sample *sample, const struct workload *workload)
{
    double bytes = (double)(sample->bytes + sample->warm_up_bytes), operations = (double)sample->operations;
    double all = sample->bytes ? operations * bytes / (double)sample->bytes : 0;
    double share = workload->reads ? 1 : 0;
    if (workload->reads && workload->writes && sample->operations)
        share = (double)sample->read_operations / operations;
    return (struct moved){bytes * share, all * share, bytes * (1 - share), all * (1 - share)};
}

/* Every block once: what the page cache holds of it does not matter. */
static bool visits_once(const struct result *config, const struct workload *workload)
{
    return !config->duration_ns && !config->working_set_bytes && !(workload->reads && workload->writes) &&
           !workload->read_before && workload->order != ACCESS_SAME &&
           !(workload->order == ACCESS_RANDOM_ONCE && config->replacement);
}

static const char *check_reads(const struct sample *sample, const struct moved *moved, bool bypass, bool once,
                               enum access_order order)
{
    double served = (double)sample->served_read_bytes;
    if ((bypass || once) && served < read_share * moved->read_bytes)
        return "served-bytes";
    /* A page is the least that a page cache reads; around strided blocks it may read as much as it likes. */
    double blow_up = sample->block_bytes && sample->block_bytes < PAGE ? PAGE / (double)sample->block_bytes : 1;
    double most = 2 * moved->read_bytes * blow_up + (double)(READ_AHEAD_ALLOWANCE * sample->threads);
    if (order != ACCESS_STRIDE && served > most)
        return "served-bytes";
    return bypass && (double)sample->served_read_requests < read_share * moved->read_operations ? "served-requests" : "";
}

static const char *check_writes(const struct sample *sample, const struct moved *moved, bool bypass, bool once, uint64_t copies)
{
    if ((bypass || once) && (double)sample->served_write_bytes < write_share * moved->write_bytes * (double)copies)
        return "served-bytes";
    return bypass && (double)sample->served_write_requests < read_share * moved->write_operations ? "served-requests" : "";
}

static bool passes_by(const struct sample *sample, const struct result *config)
{
    const struct engine *engine = load_engine(config, sample->test);
    return config->cache == CACHE_DIRECT || (engine && engine->outside_kernel);
}

const char *served_check_calls(const struct sample *sample, const struct result *config)
{
    if (config->cache == CACHE_WARM || workload_of(sample->test)->names || !passes_by(sample, config))
        return "";
    return (double)sample->server_calls < read_share * (double)sample->operations ? "served-requests" : "";
}

const char *served_check_mark(const struct sample *sample, const struct result *config, uint64_t copies)
{
    const struct workload *workload = workload_of(sample->test);
    if (!sample->served_known || config->cache == CACHE_WARM || workload->names || sample->operations == 0)
        return "";
    struct moved moved = moved_of(sample, workload);
    bool bypass = passes_by(sample, config);
    bool once = visits_once(config, workload);
    const char *mark = workload->reads ? check_reads(sample, &moved, bypass, once, workload->order) : "";
    if (mark[0] || !workload->writes)
        return mark;
    return check_writes(sample, &moved, bypass, once && config->sync != SYNC_NONE, copies);
}
