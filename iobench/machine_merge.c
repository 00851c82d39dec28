/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/machine_merge.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/scope.h"
#include "iobench/text_print.h"

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void raise_s(double *to, double value)
{
    *to = value > *to ? value : *to;
}

static void raise_u64(uint64_t *to, uint64_t value)
{
    *to = value > *to ? value : *to;
}

static void add_moved(struct sample *to, const struct sample *from)
{
    to->bytes += from->bytes;
    to->operations += from->operations;
    to->read_operations += from->read_operations;
    to->warm_up_bytes += from->warm_up_bytes;
    to->elapsed_ns = longer(to->elapsed_ns, from->elapsed_ns);
    to->flush_ns = longer(to->flush_ns, from->flush_ns);
    to->fsync_ns = longer(to->fsync_ns, from->fsync_ns);
    to->close_ns = longer(to->close_ns, from->close_ns);
    if (!to->mark[0])
        text_print(to->mark, sizeof to->mark, "%s", from->mark);
    if (to->start_wall_ns == 0 || from->start_wall_ns < to->start_wall_ns)
        to->start_wall_ns = from->start_wall_ns;
}

static void merge_first_done(const struct machine_part *parts, uint32_t count, struct sample *to)
{
    int64_t first = parts[0].sample->first_done_ns;
    for (uint32_t i = 1; i < count; i++)
        first = parts[i].sample->first_done_ns < first ? parts[i].sample->first_done_ns : first;
    to->first_done_ns = first;
    to->first_done_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sample *s = parts[i].sample;
        double share = s->first_done_ns > 0 ? (double)first / (double)s->first_done_ns : 1;
        to->first_done_bytes += (uint64_t)((double)s->first_done_bytes * share);
    }
}

static double rate_of(const struct sample *s)
{
    uint64_t moved = test_kind_counts_operations(s->test) ? s->operations : s->bytes;
    return s->elapsed_ns > 0 ? (double)moved * 1e9 / (double)s->elapsed_ns : 0;
}

static void merge_rates(const struct machine_part *parts, uint32_t count, struct sample *to)
{
    double workers = 0, worker_sum = 0, machine_sum = 0, slowest = 0, fastest = 0;
    struct worker_rates *all = &to->worker_rates, *machines = &to->machine_rates;
    *all = (struct worker_rates){.min = UINT64_MAX};
    for (uint32_t i = 0; i < count; i++) {
        const struct sample *s = parts[i].sample;
        double rate = rate_of(s);
        all->min = s->worker_rates.min < all->min ? s->worker_rates.min : all->min;
        raise_u64(&all->max, s->worker_rates.max);
        workers += s->threads;
        worker_sum += (double)s->worker_rates.mean * s->threads;
        machine_sum += rate;
        slowest = i == 0 || rate < slowest ? rate : slowest;
        fastest = rate > fastest ? rate : fastest;
    }
    all->mean = (uint64_t)(worker_sum / workers);
    if (workers > 2)
        all->mean_inner = (uint64_t)((worker_sum - (double)all->min - (double)all->max) / (workers - 2));
    *machines = (struct worker_rates){(uint64_t)slowest, (uint64_t)(machine_sum / count), (uint64_t)fastest, 0};
    if (count > 2)
        machines->mean_inner = (uint64_t)((machine_sum - slowest - fastest) / (count - 2));
    to->instances.count = count > 1 ? count : 0;
    to->instances.slowest_permille = count > 1 && fastest > 0 ? (uint32_t)(1000 * slowest / fastest) : 0;
}

/* The first part of each machine; the others on it raise its figures, since their windows differ a little. */
static uint32_t machine_of(const struct machine_part *parts, uint32_t part)
{
    for (uint32_t i = 0; i < part; i++)
        if (parts[i].boot_id[0] && strcmp(parts[i].boot_id, parts[part].boot_id) == 0)
            return i;
    return part;
}

