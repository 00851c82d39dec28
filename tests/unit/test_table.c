/* SPDX-License-Identifier: Apache-2.0
 *
 * The table for people: it fits 80 columns, never shows a number where there is none, says what it is no evidence for, passes
 * nothing on to the terminal, and is the same each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "iobench/compare.h"
#include "iobench/csv_import.h"
#include "iobench/table.h"
#include "tests/unit/synthetic_result.h"

static char *text; /* of the last table */

static void print(const struct result *r, const struct table_style *style)
{
    size_t size;
    free(text);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    table_print(out, r, style);
    assert_int_equal(fclose(out), 0);
}

static void make(struct result *r, uint32_t scenarios, uint32_t rounds)
{
    const struct synthetic_plan plan = {.scenarios = scenarios, .blocks = 3, .threads = 2, .rounds = rounds, .loss = 0.05,
                                        .noise = 0.03, .seed = 42};
    result_init(r);
    synthetic_result(r, &plan);
}

static void expect(const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in the table:\n%s", part, text);
}

static void expect_not(const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in the table:\n%s", part, text);
}

/* Every line has at most 80 columns, no space at its end, and no control characters. */
static void assert_tidy(void)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n"), columns = 0;
        for (size_t i = 0; i < length; i++) {
            assert_false((unsigned char)line[i] < 0x20 || line[i] == 0x7f);
            columns += ((unsigned char)line[i] & 0xc0) != 0x80;
        }
        if (columns > 80 || (length > 0 && line[length - 1] == ' '))
            fail_msg("untidy line (%zu columns): '%.*s'", columns, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void it_fits_eighty_columns(void **unused)
{
    (void)unused;
    static struct result r;
    static const uint32_t rounds[] = {0, 1, 3, 10};
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++)
        for (uint32_t scenarios = 1; scenarios <= 5; scenarios++)
            for (unsigned unit = TABLE_PERCENT; unit <= TABLE_SPEEDUP; unit++) {
                make(&r, scenarios, rounds[i]);
                print(&r, &(struct table_style){.unit = (enum table_unit)unit});
                assert_tidy();
                result_fini(&r);
            }
}

static void extreme_figures_fit_too(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 4, 7);
    for (size_t i = 0; i < r.sample_count; i++) {
        if (i % 4 == 1)
            r.samples[i].elapsed_ns /= 30;
        if (i % 4 == 2)
            r.samples[i].elapsed_ns *= 900;
        if (i % 4 == 3)
            r.samples[i].elapsed_ns = 1 + r.samples[i].elapsed_ns / 90000;
        r.samples[i].cpu.machine_busy_s *= i % 4 == 1 ? 1000 : 1;
    }
    memset(r.scenarios[1].name, 'x', RESULT_NAME - 1);
    print(&r, &(struct table_style){0});
    expect("xxxxxxxxxxxxxxxxxxxx~");
    assert_tidy();
    result_fini(&r);
}

static void rates_and_percentages_stand_where_they_belong(void **unused)
{
    (void)unused;
    static struct result r;
    const struct result *list = &r;
    struct comparison c;
    char why[64], expected[64];
    make(&r, 3, 10);
    assert_int_equal(compare_init(&c, &list, 1, NULL, why, sizeof why), 0);
    print(&r, &(struct table_style){0});
    const struct statistics_estimate *e = &c.cells[0].ratios[1].rate;
    (void)snprintf(expected, sizeof expected, "\n   4k   1 %5.1f [%5.1f,%5.1f]-*", 100 * exp(e->estimate), 100 * exp(e->low),
                   100 * exp(e->high));
    expect(expected);
    e = &c.means[0].ratios[2].rate;
    (void)snprintf(expected, sizeof expected, " %6.2f [%5.1f,%5.1f]-\n\nwrite", 100 * exp(e->estimate), 100 * exp(e->low),
                   100 * exp(e->high));
    expect(expected);
    (void)snprintf(expected, sizeof expected, "\n   4k   1 %8.0f", c.cells[0].series[0].rate_median / 1e6);
    expect(expected);
    expect("MB/s = 10^6 bytes a second");
    expect("[low,high] is the 95% confidence interval");
    expect("Benjamini-Hochberg");
    expect("docker-host reached 9");
    expect("of the throughput of bare (95% interval");
    expect("kernel 6.18.5");
    expect("cache cold, journal interval, engine sync");
    expect("idle cores halt at once");
    expect("seed 18364758544493064720");
    expect("calf 0.1 (commit 0123456789ab)");
    expect_not("SMOKE");
    expect_not("Noise floor");
    compare_fini(&c);
    result_fini(&r);
}

static void few_rounds_say_so(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 3, 3);
    print(&r, &(struct table_style){0});
    expect("Too few rounds");
    expect("too few for an interval");
    expect_not("95% confidence interval. Verdicts");
    expect_not("] -");
    expect_not("]-");
    expect_not("slower;");
    result_fini(&r);
}

static void a_smoke_test_is_no_evidence(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 2, 3);
    r.smoke_test = true;
    r.complete = false;
    print(&r, &(struct table_style){0});
    expect("SMOKE TEST");
    expect("no evidence");
    expect("INCOMPLETE");
    print(&r, &(struct table_style){.markdown = true});
    expect("SMOKE TEST");
    result_fini(&r);
}

