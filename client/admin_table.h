/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in columns: cells are collected, and printed when their widths are known. One thread.
 */
#ifndef CALF_ADMIN_TABLE_H
#define CALF_ADMIN_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { ADMIN_COLUMNS_LIMIT = 16 };

struct admin_table {
    size_t columns;
    const char *align; /* a letter for each column: l or r; kept, not copied */
    char **cells;      /* row after row */
    size_t count, room;
};

/* An empty table on the caller's memory, for admin_table_fini. */
void admin_table_init(struct admin_table *table, const char *align);
void admin_table_fini(struct admin_table *table);

/* Adds the next cell; rows fill from left to right. */
void admin_table_cell(struct admin_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints all rows, with `indent` spaces before and two between columns. An unfinished row is a fault. */
void admin_table_print(const struct admin_table *table, unsigned indent, FILE *out);

#endif