static void merge_machines(const struct machine_part *parts, uint32_t count, struct sample *to)
{
    struct cpu_use cpu[MACHINE_LIMIT] = {0};
    struct pressure pressure[MACHINE_LIMIT] = {0};
    uint32_t memory[MACHINE_LIMIT] = {0};
    to->cpu = (struct cpu_use){0};
    to->memory = (struct memory_use){0};
    to->pressure = (struct pressure){0};
    for (uint32_t i = 0; i < count; i++) {
        const struct sample *s = parts[i].sample;
        uint32_t at = machine_of(parts, i);
        raise_s(&cpu[at].machine_busy_s, s->cpu.machine_busy_s);
        raise_s(&cpu[at].steal_s, s->cpu.steal_s);
        raise_s(&cpu[at].cluster_s, s->cpu.cluster_s);
        raise_u64(&pressure[at].cpu_ns, s->pressure.cpu_ns);
        raise_u64(&pressure[at].io_ns, s->pressure.io_ns);
        raise_u64(&pressure[at].memory_ns, s->pressure.memory_ns);
        memory[at] = s->memory.machine > memory[at] ? s->memory.machine : memory[at];
        to->cpu.workers_s += s->cpu.workers_s;
        to->memory.iobench += s->memory.iobench;
        for (unsigned part = 0; part < RESULT_PARTS; part++) {
            raise_s(&cpu[at].part_s[part], s->cpu.part_s[part]);
            to->memory.part[part] = s->memory.part[part] > to->memory.part[part] ? s->memory.part[part] : to->memory.part[part];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        to->cpu.machine_busy_s += cpu[i].machine_busy_s;
        to->cpu.steal_s += cpu[i].steal_s;
        to->cpu.cluster_s += cpu[i].cluster_s;
        for (unsigned part = 0; part < RESULT_PARTS; part++)
            to->cpu.part_s[part] += cpu[i].part_s[part];
        to->pressure.cpu_ns += pressure[i].cpu_ns;
        to->pressure.io_ns += pressure[i].io_ns;
        to->pressure.memory_ns += pressure[i].memory_ns;
        to->memory.machine += memory[i];
    }
    to->cpu.unattributed_s = to->cpu.machine_busy_s - to->cpu.workers_s - to->cpu.cluster_s;
}

/* Operations of a series up to a moment, evenly spread within each piece. */
static double operations_until(const struct sample *s, int64_t ns)
{
    double sum = 0;
    int64_t begin = 0;
    for (uint32_t i = 0; i < s->interval_count; i++) {
        const struct sample_interval *piece = &s->intervals[i];
        if (ns < piece->end_ns)
            return ns > begin ? sum + (double)piece->operations * (double)(ns - begin) / (double)(piece->end_ns - begin) : sum;
        sum += (double)piece->operations;
        begin = piece->end_ns;
    }
    return sum;
}

/* On the pieces of the one that ran longest. Where one has no series, there is none. */
static void merge_series(const struct machine_part *parts, uint32_t count, struct sample *to)
{
    const struct sample *longest = parts[0].sample;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].sample->interval_count == 0)
            return;
        longest = parts[i].sample->elapsed_ns > longest->elapsed_ns ? parts[i].sample : longest;
    }
    struct sample copy;
    uint64_t before = 0;
    sample_copy(&copy, longest);
    for (uint32_t k = 0; k < copy.interval_count; k++) {
        double until = 0;
        for (uint32_t i = 0; i < count; i++)
            until += operations_until(parts[i].sample, copy.intervals[k].end_ns);
        uint64_t whole = k + 1 == copy.interval_count ? to->operations : (uint64_t)until;
        copy.intervals[k].operations = whole > before ? whole - before : 0;
        before = whole > before ? whole : before;
    }
    to->intervals = copy.intervals;
    to->interval_count = copy.interval_count;
}

void machine_merge(const struct machine_part *parts, uint32_t count, struct sample *sample)
{
    CHECK(count >= 1 && count <= MACHINE_LIMIT);
    SCOPE_FREE struct histogram *latency = check_alloc(malloc(sizeof *latency));
    histogram_init(latency);
    sample->start_wall_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        add_moved(sample, parts[i].sample);
        histogram_merge(latency, parts[i].latency);
    }
    histogram_summarize(latency, &sample->latency);
    merge_first_done(parts, count, sample);
    merge_rates(parts, count, sample);
    merge_machines(parts, count, sample);
    merge_series(parts, count, sample);
}
