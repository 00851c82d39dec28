/* SPDX-License-Identifier: Apache-2.0
 *
 * The sentence at the top of the report, made to be quoted, and beside it what limits it. It stands in the HTML itself.
 */
#include <math.h>

#include "iobench/report_parts.h"

static double percent(double log_ratio)
{
    return 100 * exp(log_ratio);
}

static void print_interval(FILE *out, const struct statistics_estimate *e)
{
    if (e->count < 2)
        fputs(" (a single run, without an interval)", out);
    else
        fprintf(out, " (%s%.1f to %.1f%%)", e->interval ? "95% interval " : "runs from ", percent(e->low), percent(e->high));
}

/* "docker-bridge delivered 83.0% of its throughput (95% interval 80.0 to 84.9%) for 119.9% of the CPU time per byte" */
static void print_arm(FILE *out, const struct comparison *c, size_t arm)
{
    const struct compare_ratio *overall = &c->means[0].ratios[arm];
    fputs("<strong>", out);
    report_html(out, c->arms[arm].name);
    if (!overall->present) {
        fputs("</strong> has no overall figure, because no round is complete", out);
        return;
    }
    fprintf(out, "</strong> delivered <strong>%.1f%%</strong> of its throughput", percent(overall->rate.estimate));
    print_interval(out, &overall->rate);
    if (overall->cpu_present)
        fprintf(out, " at <strong>%.0f%%</strong> of its CPU time per byte", percent(overall->cpu.estimate));
}

static size_t candidates_of(const struct comparison *c)
{
    size_t count = 0;
    for (size_t arm = 0; arm < c->arm_count; arm++)
        count += compare_is_candidate(c, arm);
    return count;
}

static void print_limits(FILE *out, const struct comparison *c)
{
    bool smoke = false, incomplete = false, bad = false, unpaired = false;
    for (size_t i = 0; i < c->result_count; i++) {
        smoke = smoke || c->results[i]->smoke_test;
        incomplete = incomplete || (!c->results[i]->complete && !c->results[i]->earlier_figures);
    }
    for (size_t arm = 0; arm < c->arm_count; arm++) {
        bad = bad || c->arms[arm].cells[COMPARE_FAILED] + c->arms[arm].cells[COMPARE_MARKED] > 0;
        unpaired = unpaired || (compare_is_candidate(c, arm) && !c->arms[arm].paired);
    }
    if (smoke)
        fputs("<p class=\"warn\"><strong>Smoke test:</strong> a quick preset, made to see that everything works. Its figures are no "
              "evidence.</p>\n", out);
    if (c->most_rounds == 1)
        fputs("<p class=\"warn\"><strong>Single runs:</strong> they carry no interval; nobody can tell a difference here from "
              "noise.</p>\n", out);
    else if (c->most_rounds < STATISTICS_MIN_ROUNDS)
        fprintf(out, "<p class=\"warn\"><strong>Too few rounds:</strong> fewer than %d have no 95%% interval. Ranges are what was "
                     "seen, and no cell has a verdict.</p>\n", (int)STATISTICS_MIN_ROUNDS);
    if (incomplete)
        fputs("<p class=\"warn\"><strong>Interrupted:</strong> the sweep did not finish.</p>\n", out);
    if (bad)
        fputs("<p class=\"warn\"><strong>Left out:</strong> some cells failed or are marked; no figure is taken from them.</p>\n",
              out);
    if (unpaired)
        fputs("<p class=\"warn\"><strong>Not in pairs:</strong> figures of different results are compared by a rank test. That is "
              "weaker: a machine that was slower that day looks like a slower deployment.</p>\n", out);
}

void report_summary_print(FILE *out, const struct comparison *c)
{
    size_t count = candidates_of(c), done = 0;
    fputs("<p id=\"sentence\">", out);
    if (count == 0 || c->mean_count == 0) {
        report_html(out, c->arms[c->baseline].name);
        fputs(" alone: there is no second deployment to compare it with.", out);
    } else {
        fputs("Compared with <strong>", out);
        report_html(out, c->arms[c->baseline].name);
        fprintf(out, "</strong> over %zu %s, ", c->cell_count, c->cell_count == 1 ? "workload" : "workloads");
    }
    for (size_t arm = 0; arm < c->arm_count && c->mean_count > 0; arm++) {
        if (!compare_is_candidate(c, arm))
            continue;
        if (done++ > 0)
            fputs(done == count ? ", and " : ", ", out);
        print_arm(out, c, arm);
    }
    fputs(count && c->mean_count ? ".</p>\n" : "</p>\n", out);
    print_limits(out, c);
}
