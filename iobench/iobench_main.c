/* SPDX-License-Identifier: Apache-2.0
 *
 * iobench: the subcommand table. Each subcommand has its own options and --help.
 */
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "iobench/compare_command.h"
#include "iobench/report_command.h"
#include "iobench/sweep.h"
#include "iobench/worker_command.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"sweep", sweep_command, "measure file systems or deployments side by side, and print the table"},
    {"compare", compare_command, "print the table of results that are there, or judge them"},
    {"worker", worker_command, "do this machine's part of a sweep that another one leads"},
    {"report", report_command, "write a result as one HTML file with charts, to send around"},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out)
{
    fputs("usage: iobench COMMAND [arguments]\n\n"
          "Measures what a deployment costs: paired, interleaved runs, percentages with intervals, CPU cost.\n\n",
          out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].about);
    fprintf(out, "\n  --help, --version; `iobench COMMAND --help` explains the command\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "iobench: a command is missing: sweep, compare, report or worker (try --help)\n");
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("%s\n", options_version());
        return 0;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "iobench: there is no command '%s': sweep, compare, report or worker (try --help)\n", argv[1]);
    return 2;
}
