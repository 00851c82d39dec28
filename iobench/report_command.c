/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/report_command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/options.h"
#include "common/scope.h"
#include "iobench/report.h"
#include "iobench/result_input.h"
#include "iobench/text_print.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG = 2 };

struct request {
    const char *baseline, *out;
};

static const char about[] =
    "Writes one self-contained HTML file: a sentence to quote, what each deployment costs and how sure that is, heat maps, charts "
    "and sortable tables, the environment and the command that repeats it. It needs no network. A RESULT is what `iobench "
    "compare` takes: a result directory, a results.json, or a CSV of earlier figures.";

static const char closing[] =
    "Without --out the file is report.html in the result directory (or beside the file); with '-' it goes to standard output.\n"
    "\n"
    "  iobench report results/2026-11-30\n"
    "  iobench report last-week today --baseline bare --out both.html\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage or input.";

static int parse(int argc, char **argv, struct request *q, char ***paths)
{
    const struct option_row rows[] = {
        {"baseline", 'b', OPTION_TEXT, "NAME", "compare with this deployment (default: the first one; of a CSV: bare)",
         &q->baseline, false, 0, 0, NULL},
        {"out", 'o', OPTION_TEXT, "FILE", "where the report goes", &q->out, false, 0, 0, NULL},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, false, 0, 0, NULL},
    };
    const struct options options = {.program = "iobench report",
                                    .usage = "RESULT [RESULT...] [options]",
                                    .about = about,
                                    .closing = closing,
                                    .rows = rows,
                                    .positional_min = 1,
                                    .positional_max = RESULT_INPUT_COUNT};
    return options_parse(&options, argc, argv, paths);
}

/* report.html in the directory, or in that of the file. */
static void default_out(const char *result, char out[PATH_MAX])
{
    struct stat status;
    const char *slash = strrchr(result, '/');
    if (stat(result, &status) == 0 && S_ISDIR(status.st_mode))
        text_print(out, PATH_MAX, "%s/report.html", result);
    else
        text_print(out, PATH_MAX, "%.*sreport.html", slash ? (int)(slash - result + 1) : 0, result);
}

static int write_report(const struct comparison *c, const char *out)
{
    if (strcmp(out, "-") == 0) {
        report_print(stdout, c);
        errno = 0;
        if (fflush(stdout) == 0 && !ferror(stdout))
            return EXIT_DONE;
        fprintf(stderr, "iobench report: cannot write to standard output: %s\n", strerror(errno ? errno : EIO));
        return EXIT_FAILED;
    }
    int error = report_write(out, c);
    if (error != 0) {
        fprintf(stderr, "iobench report: cannot write %s: %s\n", out, strerror(-error));
        return EXIT_FAILED;
    }
    printf("%s\n", out);
    return EXIT_DONE;
}

static int report(const struct request *q, const struct result_input *input, const char *first)
{
    struct comparison c;
    char why[512], out[PATH_MAX];
    if (compare_init(&c, input->list, input->count, q->baseline, why, sizeof why) != 0) {
        fprintf(stderr, "iobench report: --baseline: %s\n", why);
        return EXIT_WRONG;
    }
    default_out(first, out);
    int status = write_report(&c, q->out ? q->out : out);
    compare_fini(&c);
    return status;
}

int report_command(int argc, char **argv)
{
    struct request request = {0};
    char **paths;
    int outcome = parse(argc, argv, &request, &paths);
    if (outcome != OPTIONS_GO_ON)
        return outcome == OPTIONS_DONE ? EXIT_DONE : EXIT_WRONG;
    SCOPE_FREE struct result_input *input = check_alloc(calloc(1, sizeof *input));
    int status = EXIT_WRONG;
    if (result_input_read(input, paths, "iobench report") == 0)
        status = report(&request, input, paths[0]);
    result_input_fini(input);
    return status;
}
