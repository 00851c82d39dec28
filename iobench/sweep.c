/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/options.h"
#include "iobench/interrupt.h"
#include "iobench/report.h"
#include "iobench/sweep_run.h"
#include "iobench/sweep_setup.h"
#include "iobench/table.h"
#include "iobench/text_print.h"

/* "iobench sweep ..." as it could be typed again; words with blanks or quotes are quoted. */
static void note_command_line(struct result *r, int argc, char **argv)
{
    size_t used = 0;
    text_print(r->command_line, sizeof r->command_line, "iobench");
    for (int i = 0; i < argc; i++) {
        used = strlen(r->command_line);
        bool quote = argv[i][0] == '\0' || strpbrk(argv[i], " \t\n\"'\\$`&;<>|*?") != NULL;
        text_print(r->command_line + used, sizeof r->command_line - used, quote ? " '%s'" : " %s", argv[i]);
    }
}

/* Not with every save: it takes longer than all the other files together. */
static void write_report(struct sweep *s)
{
    int error = report_write_result(s->out, &s->result);
    if (error == 0)
        return;
    fprintf(stderr, "iobench sweep: cannot write %s/report.html: %s\n", s->out, strerror(-error));
    s->save_failed = true;
}

static int report(struct sweep *s, bool clean)
{
    const struct result *r = &s->result;
    write_report(s);
    const char *no_color = getenv("NO_COLOR");
    struct table_style style = {.color = isatty(STDOUT_FILENO) && !(no_color && no_color[0])};
    if (s->interrupted) {
        fprintf(
            stderr,
            "iobench sweep: interrupted after %llu of %llu runs; saved in %s ('iobench sweep --resume --out %s' "
            "goes on)\n",
            (unsigned long long)r->sample_count, (unsigned long long)s->plan.runs, s->out, s->out);
        return SWEEP_FAILED;
    }
    table_print(stdout, r, &style);
    printf("\nresult: %s\nreport: %s/report.html\n", s->out, s->out);
    if (s->failed_runs > 0)
        fprintf(stderr, "iobench sweep: %llu of %llu runs failed and have no figures\n",
                (unsigned long long)s->failed_runs, (unsigned long long)s->new_runs);
    if (s->marked_runs > 0)
        fprintf(stderr, "iobench sweep: %llu of %llu runs are marked: no ratio is taken from them\n",
                (unsigned long long)s->marked_runs, (unsigned long long)s->new_runs);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    return s->failed_runs > 0 || s->save_failed || !clean || !written ? SWEEP_FAILED : SWEEP_DONE;
}

static int run_all(struct sweep *s)
{
    interrupt_install();
    int status = sweep_setup_scenarios(s);
    if (status == SWEEP_DONE) {
        plan_print(stderr, &s->plan, &s->result);
        sweep_run(s);
    } else if (interrupt_requested()) {
        fprintf(stderr, "iobench sweep: interrupted before the first run\n");
        status = SWEEP_FAILED;
    }
    bool ran = status == SWEEP_DONE;
    bool clean = sweep_setup_undo(s);
    return ran ? report(s, clean) : status;
}

int sweep_command(int argc, char **argv)
{
    struct sweep_options options;
    int rc = sweep_options_parse(argc, argv, &options);
    if (rc != OPTIONS_GO_ON)
        return rc == OPTIONS_DONE ? SWEEP_DONE : SWEEP_WRONG;
    /* Never freed: a worker that did not come back may still look at it. */
    static struct sweep *s;
    s = check_alloc(calloc(1, sizeof *s));
    s->options = options;
    int status = sweep_setup_plan(s);
    if (status != SWEEP_DONE)
        return status;
    if (s->result.command_line[0] == '\0')
        note_command_line(&s->result, argc, argv);
    if (options.dry_run)
        plan_print(stdout, &s->plan, &s->result);
    else
        status = run_all(s);
    if (s->machines)
        machines_destroy(s->machines);
    plan_fini(&s->plan);
    result_fini(&s->result);
    free(s->have);
    return status;
}
