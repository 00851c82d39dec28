/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "common/units.h"
#include "iobench/table_parts.h"

enum { RATIO_WIDTH = 22 };

static const char *mean_name(const struct compare_mean *mean, char to[TABLE_NAME])
{
    char block[UNITS_TEXT];
    switch (mean->axis) {
    case COMPARE_OVERALL:
        return "overall";
    case COMPARE_BY_TEST:
        return test_kind_name(mean->test);
    case COMPARE_BY_BLOCK:
        (void)snprintf(to, TABLE_NAME, "%s", mean->block_bytes ? units_format_size(mean->block_bytes, block) : "no block");
        return to;
    case COMPARE_BY_THREADS:
        (void)snprintf(to, TABLE_NAME, "%u thread%s", mean->threads, mean->threads == 1 ? "" : "s");
        return to;
    }
    return "";
}

static void text_row(const struct table_page *page, const struct compare_mean *mean, const size_t *arms, size_t count)
{
    char name[TABLE_NAME], text[TABLE_RATIO_CELL];
    struct table_line line = {0};
    table_line_add(&line, "%-12s", mean_name(mean, name));
    for (size_t a = 0; a < count; a++) {
        const struct compare_ratio *ratio = &mean->ratios[arms[a]];
        table_line_add(&line, " %-*s", RATIO_WIDTH,
                       ratio->present ? table_ratio_cell(page, ratio, &ratio->rate, 1, text) : "     -");
    }
    table_row(page, &line);
}

static void text_means(const struct table_page *page, const size_t *arms, size_t count)
{
    const struct comparison *c = page->comparison;
    char name[TABLE_NAME];
    struct table_line line = {0};
    table_line_add(&line, "%12s", "");
    for (size_t a = 0; a < count; a++)
        table_line_add(&line, "  %-*s", RATIO_WIDTH - 1, table_name(page, c->arms[arms[a]].name, RATIO_WIDTH - 1, name));
    table_row(page, &line);
    for (size_t m = 0; m < c->mean_count; m++) {
        if (m > 0 && c->means[m].axis != c->means[m - 1].axis)
            fputc('\n', page->out);
        text_row(page, &c->means[m], arms, count);
    }
}

static void markdown_means(const struct table_page *page, const size_t *arms, size_t count)
{
    const struct comparison *c = page->comparison;
    char name[TABLE_NAME], text[TABLE_RATIO_CELL];
    fputs("| mean over |", page->out);
    for (size_t a = 0; a < count; a++)
        fprintf(page->out, " %s |", table_name(page, c->arms[arms[a]].name, 0, name));
    fputs("\n|---|", page->out);
    for (size_t a = 0; a < count; a++)
        fputs("---|", page->out);
    fputc('\n', page->out);
    for (size_t m = 0; m < c->mean_count; m++) {
        fprintf(page->out, "| %s |", mean_name(&c->means[m], name));
        for (size_t a = 0; a < count; a++) {
            const struct compare_ratio *ratio = &c->means[m].ratios[arms[a]];
            if (ratio->present)
                fprintf(page->out, " `%s` |", table_ratio_cell(page, ratio, &ratio->rate, 1, text));
            else
                fputs(" - |", page->out);
        }
        fputc('\n', page->out);
    }
    fputc('\n', page->out);
}

void table_means_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    size_t next = 0, arms[TABLE_TOGETHER], count;
    bool first = true;
    while ((count = table_candidates(c, &next, arms)) > 0 && c->cell_count > 0) {
        struct table_line line = {0};
        table_line_add(&line, "%s %s, geometric means", table_unit_phrase(page), c->arms[c->baseline].name);
        if (first)
            table_heading(page, line.text);
        else if (!page->style->markdown)
            fputc('\n', page->out);
        first = false;
        if (page->style->markdown)
            markdown_means(page, arms, count);
        else
            text_means(page, arms, count);
    }
}

/* Half of all cells lie within the middle two figures of this. */
static void print_noise_cells(const struct table_page *page, size_t arm)
{
    const struct comparison *c = page->comparison;
    const struct compare_arm *a = &c->arms[arm];
    struct table_line line = {0};
    char low[TABLE_NUMBER], high[TABLE_NUMBER], where_low[TABLE_NAME], where_high[TABLE_NAME];
    size_t called = a->verdicts[VERDICT_SLOWER] + a->verdicts[VERDICT_FASTER], all = 0;
    for (size_t v = 0; v < VERDICTS; v++)
        all += a->verdicts[v];
    if (all == 0)
        return;
    const char *sign = table_ratio_sign(page);
    table_line_add(&line, "Its cells lie from %s%s (%s)", table_ratio(page, c->cells[a->worst].ratios[arm].rate.estimate, 0, low),
                   sign, table_cell_name(&c->cells[a->worst], where_low));
    table_line_add(&line, " to %s%s (%s)", table_ratio(page, c->cells[a->best].ratios[arm].rate.estimate, 0, high), sign,
                   table_cell_name(&c->cells[a->best], where_high));
    if (a->verdicts[VERDICT_NONE] < all)
        table_line_add(&line, "; %zu of %zu are called slower or faster though nothing differs", called, all);
    table_line_add(&line, ". Differences of that size between deployments mean nothing.");
    table_paragraph(page, "", &line);
}

void table_noise_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    for (size_t arm = 0; arm < c->arm_count; arm++) {
        if (!c->arms[arm].noise || c->cell_count == 0)
            continue;
        struct table_line line = {0};
        table_line_add(&line, "Noise floor: %s against itself (%s)", c->arms[c->arms[arm].reference].name, c->arms[arm].name);
        table_heading(page, line.text);
        if (page->style->markdown)
            markdown_means(page, &arm, 1);
        else
            text_means(page, &arm, 1);
        print_noise_cells(page, arm);
    }
}
