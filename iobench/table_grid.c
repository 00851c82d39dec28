/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/table_grid.h"

/* Below, at or above: by test, block size, threads, as the cells are sorted. */
static int order(const struct compare_cell *cell, enum test_kind test, const struct compare_cell *row)
{
    if (cell->test != test)
        return cell->test < test ? -1 : 1;
    if (cell->block_bytes != row->block_bytes)
        return cell->block_bytes < row->block_bytes ? -1 : 1;
    return (cell->threads > row->threads) - (cell->threads < row->threads);
}

const struct compare_cell *table_grid_cell(const struct comparison *c, enum test_kind test, const struct compare_cell *row)
{
    size_t low = 0, high = c->cell_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int found = order(&c->cells[middle], test, row);
        if (found == 0)
            return &c->cells[middle];
        if (found < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool before(const struct compare_cell *a, const struct compare_cell *b)
{
    return a->block_bytes < b->block_bytes || (a->block_bytes == b->block_bytes && a->threads < b->threads);
}

const struct compare_cell *table_grid_next_row(const struct comparison *c, const struct compare_cell *after)
{
    const struct compare_cell *best = NULL;
    for (size_t i = 0; i < c->cell_count; i++) {
        const struct compare_cell *cell = &c->cells[i];
        if ((!after || before(after, cell)) && (!best || before(cell, best)))
            best = cell;
    }
    return best;
}

const char *table_grid_block(uint64_t block_bytes, char text[UNITS_TEXT])
{
    return block_bytes ? units_format_size(block_bytes, text) : "-";
}

bool table_grid_row_has(const struct comparison *c, const struct compare_cell *row, const enum test_kind *tests, size_t count)
{
    for (size_t t = 0; t < count; t++)
        if (table_grid_cell(c, tests[t], row))
            return true;
    return false;
}

size_t table_grid_tests(const struct comparison *c, enum test_kind tests[TEST_KINDS])
{
    size_t count = 0;
    for (size_t i = 0; i < c->cell_count; i++)
        if (i == 0 || c->cells[i].test != c->cells[i - 1].test)
            tests[count++] = c->cells[i].test;
    return count;
}
