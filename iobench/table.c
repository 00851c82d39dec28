/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/table.h"

#include "common/check.h"
#include "iobench/table_parts.h"

void table_print_comparison(FILE *out, const struct comparison *comparison, const struct table_style *style)
{
    struct table_page page = {.out = out, .comparison = comparison, .style = style};
    table_head_print(&page);
    table_rates_print(&page);
    table_glance_print(&page);
    table_cells_print(&page);
    table_means_print(&page);
    table_cpu_print(&page);
    table_use_print(&page);
    table_noise_print(&page);
    table_notes_print(&page);
    table_closing_print(&page);
}

void table_print(FILE *out, const struct result *r, const struct table_style *style)
{
    struct comparison comparison;
    char why[256];
    int error = compare_init(&comparison, &r, 1, NULL, why, sizeof why);
    CHECK(error == 0 || r->scenario_count == 0);
    if (error != 0)
        return;
    table_print_comparison(out, &comparison, style);
    compare_fini(&comparison);
}
