/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/scope.h"
#include "iobench/table_parts.h"

/* More bad cells than this are counted, not listed. */
enum { LISTED = 20 };

static void list_bad_cells(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    size_t listed = 0, unlisted = 0;
    for (size_t i = 0; i < c->cell_count; i++) {
        for (size_t arm = 0; arm < c->arm_count; arm++) {
            const struct compare_series *s = &c->cells[i].series[arm];
            if (s->state != COMPARE_FAILED && s->state != COMPARE_MARKED)
                continue;
            if (listed == LISTED) {
                unlisted++;
                continue;
            }
            if (listed++ == 0)
                table_heading(page, "Cells without a figure");
            struct table_line line = {0};
            char cell[TABLE_NAME];
            table_line_add(&line, "%s %s, %s: %zu of %zu runs: %s", table_state(s->state), c->arms[arm].name,
                           table_cell_name(&c->cells[i], cell), s->bad_count, s->sample_count, s->why);
            table_paragraph(page, page->style->markdown ? "" : "  ", &line);
        }
    }
    if (unlisted > 0) {
        struct table_line line = {0};
        table_line_add(&line, "and %zu more", unlisted);
        table_paragraph(page, page->style->markdown ? "" : "  ", &line);
    }
}

/* What all candidates' cells have in common, added up. */
struct totals {
    size_t candidates, unpaired, cells, verdicts[VERDICTS], survivors, noisier;
    bool csv;
};

static struct totals add_up(const struct comparison *c)
{
    struct totals t = {0};
    for (size_t arm = 0; arm < c->arm_count; arm++) {
        const struct compare_arm *a = &c->arms[arm];
        t.csv = t.csv || a->result->earlier_figures;
        if (!compare_is_candidate(c, arm))
            continue;
        t.candidates++;
        t.unpaired += !a->paired && !a->result->earlier_figures;
        t.survivors += a->survivors;
        for (size_t v = 0; v < VERDICTS; v++) {
            t.verdicts[v] += a->verdicts[v];
            t.cells += a->verdicts[v];
        }
        for (size_t i = 0; i < c->cell_count; i++)
            t.noisier += c->cells[i].ratios[arm].noisier;
    }
    return t;
}

static void print_legend(const struct table_page *page, const struct totals *t)
{
    const struct comparison *c = page->comparison;
    struct table_line line = {0};
    if (t->verdicts[VERDICT_NONE] < t->cells)
        table_line_add(&line, "[low,high] is the 95%% confidence interval. Verdicts: = same (inside 98 to 102%%), - slower (all "
                              "below 100%%, estimate at most 98%%), + faster (likewise), ? unclear.");
    if (t->verdicts[VERDICT_NONE] > 0 && c->most_rounds > 1)
        table_line_add(&line, " Too few rounds (fewer than %d) for a 95%% interval: (low,high) is only the range that was seen, "
                              "and there is no verdict.", (int)STATISTICS_MIN_ROUNDS);
    if (c->most_rounds == 1)
        table_line_add(&line, "Single runs: these figures carry no interval and no verdict.");
    table_paragraph(page, "", &line);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* How many rounds the unclear cells still need: half of them, and nine of ten. */
static void print_unclear(const struct table_page *page, const struct totals *t)
{
    const struct comparison *c = page->comparison;
    size_t count = 0;
    if (t->verdicts[VERDICT_UNCLEAR] == 0)
        return;
    SCOPE_FREE uint32_t *needed = check_alloc(malloc(t->cells * sizeof *needed));
    for (size_t i = 0; i < c->cell_count; i++)
        for (size_t arm = 0; arm < c->arm_count; arm++)
            if (compare_is_candidate(c, arm) && c->cells[i].ratios[arm].verdict == VERDICT_UNCLEAR)
                needed[count++] = statistics_rounds_needed(&c->cells[i].ratios[arm].rate);
    qsort(needed, count, sizeof *needed, by_number);
    struct table_line line = {0};
    uint32_t half = needed[(count - 1) / 2], most = needed[(count - 1) * 9 / 10];
    table_line_add(&line, "%zu of %zu cells are unclear.", count, t->cells);
    if (half >= STATISTICS_HOPELESS)
        table_line_add(&line, " No reasonable number of rounds would settle half of them.");
    else
        table_line_add(&line, " About %u more rounds would settle half of them, %s%u most.", half,
                       most >= STATISTICS_HOPELESS ? "more than " : "", most);
    table_paragraph(page, "", &line);
}

static void print_many_cells(const struct table_page *page, const struct totals *t)
{
    const struct comparison *c = page->comparison;
    if (c->tested == 0 || t->verdicts[VERDICT_NONE] == t->cells)
        return;
    struct table_line line = {0};
    double smallest = statistics_smallest_p(c->most_rounds), single = 0.05 / (double)c->tested;
    table_line_add(&line, "%zu cells were looked at: even if nothing differed, about one interval in twenty would miss 100%%. * marks "
                          "the %zu that survive Benjamini-Hochberg at 5%%.", c->tested, t->survivors);
    if (t->unpaired == 0 && smallest > single)
        table_line_add(&line, " With %zu rounds no p is below %.2g, and a single cell among %zu would need %.2g: no single cell "
                              "can survive, only many together.", c->most_rounds, smallest, c->tested, single);
    table_line_add(&line, " The means, each with its own interval, carry the message.");
    table_paragraph(page, "", &line);
}

void table_notes_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    struct totals t = add_up(c);
    struct table_line line = {0};
    list_bad_cells(page);
    if (t.candidates == 0 || t.cells == 0)
        return;
    table_heading(page, "How to read this");
    print_legend(page, &t);
    print_unclear(page, &t);
    print_many_cells(page, &t);
    if (t.noisier > 0)
        table_line_add(&line, "n marks %zu cells in which one side scatters more than three times as much as the other. ",
                       t.noisier);
    if (t.unpaired > 0)
        table_line_add(&line, "Results of different sweeps have no pairs: they are compared by a rank test, which is weaker, and "
                              "whatever changed between the sweeps counts as a difference of the deployments.");
    if (line.used > 0)
        table_paragraph(page, "", &line);
}

