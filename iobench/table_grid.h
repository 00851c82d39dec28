/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of a comparison as the article's grid: rows are block size x threads, columns the tests. Internal to the table's
 * files. Pure.
 */
#ifndef CALF_IOBENCH_TABLE_GRID_H
#define CALF_IOBENCH_TABLE_GRID_H

#include "common/units.h"
#include "iobench/compare.h"

/* The row after `after` (NULL: the first one), as any cell that stands in it; NULL at the end. */
const struct compare_cell *table_grid_next_row(const struct comparison *c, const struct compare_cell *after);

/* The cell of a test in a row; NULL if there is none. */
const struct compare_cell *table_grid_cell(const struct comparison *c, enum test_kind test, const struct compare_cell *row);

/* So many tests stand side by side; more make a grid of their own below. */
enum { TABLE_GRID_TESTS = 4 };

/* The size as rows name it; "-" for tests that have none. Returns text. */
const char *table_grid_block(uint64_t block_bytes, char text[UNITS_TEXT]);

/* Is there any cell of these tests in the row? */
bool table_grid_row_has(const struct comparison *c, const struct compare_cell *row, const enum test_kind *tests, size_t count);

/* Which tests have cells, in order; how many. */
size_t table_grid_tests(const struct comparison *c, enum test_kind tests[TEST_KINDS]);

#endif
