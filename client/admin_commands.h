/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of `calf`: a table of them, and what all of them are given. A command prints its result on
 * admin->out, problems on stderr (a line each, with admin_complain), and returns the exit status. One thread.
 */
#ifndef CALF_ADMIN_COMMANDS_H
#define CALF_ADMIN_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/units.h"

enum admin_exit { ADMIN_DONE = 0, ADMIN_FAILED = 1, ADMIN_WRONG = 2 };

struct admin {
    struct address master; /* its control address */
    bool json;
    FILE *out;
};

struct admin_command {
    const char *name;      /* "goal set": two words are given as two arguments */
    const char *arguments; /* as --help shows them */
    const char *help;      /* one sentence */
    int min, max;          /* arguments after the name */
    int (*run)(const struct admin *admin, char **arguments);
};

extern const struct admin_command admin_commands[]; /* ends with a row whose name is NULL */

/* Finds the command that the arguments (NULL-terminated) begin with and runs it with the rest. Returns the exit
 * status. */
int admin_commands_run(const struct admin *admin, char **arguments);

/* "calf: ..." on stderr. Returns `status`, to be returned in turn. */
int admin_complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
