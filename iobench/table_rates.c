/* SPDX-License-Identifier: Apache-2.0 */
#include "common/units.h"
#include "iobench/table_grid.h"
#include "iobench/table_parts.h"

/* Rows are block size x threads, columns the four tests for each deployment, as in the article that started this. */

static void cell_texts(const struct compare_cell *cell, size_t arm, char rate[TABLE_NUMBER], char cpu[TABLE_NUMBER])
{
    const struct compare_series *series = cell ? &cell->series[arm] : NULL;
    const char *state = table_state(series ? series->state : COMPARE_MISSING);
    (void)snprintf(cpu, TABLE_NUMBER, "%s", "");
    if (state) {
        (void)snprintf(rate, TABLE_NUMBER, "%s", state);
        return;
    }
    table_rate(test_kind_counts_operations(cell->test) ? series->rate_median * 1e6 : series->rate_median, rate);
    if (series->cpu_known)
        table_seconds(series->cpu_median, cpu);
}

/* Three lines: deployments, tests, units; or, narrow, without CPU: deployments and the tests in two lines. */
static void text_header(const struct table_page *page, size_t first, size_t last, const enum test_kind *tests, size_t count)
{
    const struct comparison *c = page->comparison;
    bool cpu = c->cpu_known;
    int width = cpu ? 15 : 8, all = width * (int)count;
    char name[TABLE_NAME];
    struct table_line names = {0}, upper = {0}, lower = {0};
    table_line_add(&names, "\n%10s", "");
    table_line_add(&upper, "%10s", "");
    table_line_add(&lower, "block thr ");
    for (size_t arm = first; arm < last; arm++) {
        table_line_add(&names, "  %-*s", all - 2, table_name(page, c->arms[arm].name, (size_t)all - 2, name));
        for (size_t t = 0; t < count; t++) {
            bool operations = test_kind_counts_operations(tests[t]);
            table_line_add(&upper, "%*s", width, cpu ? test_kind_name(tests[t]) : test_kind_upper_label(tests[t]));
            if (cpu)
                table_line_add(&lower, "%8s%7s", operations ? "op/s" : "MB/s", operations ? "" : "s/GiB");
            else
                table_line_add(&lower, "%8s", test_kind_lower_label(tests[t]));
        }
    }
    table_row(page, &names);
    table_row(page, &upper);
    table_row(page, &lower);
}

static void text_panel(const struct table_page *page, size_t first, size_t last, const enum test_kind *tests, size_t count)
{
    const struct comparison *c = page->comparison;
    text_header(page, first, last, tests, count);
    for (const struct compare_cell *row = table_grid_next_row(c, NULL); row; row = table_grid_next_row(c, row)) {
        char block[UNITS_TEXT], rate[TABLE_NUMBER], cpu[TABLE_NUMBER];
        struct table_line line = {0};
        if (!table_grid_row_has(c, row, tests, count))
            continue;
        table_line_add(&line, "%5s %3u ", table_grid_block(row->block_bytes, block), row->threads);
        for (size_t arm = first; arm < last; arm++)
            for (size_t t = 0; t < count; t++) {
                cell_texts(table_grid_cell(c, tests[t], row), arm, rate, cpu);
                table_line_add(&line, c->cpu_known ? "%8s%7s" : "%8s%s", rate, c->cpu_known ? cpu : "");
            }
        table_row(page, &line);
    }
}

static void markdown_panel(const struct table_page *page, size_t arm, const enum test_kind *tests, size_t count)
{
    const struct comparison *c = page->comparison;
    char name[TABLE_NAME];
    fprintf(page->out, "**%s**\n\n| block | threads |", table_name(page, c->arms[arm].name, 0, name));
    for (size_t t = 0; t < count; t++)
        fprintf(page->out, c->cpu_known ? " %s %s | s/GiB |" : " %s %s |", test_kind_name(tests[t]),
                test_kind_counts_operations(tests[t]) ? "op/s" : "MB/s");
    fputs("\n|---:|---:|", page->out);
    for (size_t t = 0; t < count; t++)
        fputs(c->cpu_known ? "---:|---:|" : "---:|", page->out);
    fputc('\n', page->out);
    for (const struct compare_cell *row = table_grid_next_row(c, NULL); row; row = table_grid_next_row(c, row)) {
        char block[UNITS_TEXT], rate[TABLE_NUMBER], cpu[TABLE_NUMBER];
        if (!table_grid_row_has(c, row, tests, count))
            continue;
        fprintf(page->out, "| %s | %u |", table_grid_block(row->block_bytes, block), row->threads);
        for (size_t t = 0; t < count; t++) {
            cell_texts(table_grid_cell(c, tests[t], row), arm, rate, cpu);
            fprintf(page->out, " %s |", rate);
            if (c->cpu_known)
                fprintf(page->out, " %s |", cpu);
        }
        fputc('\n', page->out);
    }
    fputc('\n', page->out);
}

void table_rates_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    struct table_line line = {0};
    table_heading(page, "Rates");
    if (c->cell_count == 0) {
        table_line_add(&line, "No samples.");
        table_paragraph(page, "", &line);
        return;
    }
    enum test_kind tests[TEST_KINDS];
    size_t test_count = table_grid_tests(c, tests);
    bool operations = false;
    for (size_t t = 0; t < test_count; t++)
        operations = operations || test_kind_counts_operations(tests[t]);
    table_line_add(&line, "MB/s = 10^6 bytes a second, %smedian over the rounds.", operations ? "op/s = operations a second, " : "");
    if (c->cpu_known)
        table_line_add(&line, " s/GiB = CPU seconds of the whole machine for each 2^30 bytes, likewise.");
    table_paragraph(page, "", &line);
    size_t together = page->style->markdown || c->cpu_known ? 1 : 2;
    for (size_t t = 0; t < test_count; t += TABLE_GRID_TESTS) {
        size_t count = test_count - t < TABLE_GRID_TESTS ? test_count - t : TABLE_GRID_TESTS;
        for (size_t arm = 0; arm < c->arm_count; arm += together) {
            size_t last = arm + together < c->arm_count ? arm + together : c->arm_count;
            if (page->style->markdown)
                markdown_panel(page, arm, tests + t, count);
            else
                text_panel(page, arm, last, tests + t, count);
        }
    }
}
