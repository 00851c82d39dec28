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
    table_rate(series->rate_median, rate);
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
            bool random = tests[t] == TEST_RANDOM_WRITE || tests[t] == TEST_RANDOM_READ;
            bool write = tests[t] == TEST_WRITE || tests[t] == TEST_RANDOM_WRITE;
            table_line_add(&upper, "%*s", width, cpu ? test_kind_name(tests[t]) : random ? "random-" : "");
            if (cpu)
                table_line_add(&lower, "%8s%7s", "MB/s", "s/GiB");
            else
                table_line_add(&lower, "%8s", write ? "write" : "read");
        }
    }
    table_row(page, &names);
    table_row(page, &upper);
    table_row(page, &lower);
}

static void text_panel(const struct table_page *page, size_t first, size_t last)
{
    const struct comparison *c = page->comparison;
    enum test_kind tests[TEST_KINDS];
    size_t count = table_grid_tests(c, tests);
    text_header(page, first, last, tests, count);
    for (const struct compare_cell *row = table_grid_next_row(c, NULL); row; row = table_grid_next_row(c, row)) {
        char block[UNITS_TEXT], rate[TABLE_NUMBER], cpu[TABLE_NUMBER];
        struct table_line line = {0};
        table_line_add(&line, "%5s %3u ", units_format_size(row->block_bytes, block), row->threads);
        for (size_t arm = first; arm < last; arm++)
            for (size_t t = 0; t < count; t++) {
                cell_texts(table_grid_cell(c, tests[t], row), arm, rate, cpu);
                table_line_add(&line, c->cpu_known ? "%8s%7s" : "%8s%s", rate, c->cpu_known ? cpu : "");
            }
        table_row(page, &line);
    }
}

static void markdown_panel(const struct table_page *page, size_t arm)
{
    const struct comparison *c = page->comparison;
    enum test_kind tests[TEST_KINDS];
    size_t count = table_grid_tests(c, tests);
    char name[TABLE_NAME];
    fprintf(page->out, "**%s**\n\n| block | threads |", table_name(page, c->arms[arm].name, 0, name));
    for (size_t t = 0; t < count; t++)
        fprintf(page->out, c->cpu_known ? " %s MB/s | s/GiB |" : " %s MB/s |", test_kind_name(tests[t]));
    fputs("\n|---:|---:|", page->out);
    for (size_t t = 0; t < count; t++)
        fputs(c->cpu_known ? "---:|---:|" : "---:|", page->out);
    fputc('\n', page->out);
    for (const struct compare_cell *row = table_grid_next_row(c, NULL); row; row = table_grid_next_row(c, row)) {
        char block[UNITS_TEXT], rate[TABLE_NUMBER], cpu[TABLE_NUMBER];
        fprintf(page->out, "| %s | %u |", units_format_size(row->block_bytes, block), row->threads);
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
    table_line_add(&line, "MB/s = 10^6 bytes a second, median over the rounds.");
    if (c->cpu_known)
        table_line_add(&line, " s/GiB = CPU seconds of the whole machine for each 2^30 bytes, likewise.");
    table_paragraph(page, "", &line);
    size_t together = page->style->markdown || c->cpu_known ? 1 : 2;
    for (size_t arm = 0; arm < c->arm_count; arm += together) {
        if (page->style->markdown)
            markdown_panel(page, arm);
        else
            text_panel(page, arm, arm + together < c->arm_count ? arm + together : c->arm_count);
    }
}
