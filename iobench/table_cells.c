/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "iobench/table_grid.h"
#include "iobench/table_parts.h"

enum { RATIO_WIDTH = 22 };

const char *table_cell_name(const struct compare_cell *cell, char to[TABLE_NAME])
{
    char block[UNITS_TEXT];
    (void)snprintf(to, TABLE_NAME, "%s%s%s, %u thread%s", test_kind_name(cell->test), cell->block_bytes ? ", " : "",
                   cell->block_bytes ? table_grid_block(cell->block_bytes, block) : "", cell->threads,
                   cell->threads == 1 ? "" : "s");
    return to;
}

const char *table_unit_phrase(const struct table_page *page)
{
    switch (page->style->unit) {
    case TABLE_PERCENT:
        return "Percent of";
    case TABLE_CHANGE:
        return "Percent change from";
    case TABLE_SPEEDUP:
        return "Speed-up over";
    }
    return "";
}

size_t table_candidates(const struct comparison *c, size_t *next, size_t arms[TABLE_TOGETHER])
{
    size_t count = 0;
    for (; *next < c->arm_count && count < TABLE_TOGETHER; ++*next)
        if (compare_is_candidate(c, *next))
            arms[count++] = *next;
    return count;
}

static void add_cell(const struct table_page *page, struct table_line *line, const struct compare_ratio *ratio)
{
    char text[TABLE_RATIO_CELL], padded[TABLE_RATIO_CELL];
    const char *state = table_state(ratio->state);
    if (ratio->present) {
        (void)snprintf(padded, sizeof padded, "%-*s", RATIO_WIDTH, table_ratio_cell(page, ratio, &ratio->rate, 0, text));
        table_line_add(line, " ");
        table_color_add(page, line, ratio->rate.estimate, padded);
    } else {
        table_line_add(line, "  %-*s", RATIO_WIDTH - 1, state ? state : "-");
    }
}

static void text_panel(const struct table_page *page, const size_t *arms, size_t count)
{
    const struct comparison *c = page->comparison;
    char name[TABLE_NAME], block[UNITS_TEXT];
    for (size_t i = 0; i < c->cell_count; i++) {
        const struct compare_cell *cell = &c->cells[i];
        struct table_line line = {0};
        if (i == 0 || c->cells[i - 1].test != cell->test) {
            table_line_add(&line, "\n%s\nblock thr", test_kind_name(cell->test));
            for (size_t a = 0; a < count; a++)
                table_line_add(&line, "  %-*s", RATIO_WIDTH - 1, table_name(page, c->arms[arms[a]].name, RATIO_WIDTH - 1, name));
            table_row(page, &line);
            line = (struct table_line){0};
        }
        table_line_add(&line, "%5s %3u", table_grid_block(cell->block_bytes, block), cell->threads);
        for (size_t a = 0; a < count; a++)
            add_cell(page, &line, &cell->ratios[arms[a]]);
        table_row(page, &line);
    }
}

static void markdown_panel(const struct table_page *page, const size_t *arms, size_t count)
{
    const struct comparison *c = page->comparison;
    char name[TABLE_NAME], block[UNITS_TEXT], text[TABLE_RATIO_CELL];
    fputs("| test | block | threads |", page->out);
    for (size_t a = 0; a < count; a++)
        fprintf(page->out, " %s |", table_name(page, c->arms[arms[a]].name, 0, name));
    fputs("\n|---|---:|---:|", page->out);
    for (size_t a = 0; a < count; a++)
        fputs("---|", page->out);
    fputc('\n', page->out);
    for (size_t i = 0; i < c->cell_count; i++) {
        const struct compare_cell *cell = &c->cells[i];
        fprintf(page->out, "| %s | %s | %u |", test_kind_name(cell->test), table_grid_block(cell->block_bytes, block),
                cell->threads);
        for (size_t a = 0; a < count; a++) {
            const struct compare_ratio *ratio = &cell->ratios[arms[a]];
            const char *state = table_state(ratio->state);
            if (ratio->present)
                fprintf(page->out, " `%s` |", table_ratio_cell(page, ratio, &ratio->rate, 0, text));
            else
                fprintf(page->out, " %s |", state ? state : "-");
        }
        fputc('\n', page->out);
    }
    fputc('\n', page->out);
}

void table_cells_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    size_t next = 0, arms[TABLE_TOGETHER], count;
    bool first = true;
    if (c->most_rounds < 2)
        return; /* the grid of table_glance.c holds all there is */
    while ((count = table_candidates(c, &next, arms)) > 0 && c->cell_count > 0) {
        struct table_line line = {0};
        if (first) {
            table_line_add(&line, "%s %s, every cell with its interval", table_unit_phrase(page), c->arms[c->baseline].name);
            table_heading(page, line.text);
        }
        first = false;
        if (page->style->markdown)
            markdown_panel(page, arms, count);
        else
            text_panel(page, arms, count);
    }
}
