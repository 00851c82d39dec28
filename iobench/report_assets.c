/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a report is made of, taken in by the assembler. Chart.js comes from the Debian package libjs-chart.js (or
 * where CHART_JS of the Makefile says); its licence stands at its own head and at the foot of every report.
 */
#include "common/check.h"
#include "iobench/report_parts.h"

#ifndef REPORT_CHART_JS
#error "REPORT_CHART_JS is the path of chart.min.js; the Makefile sets it"
#endif

#define ASSET(name, path)                                                        \
    extern const char report_asset_##name[], report_asset_##name##_end[];        \
    __asm__(".pushsection .rodata\n"                                             \
            ".global report_asset_" #name "\nreport_asset_" #name ":\n"          \
            ".incbin \"" path "\"\n"                                             \
            ".global report_asset_" #name "_end\nreport_asset_" #name "_end:\n"  \
            ".byte 0\n.popsection\n")

ASSET(style, "iobench/report.css");
ASSET(page, "iobench/report_page.html");
ASSET(library, REPORT_CHART_JS);
ASSET(script, "iobench/report.js");
ASSET(charts, "iobench/report_charts.js");
ASSET(tables, "iobench/report_tables.js");

#define RANGE(name) {report_asset_##name, report_asset_##name##_end}
static const struct {
    const char *begin, *end;
} assets[REPORT_ASSETS] = {
    [REPORT_STYLE] = RANGE(style),          [REPORT_PAGE] = RANGE(page),
    [REPORT_CHART_LIBRARY] = RANGE(library), [REPORT_SCRIPT] = RANGE(script),
    [REPORT_CHARTS] = RANGE(charts),        [REPORT_TABLES] = RANGE(tables),
};

struct report_asset report_asset(enum report_asset_name name)
{
    CHECK((unsigned)name < REPORT_ASSETS);
    return (struct report_asset){assets[name].begin, (size_t)(assets[name].end - assets[name].begin)};
}
