/* SPDX-License-Identifier: Apache-2.0 */
#include "client/admin_commands.h"

#include <stdarg.h>
#include <string.h>

#include "client/admin_check.h"
#include "client/admin_cluster.h"
#include "client/admin_du.h"
#include "client/admin_files.h"

enum { ANY_NUMBER = 1 << 20 };

const struct admin_command admin_commands[] = {
    {"status", "", "space, servers, health of the cluster", 0, 0, admin_cluster_status},
    {"servers drain", "ID|HOST:PORT", "empty a chunkserver, so that it can be stopped", 1, 1, admin_cluster_drain},
    {"servers undrain", "ID|HOST:PORT", "let it have chunks again", 1, 1, admin_cluster_undrain},
    {"servers", "", "each chunkserver: address, space, what it has served", 0, 0, admin_cluster_servers},
    {"ping", "HOST:PORT", "whether a chunkserver serves data at that address", 1, 1, admin_cluster_ping},
    {"file", "PATH", "each chunk of a file and where its copies are", 1, 1, admin_files_show},
    {"goal get", "PATH", "copies wanted for each chunk", 1, 1, admin_files_get_goal},
    {"goal set", "N PATH...", "want N copies; of a directory: for what is made in it", 2, ANY_NUMBER,
     admin_files_set_goal},
    {"du", "PATH", "files and directories in PATH: length, what was written, what it takes with all copies", 1, 1,
     admin_du_run},
    {"check", "PATH", "read all files in PATH wholly, and every copy of their chunks, and name what is bad", 1, 1, admin_check_run},
    {NULL, NULL, NULL, 0, 0, NULL},
};

int admin_complain(int status, const char *format, ...)
{
    va_list args;
    fputs("calf: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

/* How many of the arguments are the command's name; 0 if they are not. */
static int match(const char *name, char **arguments)
{
    for (int i = 0;; i++) {
        size_t length = strcspn(name, " ");
        if (!arguments[i] || strlen(arguments[i]) != length || strncmp(arguments[i], name, length) != 0)
            return 0;
        if (!name[length])
            return i + 1;
        name += length + 1;
    }
}

int admin_commands_run(const struct admin *admin, char **arguments)
{
    for (const struct admin_command *command = admin_commands; command->name; command++) {
        int words = match(command->name, arguments), count = 0;
        if (words == 0)
            continue;
        arguments += words;
        while (arguments[count])
            count++;
        if (count < command->min || count > command->max)
            return admin_complain(ADMIN_WRONG, "%s (usage: calf %s%s%s)",
                                  count < command->min ? "an argument is missing" : "too many arguments", command->name,
                                  command->arguments[0] ? " " : "", command->arguments);
        int status = command->run(admin, arguments);
        if (fflush(admin->out) != 0 && status == ADMIN_DONE)
            return admin_complain(ADMIN_FAILED, "the result cannot be written: %m");
        return status;
    }
    if (strcmp(arguments[0], "goal") == 0)
        return admin_complain(ADMIN_WRONG, "goal: get PATH, or set N PATH... (try --help)");
    return admin_complain(ADMIN_WRONG, "%s: no such command (try --help)", arguments[0]);
}
