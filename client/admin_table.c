/* SPDX-License-Identifier: Apache-2.0 */
#include "client/admin_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

void admin_table_init(struct admin_table *table, const char *align)
{
    *table = (struct admin_table){.columns = strlen(align), .align = align};
    CHECK(table->columns && table->columns <= ADMIN_COLUMNS_LIMIT);
}

void admin_table_fini(struct admin_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
}

void admin_table_cell(struct admin_table *table, const char *format, ...)
{
    va_list args;
    if (table->count == table->room) {
        table->room = table->room ? 2 * table->room : 64;
        table->cells = check_alloc(realloc(table->cells, table->room * sizeof *table->cells));
    }
    va_start(args, format);
    CHECK(vasprintf(&table->cells[table->count], format, args) >= 0);
    va_end(args);
    table->count++;
}

void admin_table_print(const struct admin_table *table, unsigned indent, FILE *out)
{
    int widths[ADMIN_COLUMNS_LIMIT] = {0};
    CHECK(table->count % table->columns == 0);
    for (size_t i = 0; i < table->count; i++) {
        int width = (int)strlen(table->cells[i]);
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width;
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        fprintf(out, "%*s", column ? 2 : (int)indent, "");
        if (table->align[column] == 'r')
            fprintf(out, "%*s", widths[column], table->cells[i]);
        else if (column + 1 < table->columns)
            fprintf(out, "%-*s", widths[column], table->cells[i]);
        else
            fputs(table->cells[i], out);
        if (column + 1 == table->columns)
            fputc('\n', out);
    }
}
