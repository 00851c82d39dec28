/* SPDX-License-Identifier: Apache-2.0 */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/units.h"

#ifndef CALF_VERSION
#define CALF_VERSION "unknown"
#endif

enum { ROWS_LIMIT = 96, LONG_BASE = 1000, OPTION_HELP = LONG_BASE - 1, OPTION_VERSION = LONG_BASE - 2 };

const char *options_version(void)
{
    return "calf " CALF_VERSION;
}

static int wrong(const struct options *options, const char *what, const char *name, const char *value)
{
    if (value)
        fprintf(stderr, "%s: --%s %s: %s (try --help)\n", options->program, name, value, what);
    else
        fprintf(stderr, "%s: %s%s: %s (try --help)\n", options->program, name[0] == '-' ? "" : "--", name, what);
    return OPTIONS_WRONG;
}

static void print_help(const struct options *options)
{
    printf("usage: %s %s\n\n%s\n\n", options->program, options->usage, options->about);
    for (const struct option_row *row = options->rows; row->name; row++) {
        char left[128], letter[5] = "    ";
        if (row->letter)
            (void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
        (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
                       row->argument ? row->argument : "");
        printf("  %-34s%s%s%s\n", left, strlen(left) > 33 ? "\n                                    " : "", row->help,
               row->required ? " (required)" : "");
    }
    printf("  %-34s%s\n  %-34s%s\n", "    --help", "print this", "    --version", "print the version");
    if (options->closing)
        printf("\n%s\n", options->closing);
}

static bool in_limits(const struct option_row *row, uint64_t value)
{
    return value >= row->min && (row->max == 0 || value <= row->max);
}

static int take_choice(const struct options *options, const struct option_row *row, const char *value)
{
    const char *word = row->argument;
    for (unsigned i = 0;; i++) {
        size_t length = strcspn(word, "|");
        if (strlen(value) == length && strncmp(word, value, length) == 0) {
            *(unsigned *)row->target = i;
            return OPTIONS_GO_ON;
        }
        if (!word[length])
            break;
        word += length + 1;
    }
    char what[160];
    (void)snprintf(what, sizeof what, "must be one of %s", row->argument);
    return wrong(options, what, row->name, value);
}

static int take_count(const struct options *options, const struct option_row *row, const char *value)
{
    uint64_t n = 0;
    int rc = row->kind == OPTION_SIZE ? units_parse_size(value, &n) : units_parse_number(value, 0, UINT64_MAX, &n);
    if (rc == -EINVAL)
        return wrong(options, row->kind == OPTION_SIZE ? "not a size (digits and k, m, g or t)" : "not a number",
                     row->name, value);
    if (rc < 0 || !in_limits(row, n)) {
        char what[120];
        if (row->max)
            (void)snprintf(what, sizeof what, "must be from %llu to %llu", (unsigned long long)row->min,
                           (unsigned long long)row->max);
        else
            (void)snprintf(what, sizeof what, "must be at least %llu", (unsigned long long)row->min);
        return wrong(options, what, row->name, value);
    }
    *(uint64_t *)row->target = n;
    return OPTIONS_GO_ON;
}

static int take(const struct options *options, const struct option_row *row, char *value)
{
    if (row->given)
        *row->given = true;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->target = true;
        return OPTIONS_GO_ON;
    case OPTION_TEXT:
        *(const char **)row->target = value;
        return OPTIONS_GO_ON;
    case OPTION_NUMBER:
    case OPTION_SIZE:
        return take_count(options, row, value);
    case OPTION_ADDRESS:
        if (units_parse_address(value, row->target) < 0)
            return wrong(options, "not HOST:PORT", row->name, value);
        return OPTIONS_GO_ON;
    case OPTION_CHOICE:
        return take_choice(options, row, value);
    }
    CHECK(false && "a kind without a case");
    return OPTIONS_WRONG;
}

static unsigned make_tables(const struct options *options, struct option *longs, char *shorts)
{
    unsigned count = 0;
    *shorts++ = ':';
    for (const struct option_row *row = options->rows; row->name; row++) {
        CHECK(count < ROWS_LIMIT);
        longs[count] = (struct option){row->name, row->kind == OPTION_FLAG ? no_argument : required_argument, NULL,
                                       LONG_BASE + (int)count};
        count++;
        if (row->letter) {
            *shorts++ = row->letter;
            if (row->kind != OPTION_FLAG)
                *shorts++ = ':';
        }
    }
    longs[count] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    longs[count + 1] = (struct option){"version", no_argument, NULL, OPTION_VERSION};
    longs[count + 2] = (struct option){NULL, 0, NULL, 0};
    *shorts = '\0';
    return count;
}

static const struct option_row *row_of(const struct options *options, int code)
{
    if (code >= LONG_BASE)
        return options->rows + (code - LONG_BASE);
    const struct option_row *row = options->rows;
    while (row->letter != (char)code)
        row++;
    return row;
}

int options_parse(const struct options *options, int argc, char **argv, char ***positional)
{
    struct option longs[ROWS_LIMIT + 3];
    char shorts[2 * ROWS_LIMIT + 2];
    bool used[ROWS_LIMIT] = {false};
    (void)make_tables(options, longs, shorts);
    optind = 0;
    opterr = 0;
    for (;;) {
        int code = getopt_long(argc, argv, shorts, longs, NULL);
        if (code == -1)
            break;
        if (code == OPTION_HELP) {
            print_help(options);
            return OPTIONS_DONE;
        }
        if (code == OPTION_VERSION) {
            printf("%s\n", options_version());
            return OPTIONS_DONE;
        }
        if (code == '?' || code == ':') {
            const char *text = argv[optind - 1];
            return wrong(options, code == ':' ? "needs a value" : "unknown or misused option",
                         text[0] == '-' ? text : "-?", NULL);
        }
        const struct option_row *row = row_of(options, code);
        used[row - options->rows] = true;
        int rc = take(options, row, optarg);
        if (rc != OPTIONS_GO_ON)
            return rc;
    }
    for (const struct option_row *row = options->rows; row->name; row++)
        if (row->required && !used[row - options->rows])
            return wrong(options, "is required", row->name, NULL);
    int count = argc - optind;
    if (count < options->positional_min || count > options->positional_max) {
        fprintf(stderr, "%s: %s (usage: %s %s)\n", options->program,
                count < options->positional_min ? "an argument is missing" : "too many arguments", options->program,
                options->usage);
        return OPTIONS_WRONG;
    }
    *positional = argv + optind;
    return OPTIONS_GO_ON;
}
