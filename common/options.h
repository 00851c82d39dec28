/* SPDX-License-Identifier: Apache-2.0
 *
 * Command line options as a table: parsing, limits, --help and --version come from it. Every program (and every
 * subcommand) owns one table. Wrong usage is one line on stderr, "PROGRAM: what (try --help)", and OPTIONS_WRONG.
 * Options may stand before or after the positional arguments; "--name=value" and "--name value" are the same;
 * "--" ends the options. Not thread-safe; call from main.
 */
#ifndef CALF_OPTIONS_H
#define CALF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,    /* bool *                 set to true                          */
    OPTION_TEXT,    /* const char **          points into argv                     */
    OPTION_NUMBER,  /* uint64_t *             decimal, min to max                  */
    OPTION_SIZE,    /* uint64_t *             bytes, with k m g t; min to max      */
    OPTION_ADDRESS, /* struct address *       HOST:PORT                            */
    OPTION_CHOICE,  /* unsigned *             index of the word in "a|b|c" (.argument) */
};

struct option_row {
    const char *name;     /* long name without the dashes */
    char letter;          /* short form, or 0 */
    enum option_kind kind;
    const char *argument; /* what --help calls the value; the words of an OPTION_CHOICE; NULL for a flag */
    const char *help;     /* one sentence, with unit and default */
    void *target;         /* see option_kind; holds the default beforehand */
    bool required;
    uint64_t min, max; /* numbers and sizes; max 0: no limit */
    bool *given;       /* if not NULL: set to true when the option was used */
};

struct options {
    const char *program;            /* as messages name it, e.g. "calf-master" or "iobench sweep" */
    const char *usage;              /* the synopsis after the program's name, e.g. "--data DIR [options]" */
    const char *about;              /* a paragraph for --help */
    const char *closing;            /* printed last by --help: examples, exit status; may be NULL */
    const struct option_row *rows;  /* ends with a row whose name is NULL */
    int positional_min, positional_max;
};

enum { OPTIONS_GO_ON = 0, OPTIONS_DONE = 1, OPTIONS_WRONG = -22 /* -EINVAL */ };

/* Parses argv[1..]. OPTIONS_GO_ON: *positional points to the positional arguments, NULL-terminated (argv is
 * permuted, nothing is allocated). OPTIONS_DONE: --help or --version was printed; exit 0. OPTIONS_WRONG: the line
 * is on stderr; exit 2. */
int options_parse(const struct options *options, int argc, char **argv, char ***positional)
    __attribute__((warn_unused_result));

/* "calf 0.1 (commit abcdef0)": what --version prints. */
const char *options_version(void);

#endif
