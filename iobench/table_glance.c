/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "iobench/table_grid.h"
#include "iobench/table_parts.h"

/* Two deployments of four tests stand side by side. */
enum { TOGETHER = 2, WIDTH = 8 };

/* " 57.0-*", "failed", "-". */
static void glance_text(const struct table_page *page, const struct compare_cell *cell, size_t arm, char to[TABLE_NUMBER])
{
    const struct compare_ratio *ratio = cell ? &cell->ratios[arm] : NULL;
    char number[TABLE_NUMBER];
    if (ratio && ratio->present) {
        (void)snprintf(to, TABLE_NUMBER, "%6.12s%c%c", table_ratio(page, ratio->rate.estimate, 0, number),
                       table_verdict_mark(ratio->verdict), ratio->survives ? '*' : ' ');
        return;
    }
    const char *state = table_state(ratio ? ratio->state : COMPARE_MISSING);
    (void)snprintf(to, TABLE_NUMBER, "  %-6s", state ? state : "-");
}

/* Its length without the spaces at the end. */
static int trimmed(const char *text)
{
    int length = (int)strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

static void text_header(const struct table_page *page, const size_t *arms, size_t count, const enum test_kind *tests,
                        size_t test_count)
{
    struct table_line names = {0}, upper = {0}, lower = {0};
    int all = WIDTH * (int)test_count;
    char name[TABLE_NAME];
    table_line_add(&names, "\n%9s", "");
    table_line_add(&upper, "%9s", "");
    table_line_add(&lower, "block thr");
    for (size_t a = 0; a < count; a++) {
        const char *arm = page->comparison->arms[arms[a]].name;
        table_line_add(&names, "  %-*s", all - 2, table_name(page, arm, (size_t)all - 2, name));
        for (size_t t = 0; t < test_count; t++) {
            table_line_add(&upper, " %-7s", test_kind_upper_label(tests[t]));
            table_line_add(&lower, "  %-6s", test_kind_lower_label(tests[t]));
        }
    }
    table_row(page, &names);
    table_row(page, &upper);
    table_row(page, &lower);
}

static void text_grid(const struct table_page *page, const size_t *arms, size_t count, const enum test_kind *tests,
                      size_t test_count)
{
    const struct comparison *c = page->comparison;
    text_header(page, arms, count, tests, test_count);
    for (const struct compare_cell *row = table_grid_next_row(c, NULL); row; row = table_grid_next_row(c, row)) {
        struct table_line line = {0};
        char block[UNITS_TEXT], text[TABLE_NUMBER];
        if (!table_grid_row_has(c, row, tests, test_count))
            continue;
        table_line_add(&line, "%5s %3u", table_grid_block(row->block_bytes, block), row->threads);
        for (size_t a = 0; a < count; a++)
            for (size_t t = 0; t < test_count; t++) {
                const struct compare_cell *cell = table_grid_cell(c, tests[t], row);
                glance_text(page, cell, arms[a], text);
                if (cell && cell->ratios[arms[a]].present)
                    table_color_add(page, &line, cell->ratios[arms[a]].rate.estimate, text);
                else
                    table_line_add(&line, "%s", text);
            }
        table_row(page, &line);
    }
}

static void text_panel(const struct table_page *page, const size_t *arms, size_t count)
{
    enum test_kind tests[TEST_KINDS];
    size_t test_count = table_grid_tests(page->comparison, tests);
    for (size_t t = 0; t < test_count; t += TABLE_GRID_TESTS)
        text_grid(page, arms, count, tests + t, test_count - t < TABLE_GRID_TESTS ? test_count - t : TABLE_GRID_TESTS);
}

static void markdown_panel(const struct table_page *page, size_t arm)
{
    const struct comparison *c = page->comparison;
    enum test_kind tests[TEST_KINDS];
    size_t count = table_grid_tests(c, tests);
    char name[TABLE_NAME], block[UNITS_TEXT], text[TABLE_NUMBER];
    fprintf(page->out, "**%s**\n\n| block | threads |", table_name(page, c->arms[arm].name, 0, name));
    for (size_t t = 0; t < count; t++)
        fprintf(page->out, " %s |", test_kind_name(tests[t]));
    fputs("\n|---:|---:|", page->out);
    for (size_t t = 0; t < count; t++)
        fputs("---|", page->out);
    fputc('\n', page->out);
    for (const struct compare_cell *row = table_grid_next_row(c, NULL); row; row = table_grid_next_row(c, row)) {
        fprintf(page->out, "| %s | %u |", table_grid_block(row->block_bytes, block), row->threads);
        for (size_t t = 0; t < count; t++) {
            glance_text(page, table_grid_cell(c, tests[t], row), arm, text);
            fprintf(page->out, " `%.*s` |", trimmed(text), text);
        }
        fputc('\n', page->out);
    }
    fputc('\n', page->out);
}

void table_glance_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    size_t arms[TOGETHER], count = 0;
    bool heading = false;
    for (size_t arm = 0; arm < c->arm_count && c->cell_count > 0; arm++) {
        if (!compare_is_candidate(c, arm))
            continue;
        struct table_line line = {0};
        table_line_add(&line, "%s %s, at a glance", table_unit_phrase(page), c->arms[c->baseline].name);
        if (!heading)
            table_heading(page, line.text);
        heading = true;
        if (page->style->markdown) {
            markdown_panel(page, arm);
            continue;
        }
        arms[count++] = arm;
        if (count == TOGETHER) {
            text_panel(page, arms, count);
            count = 0;
        }
    }
    if (count > 0)
        text_panel(page, arms, count);
}