static void bad_cells_show_no_number(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 2, 7);
    /* Every sample of bare-net but those of one cell fails or is marked. */
    for (size_t i = 1; i < r.sample_count; i += 2) {
        struct sample *s = &r.samples[i];
        if (s->test == TEST_READ && s->block_bytes == 4096 && s->threads == 1)
            continue;
        if (s->test == TEST_WRITE) {
            s->failed = true;
            sample_set_error(s, "/mnt/\033]0;owned\007file: I/O error \xff");
        } else {
            strcpy(s->mark, "cache-not-cold");
        }
    }
    print(&r, &(struct table_style){0});
    assert_tidy();
    expect("failed bare-net, write, 4k, 1 thread: 7 of 7 runs: /mnt/?]0;owned?file: I/O");
    expect("marked bare-net, random-write, 4k, 1 thread: 7 of 7 runs: cache-not-cold");
    expect("and 3 more");
    expect("Failed or marked cells are left out of all means.");
    expect("Over 1 cells bare-net");
    const char *panel = strstr(text, "\nwrite\nblock thr");
    assert_non_null(panel);
    assert_non_null(strstr(panel, "   4k   1  failed\n"));
    result_fini(&r);
}

static void the_noise_floor_stands_apart(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 5, 10);
    print(&r, &(struct table_style){0});
    expect("Noise floor: bare against itself (bare-again)");
    expect("are called slower or faster though nothing differs");
    expect_not("cells bare-again reached");
    result_fini(&r);
}

static void one_deployment_has_nothing_to_compare(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 1, 3);
    print(&r, &(struct table_style){0});
    expect("One deployment alone");
    expect_not("Percent of");
    result_fini(&r);
}

static void the_articles_table(void **unused)
{
    (void)unused;
    static struct result r;
    char why[256];
    result_init(&r);
    if (csv_import_read("docs/examples/moosefs-docker-article.csv", &r, why, sizeof why) != 0)
        fail_msg("%s", why);
    print(&r, &(struct table_style){0});
    assert_tidy();
    expect("\noverall       92.15\n\nwrite         94.52\nread          95.50\nrandom-write  88.47\nrandom-read   90.28\n");
    expect("Single runs: these figures carry no interval and no verdict.");
    expect("docker reached 92.15% of the throughput of bare (single runs:\n  no interval)");
    expect("the worst cell 57.0% (random-write, 16k, 4 threads), the best\n  105.4% (random-read, 2048k, 1 thread)");
    expect_not("[");
    result_fini(&r);
}

static void other_units_of_ratios(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 2, 10);
    for (size_t i = 0; i < r.sample_count; i++)
        r.samples[i].elapsed_ns = r.samples[i].scenario ? 2000000000 : 1000000000;
    print(&r, &(struct table_style){.unit = TABLE_CHANGE});
    expect("overall      -50.00 [-50.0,-50.0]-");
    expect("Percent change from bare");
    print(&r, &(struct table_style){.unit = TABLE_SPEEDUP});
    expect("overall      0.5000 [0.500,0.500]-");
    expect("Speed-up over bare");
    result_fini(&r);
}

static void colour_carries_nothing_alone(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 3, 10);
    print(&r, &(struct table_style){0});
    char *plain = strdup(text);
    assert_null(strchr(plain, '\033'));
    print(&r, &(struct table_style){.color = true});
    assert_non_null(strchr(text, '\033'));
    /* Without the escapes, and the spaces they end with, it is the same text. */
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '\033') {
            from = strchr(from, 'm');
            continue;
        }
        *to++ = *from;
        if (*from == '\n') {
            char *end = to - 1;
            while (end > text && end[-1] == ' ')
                end--;
            *end = '\n';
            to = end + 1;
        }
    }
    *to = '\0';
    assert_string_equal(plain, text);
    free(plain);
    result_fini(&r);
}

static void markdown_holds_the_same(void **unused)
{
    (void)unused;
    static struct result r;
    make(&r, 5, 10);
    strcpy(r.scenarios[1].name, "a|b`<i>");
    print(&r, &(struct table_style){.markdown = true});
    expect("# iobench: 24 cells");
    expect("| block | threads | write MB/s | s/GiB |");
    expect("| write | 4k | 1 | `");
    expect("| overall | `");
    expect("a\\|b\\`\\<i\\>");
    expect_not("a|b");
    result_fini(&r);
}

static int drop_text(void **unused)
{
    (void)unused;
    free(text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_fits_eighty_columns),
        cmocka_unit_test(extreme_figures_fit_too),
        cmocka_unit_test(rates_and_percentages_stand_where_they_belong),
        cmocka_unit_test(few_rounds_say_so),
        cmocka_unit_test(a_smoke_test_is_no_evidence),
        cmocka_unit_test(bad_cells_show_no_number),
        cmocka_unit_test(the_noise_floor_stands_apart),
        cmocka_unit_test(one_deployment_has_nothing_to_compare),
        cmocka_unit_test(the_articles_table),
        cmocka_unit_test(other_units_of_ratios),
        cmocka_unit_test(colour_carries_nothing_alone),
        cmocka_unit_test(markdown_holds_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, drop_text);
}