static void add_interval(const struct table_page *page, struct table_line *line, const struct statistics_estimate *e)
{
    char low[TABLE_NUMBER], high[TABLE_NUMBER];
    const char *sign = table_ratio_sign(page);
    table_ratio(page, e->low, 0, low);
    table_ratio(page, e->high, 0, high);
    if (e->interval)
        table_line_add(line, "95%% interval %s to %s%s, %zu rounds", low, high, sign, e->count);
    else if (e->count > 1)
        table_line_add(line, "%s to %s%s in %zu rounds, too few for an interval", low, high, sign, e->count);
    else
        table_line_add(line, "single runs: no interval");
}

static void print_sentence(const struct table_page *page, size_t arm)
{
    const struct comparison *c = page->comparison;
    const struct compare_ratio *overall = &c->means[0].ratios[arm];
    const struct compare_arm *a = &c->arms[arm];
    const char *base = c->arms[c->baseline].name, *sign = table_ratio_sign(page);
    char number[TABLE_NUMBER], cell[TABLE_NAME];
    struct table_line line = {0};
    if (!overall->present) {
        table_line_add(&line, "%s cannot be compared with %s: no cell has figures of both.", a->name, base);
        table_paragraph(page, page->style->markdown ? "" : "> ", &line);
        return;
    }
    bool percent = page->style->unit == TABLE_PERCENT;
    table_line_add(&line, "Over %zu cells %s %s %s%s %s %s (", overall->cells, a->name, percent ? "reached" : "stands at",
                   table_ratio(page, overall->rate.estimate, 1, number), sign,
                   percent ? "of the throughput of" : page->style->unit == TABLE_CHANGE ? "throughput against"
                                                                                       : "the throughput of", base);
    add_interval(page, &line, &overall->rate);
    table_line_add(&line, ")");
    if (overall->verdict != VERDICT_NONE)
        table_line_add(&line, ": %s", statistics_verdict_name(overall->verdict));
    table_line_add(&line, "; the worst cell %s%s (%s)", table_ratio(page, c->cells[a->worst].ratios[arm].rate.estimate, 0, number),
                   sign, table_cell_name(&c->cells[a->worst], cell));
    table_line_add(&line, ", the best %s%s (%s)", table_ratio(page, c->cells[a->best].ratios[arm].rate.estimate, 0, number), sign,
                   table_cell_name(&c->cells[a->best], cell));
    if (overall->cpu_present) {
        table_line_add(&line, "; CPU time per byte %s%s (", table_ratio(page, overall->cpu.estimate, 0, number), sign);
        add_interval(page, &line, &overall->cpu);
        table_line_add(&line, ")");
    }
    table_line_add(&line, ".");
    table_paragraph(page, page->style->markdown ? "" : "> ", &line);
}

void table_closing_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    bool smoke = false, incomplete = false, bad = false, candidates = false;
    for (size_t i = 0; i < c->result_count; i++) {
        smoke = smoke || c->results[i]->smoke_test;
        incomplete = incomplete || (!c->results[i]->complete && !c->results[i]->earlier_figures);
    }
    table_heading(page, "In a sentence");
    for (size_t arm = 0; arm < c->arm_count; arm++) {
        bad = bad || c->arms[arm].cells[COMPARE_FAILED] + c->arms[arm].cells[COMPARE_MARKED] > 0;
        if (!compare_is_candidate(c, arm))
            continue;
        candidates = true;
        print_sentence(page, arm);
    }
    struct table_line line = {0};
    if (!candidates)
        table_line_add(&line, "One deployment alone: there is nothing to compare it with. ");
    if (smoke)
        table_line_add(&line, "This is a smoke test and no evidence: take more rounds and a larger preset for figures to rely on. ");
    if (incomplete)
        table_line_add(&line, "The sweep was interrupted. ");
    if (bad)
        table_line_add(&line, "Failed or marked cells are left out of all means. ");
    if (line.used > 0)
        table_paragraph(page, "", &line);
}
