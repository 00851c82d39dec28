/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>

#include "iobench/table_parts.h"

#define GIB_BYTES 1073741824.0

enum { COLUMNS_LIMIT = 6 };

/* Of one arm, over its good samples. */
struct use {
    double gib, part_s[RESULT_PARTS], workers_s, unattributed_s; /* sums; seconds in whole nanoseconds */
    double memory[COLUMNS_LIMIT];                                /* the largest, in KiB: the parts, charged, iobench */
    uint32_t instances;
    double spread_log; /* sum of log(slowest / fastest) */
    double spread_least;
    size_t spread_count;
};

static double whole(double seconds)
{
    return (double)llround(seconds * 1e9) / 1e9;
}

static void add_instances(struct use *use, const struct instance_rates *rates)
{
    if (rates->count < 2 || rates->slowest_permille == 0)
        return;
    double ratio = (double)rates->slowest_permille / 1000;
    use->instances = rates->count > use->instances ? rates->count : use->instances;
    use->spread_log += log(ratio);
    use->spread_least = use->spread_count == 0 || ratio < use->spread_least ? ratio : use->spread_least;
    use->spread_count++;
}

static void add_up(const struct compare_arm *arm, struct use *use)
{
    *use = (struct use){0};
    for (size_t i = 0; i < arm->result->sample_count; i++) {
        const struct sample *s = &arm->result->samples[i];
        if (s->scenario != arm->scenario || s->failed || s->mark[0])
            continue;
        const uint32_t memory[] = {s->memory.part[RESULT_PART_MASTER], s->memory.part[RESULT_PART_CHUNKSERVERS],
                                   s->memory.part[RESULT_PART_CLIENTS], s->memory.charged, s->memory.iobench};
        for (unsigned m = 0; m < sizeof memory / sizeof memory[0]; m++)
            use->memory[m] = fmax(use->memory[m], (double)memory[m]);
        add_instances(use, &s->instances);
        if (s->bytes == 0)
            continue;
        use->gib += (double)s->bytes / GIB_BYTES;
        use->workers_s += whole(s->cpu.workers_s);
        use->unattributed_s += whole(s->cpu.unattributed_s);
        for (unsigned p = 0; p < RESULT_PARTS; p++)
            use->part_s[p] += whole(s->cpu.part_s[p]);
    }
}

static bool knows_parts(const struct use *use)
{
    return use->gib > 0 && use->part_s[RESULT_PART_MASTER] + use->part_s[RESULT_PART_CHUNKSERVERS] +
                               use->part_s[RESULT_PART_CLIENTS] > 0;
}

static void print_header(const struct table_page *page, const char *const *names, size_t count)
{
    bool markdown = page->style->markdown;
    fprintf(page->out, markdown ? "| |" : "%-20s", "");
    for (size_t i = 0; i < count; i++)
        fprintf(page->out, markdown ? " %s |" : "%13s", names[i]);
    fputs(markdown ? "\n|---|" : "\n", page->out);
    for (size_t i = 0; markdown && i < count; i++)
        fputs("---:|", page->out);
    if (markdown)
        fputc('\n', page->out);
}

static void print_row(const struct table_page *page, size_t arm, const double *values, size_t count, int digits)
{
    bool markdown = page->style->markdown;
    char name[TABLE_NAME];
    fprintf(page->out, markdown ? "| %s |" : "%-20s",
            table_name(page, page->comparison->arms[arm].name, markdown ? 0 : 19, name));
    for (size_t i = 0; i < count; i++)
        fprintf(page->out, markdown ? " %.*f |" : "%13.*f", digits, values[i]);
    fputc('\n', page->out);
}

static void print_cpu(const struct table_page *page)
{
    static const char *const names[] = {"iobench", "clients", "chunkservers", "master", "rest"};
    struct table_line line = {0};
    bool begun = false;
    for (size_t arm = 0; arm < page->comparison->arm_count; arm++) {
        struct use use;
        add_up(&page->comparison->arms[arm], &use);
        if (!knows_parts(&use))
            continue;
        if (!begun) {
            table_heading(page, "Who used it: CPU seconds per GiB");
            table_line_add(&line, "All bytes of all cells together. rest: the machine's busy time that belongs to none of them: soft "
                                  "interrupts, virtual network, proxies, kernel threads.");
            table_paragraph(page, "", &line);
            print_header(page, names, 5);
        }
        begun = true;
        const double values[] = {use.workers_s / use.gib, use.part_s[RESULT_PART_CLIENTS] / use.gib,
                                 use.part_s[RESULT_PART_CHUNKSERVERS] / use.gib, use.part_s[RESULT_PART_MASTER] / use.gib,
                                 use.unattributed_s / use.gib};
        print_row(page, arm, values, 5, 2);
    }
    if (begun)
        fputc('\n', page->out);
}

static void print_memory(const struct table_page *page)
{
    static const char *const names[] = {"clients", "chunkservers", "master", "charged"};
    struct table_line line = {0};
    bool begun = false;
    for (size_t arm = 0; arm < page->comparison->arm_count; arm++) {
        struct use use;
        add_up(&page->comparison->arms[arm], &use);
        if (use.memory[0] + use.memory[1] + use.memory[2] <= 0)
            continue;
        if (!begun) {
            table_heading(page, "Memory of the parts, MiB");
            table_line_add(&line, "The largest at the end of a cell: resident, RAM disks left out; charged: what the memory cgroups of "
                                  "containers and limited parts count, RAM disks and page cache included (0: they have none).");
            table_paragraph(page, "", &line);
            print_header(page, names, 4);
        }
        begun = true;
        const double values[] = {use.memory[2] / 1024, use.memory[1] / 1024, use.memory[0] / 1024, use.memory[3] / 1024};
        print_row(page, arm, values, 4, 1);
    }
    if (begun)
        fputc('\n', page->out);
}

static void print_instances(const struct table_page *page)
{
    for (size_t arm = 0; arm < page->comparison->arm_count; arm++) {
        const struct compare_arm *a = &page->comparison->arms[arm];
        struct table_line line = {0};
        struct use use;
        add_up(a, &use);
        if (use.spread_count == 0)
            continue;
        table_line_add(&line, "%s: up to %u %s at once; the slowest reached %.0f%% of the fastest (geometric mean over the cells, at "
                       "worst %.0f%%). Rates are those of all together.", a->name, use.instances,
                       a->result->workers[0] ? "machines (or containers)" : "mounts",
                       100 * exp(use.spread_log / (double)use.spread_count), 100 * use.spread_least);
        table_paragraph(page, page->style->markdown ? "" : "  ", &line);
    }
}

void table_use_print(const struct table_page *page)
{
    print_cpu(page);
    print_memory(page);
    print_instances(page);
}
