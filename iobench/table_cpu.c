/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "iobench/table_parts.h"

/* Nanoseconds of CPU time of a deployment, over all good samples. */
struct cpu_sums {
    double machine, workers, cluster, unattributed, steal;
};

static struct cpu_sums sum_up(const struct compare_arm *arm)
{
    struct cpu_sums sums = {0};
    for (size_t i = 0; i < arm->result->sample_count; i++) {
        const struct sample *s = &arm->result->samples[i];
        if (s->scenario != arm->scenario || s->failed || s->mark[0])
            continue;
        /* Whole nanoseconds, as in results.json, so that the sums are the same before and after writing. */
        sums.machine += (double)llround(s->cpu.machine_busy_s * 1e9);
        sums.workers += (double)llround(s->cpu.workers_s * 1e9);
        sums.cluster += (double)llround(s->cpu.cluster_s * 1e9);
        sums.unattributed += (double)llround(s->cpu.unattributed_s * 1e9);
        sums.steal += (double)llround(s->cpu.steal_s * 1e9);
    }
    return sums;
}

/* So many means stand side by side: overall and four tests. */
enum { COLUMNS = 5 };

/* The geometric means: overall and by test; they stand first in the list. Tests of names move no bytes to count by. */
static size_t columns(const struct comparison *c)
{
    size_t count = 0;
    while (count < c->mean_count && c->means[count].axis <= COMPARE_BY_TEST &&
           (count == 0 || !test_kind_counts_operations(c->means[count].test)))
        count++;
    return count;
}

static const char *column_name(const struct compare_mean *mean)
{
    return mean->axis == COMPARE_OVERALL ? "overall" : test_kind_short_name(mean->test);
}

/* Columns from..to-1; the ratio stands in the first grid. */
static void print_header(const struct table_page *page, size_t from, size_t to)
{
    const struct comparison *c = page->comparison;
    bool markdown = page->style->markdown;
    fprintf(page->out, markdown ? "|%s|" : "%-20s", "");
    for (size_t m = from; m < to; m++)
        fprintf(page->out, markdown ? " %s |" : "%8s", column_name(&c->means[m]));
    if (from == 0)
        fprintf(page->out, markdown ? " %s |" : "  %s", "of the baseline");
    fputs(markdown ? "\n|---|" : "\n", page->out);
    for (size_t m = from; markdown && m < to; m++)
        fputs("---:|", page->out);
    if (markdown)
        fputs(from == 0 ? "---|\n" : "\n", page->out);
}

static void print_row(const struct table_page *page, size_t arm, size_t from, size_t to)
{
    const struct comparison *c = page->comparison;
    bool markdown = page->style->markdown;
    char name[TABLE_NAME], number[TABLE_NUMBER], text[TABLE_RATIO_CELL] = "";
    fprintf(page->out, markdown ? "| %s |" : "%-20s", table_name(page, c->arms[arm].name, markdown ? 0 : 19, name));
    for (size_t m = from; m < to; m++) {
        double cpu = c->means[m].cpu[arm];
        fprintf(page->out, markdown ? " %s |" : "%8s", cpu > 0 ? table_seconds(cpu, number) : "-");
    }
    const struct compare_ratio *ratio = &c->means[0].ratios[arm];
    if (from > 0) {
        fputc('\n', page->out);
        return;
    }
    if (ratio->cpu_present)
        table_ratio_cell(page, ratio, &ratio->cpu, 0, text);
    if (markdown)
        fprintf(page->out, *text ? " `%s` |\n" : "%s |\n", text);
    else
        fprintf(page->out, *text ? " %s\n" : "%s\n", text);
}

static void print_shares(const struct table_page *page, size_t arm)
{
    const struct compare_arm *a = &page->comparison->arms[arm];
    struct cpu_sums sums = sum_up(a);
    struct table_line line = {0};
    if (sums.machine <= 0)
        return;
    table_line_add(&line, "%s: of the machine's busy time %.0f%% in iobench's workers, %.0f%% in the cluster's processes, %.0f%% "
                   "unattributed (soft interrupts, virtual network)", a->name, 100 * sums.workers / sums.machine,
                   100 * sums.cluster / sums.machine, 100 * sums.unattributed / sums.machine);
    if (sums.steal > 0.01 * sums.machine)
        table_line_add(&line, "; besides, the hypervisor took %.0f%% as much", 100 * sums.steal / sums.machine);
    table_line_add(&line, ".");
    table_paragraph(page, page->style->markdown ? "" : "  ", &line);
}

void table_cpu_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    if (!c->cpu_known)
        return;
    size_t count = columns(c);
    struct table_line line = {0};
    table_heading(page, "CPU seconds per GiB, geometric means");
    table_line_add(&line, "Busy time of the whole machine while a cell ran. rnd-wr, rnd-rd: random-write, random-read. The last "
                          "column is overall; above 100%% a deployment needs more CPU time for the same bytes.");
    if (page->style->unit == TABLE_PERCENT)
        table_paragraph(page, "", &line);
    for (size_t from = 0; from < count; from += COLUMNS) {
        size_t to = count - from < COLUMNS ? count : from + COLUMNS;
        print_header(page, from, to);
        for (size_t arm = 0; arm < c->arm_count; arm++)
            print_row(page, arm, from, to);
        fputc('\n', page->out);
    }
    for (size_t arm = 0; arm < c->arm_count; arm++)
        print_shares(page, arm);
}
