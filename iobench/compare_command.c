/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/compare_command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/options.h"
#include "common/scope.h"
#include "iobench/compare.h"
#include "iobench/compare_export.h"
#include "iobench/foreign_export.h"
#include "iobench/result_input.h"
#include "iobench/table.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG = 2, EXIT_GATE = 3 };

/* The words of --format, in their order. */
enum format { FORMAT_OWN, FORMAT_IOZONE, FORMAT_FIO };

struct request {
    const char *baseline, *fail_below_text;
    double fail_below; /* percent; 0: no gate */
    bool json, csv, markdown;
    unsigned unit; /* enum table_unit */
    unsigned format; /* enum format */
};

static const char about[] =
    "Compares the deployments of one or several results: rates, percentages of the baseline with 95% intervals and "
    "verdicts, geometric means, CPU time. A RESULT is a result directory, a results.json, or a CSV of earlier figures "
    "(columns deployment,test,block_bytes,threads,mb_per_s; its name ends with .csv). Deployments of one result are compared "
    "round by round, those of different results by a rank test, which is weaker.";

static const char closing[] =
    "Examples:\n"
    "  iobench compare results/2026-11-30           the table of a sweep, as it stands in its table.txt\n"
    "  iobench compare last-week today --baseline bare\n"
    "  iobench compare today --fail-below 95        for scripts\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage or input, 3 --fail-below says no.";

static int parse(int argc, char **argv, struct request *q, char ***paths)
{
    const struct option_row rows[] = {
        {"baseline", 'b', OPTION_TEXT, "NAME", "compare with this deployment (default: the first one; of a CSV: bare)",
         &q->baseline, false, 0, 0, NULL},
        {"fail-below", 0, OPTION_TEXT, "PERCENT",
         "exit with 3 if any deployment's overall percentage is below PERCENT, or unknown because cells failed",
         &q->fail_below_text, false, 0, 0, NULL},
        {"show", 0, OPTION_CHOICE, "percent|change|speedup", "how ratios are written in tables (default: percent)", &q->unit,
         false, 0, 0, NULL},
        {"json", 0, OPTION_FLAG, NULL, "print one JSON object instead of the table", &q->json, false, 0, 0, NULL},
        {"csv", 0, OPTION_FLAG, NULL, "print CSV instead of the table", &q->csv, false, 0, 0, NULL},
        {"markdown", 0, OPTION_FLAG, NULL, "print the table as Markdown", &q->markdown, false, 0, 0, NULL},
        {"format", 0, OPTION_CHOICE, "table|iozone|fio", "the samples as IOzone's throughput report, or as JSON with fio's keys",
         &q->format, false, 0, 0, NULL},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, false, 0, 0, NULL},
    };
    const struct options options = {.program = "iobench compare",
                                    .usage = "RESULT [RESULT...] [options]",
                                    .about = about,
                                    .closing = closing,
                                    .rows = rows,
                                    .positional_min = 1,
                                    .positional_max = RESULT_INPUT_COUNT};
    return options_parse(&options, argc, argv, paths);
}

static int check_request(struct request *q)
{
    if ((int)q->json + (int)q->csv + (int)q->markdown + (q->format != FORMAT_OWN) > 1) {
        fprintf(stderr, "iobench compare: --json, --csv, --markdown and --format exclude one another (try --help)\n");
        return -EINVAL;
    }
    if (!q->fail_below_text)
        return 0;
    char *end;
    q->fail_below = strtod(q->fail_below_text, &end);
    size_t length = strlen(q->fail_below_text);
    bool good = length > 0 && (*end == '\0' || strcmp(end, "%") == 0) && isfinite(q->fail_below) && q->fail_below > 0;
    if (good)
        return 0;
    fprintf(stderr, "iobench compare: --fail-below needs a percentage above 0, not '%.40s' (try --help)\n", q->fail_below_text);
    return -EINVAL;
}

static void print(const struct comparison *c, const struct request *q)
{
    const char *no_color = getenv("NO_COLOR");
    struct table_style style = {
        .markdown = q->markdown,
        .color = isatty(STDOUT_FILENO) && !(no_color && no_color[0]),
        .unit = (enum table_unit)q->unit,
    };
    if (q->format == FORMAT_IOZONE)
        foreign_export_iozone(stdout, c);
    else if (q->format == FORMAT_FIO)
        foreign_export_fio(stdout, c);
    else if (q->json)
        compare_export_json(stdout, c);
    else if (q->csv)
        compare_export_csv(stdout, c);
    else
        table_print_comparison(stdout, c, &style);
}

/* The exit status that --fail-below asks for; the reason goes to stderr. */
static int judge(const struct comparison *c, double fail_below)
{
    int status = EXIT_DONE;
    size_t candidates = 0;
    for (size_t arm = 0; arm < c->arm_count; arm++) {
        const struct compare_ratio *overall = &c->means[0].ratios[arm];
        if (!compare_is_candidate(c, arm))
            continue;
        candidates++;
        size_t failed = c->arms[arm].cells[COMPARE_FAILED] + c->arms[c->baseline].cells[COMPARE_FAILED];
        double percent = overall->present ? 100 * exp(overall->rate.estimate) : 0;
        const char *name = c->arms[arm].name, *base = c->arms[c->baseline].name;
        if (!overall->present)
            fprintf(stderr, "iobench compare: --fail-below: %s has no overall percentage of %s\n", name, base);
        else if (failed > 0)
            fprintf(stderr, "iobench compare: --fail-below: %zu cells of %s or %s failed, so the overall percentage is not known\n",
                    failed, name, base);
        else if (percent < fail_below)
            fprintf(stderr, "iobench compare: %s is at %.2f%% of %s, below %g%%\n", name, percent, base, fail_below);
        else
            continue;
        status = EXIT_GATE;
    }
    if (candidates == 0) {
        fprintf(stderr, "iobench compare: --fail-below: there is one deployment only, nothing to compare\n");
        return EXIT_WRONG;
    }
    return status;
}

static int compare(const struct request *q, const struct result_input *input)
{
    struct comparison c;
    char why[512];
    if (compare_init(&c, input->list, input->count, q->baseline, why, sizeof why) != 0) {
        fprintf(stderr, "iobench compare: --baseline: %s\n", why);
        return EXIT_WRONG;
    }
    print(&c, q);
    int status = q->fail_below > 0 ? judge(&c, q->fail_below) : EXIT_DONE;
    compare_fini(&c);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "iobench compare: cannot write to standard output: %s\n", strerror(errno ? errno : EIO));
        return EXIT_FAILED;
    }
    return status;
}

int compare_command(int argc, char **argv)
{
    struct request request = {0};
    char **paths;
    int outcome = parse(argc, argv, &request, &paths);
    if (outcome != OPTIONS_GO_ON)
        return outcome == OPTIONS_DONE ? EXIT_DONE : EXIT_WRONG;
    if (check_request(&request) != 0)
        return EXIT_WRONG;
    SCOPE_FREE struct result_input *input = check_alloc(calloc(1, sizeof *input));
    int status = EXIT_WRONG;
    if (result_input_read(input, paths, "iobench compare") == 0)
        status = compare(&request, input);
    result_input_fini(input);
    return status;
}
