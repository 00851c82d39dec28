/* SPDX-License-Identifier: Apache-2.0
 *
 * calf: the administration's command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/admin_commands.h"
#include "common/log.h"
#include "common/options.h"

enum { ARGUMENTS_LIMIT = 1 << 20, ABOUT_BYTES = 4096 };

#define MASTER_VARIABLE "CALF_MASTER"

static const char closing[] =
    "file, goal, du and check work on a path inside a mount and ask that mount; status and servers ask the master.\n"
    "\n"
    "With --json:\n"
    "  status    one object; names and meanings as in docs/protocol.md, admin_status\n"
    "  servers   {\"servers\": [{\"id\", \"host\", \"port\", \"online\", \"total_bytes\", \"used_bytes\", \"chunks\",\n"
    "            \"read_bytes\", \"read_requests\", \"write_bytes\", \"write_requests\", \"damaged_blocks\", \"bad_frames\",\n"
    "            \"since_poll_ms\", \"draining\", \"to_move\", \"may_be_stopped\"}]}\n"
    "  file      {\"path\", \"size\", \"goal\", \"chunks\": [{\"index\", \"id\", \"version\",\n"
    "            \"copies\": [{\"server\", \"host\", \"port\", \"state\"}]}]}; state is valid, away, damaged or pending\n"
    "  goal get  {\"path\", \"goal\"}\n"
    "  du        {\"files\", \"directories\", \"apparent_bytes\", \"used_bytes\", \"stored_bytes\"}: lengths, blocks that were\n"
    "            written, and those times the copies wanted; a file with several names counts once\n"
    "  check     {\"files\", \"bytes\", \"copies\", \"failed\": [{\"path\", \"offset\", \"error\"}],\n"
    "            \"bad_copies\": [{\"path\", \"chunk\", \"server\", \"host\", \"port\", \"state\"}]}\n"
    "\n"
    "Exit status: 0 done, 1 failed (check: something cannot be read, or a copy is bad), 2 wrong usage or a path that is on no calf "
    "mount.";

static void describe(char about[ABOUT_BYTES])
{
    size_t used = (size_t)snprintf(about, ABOUT_BYTES, "Shows and directs a calf cluster. COMMAND is one of");
    for (const struct admin_command *row = admin_commands; row->name && used < ABOUT_BYTES; row++) {
        char left[40];
        (void)snprintf(left, sizeof left, "%s%s%s", row->name, row->arguments[0] ? " " : "", row->arguments);
        used += (size_t)snprintf(about + used, ABOUT_BYTES - used, "\n  %-29s%s", left, row->help);
    }
}

int main(int argc, char **argv)
{
    struct admin admin = {.master = {"127.0.0.1", 9420}, .out = stdout};
    char about[ABOUT_BYTES], **arguments;
    bool given = false;
    const struct option_row rows[] = {
        {.name = "master", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .target = &admin.master, .given = &given,
         .help = "the master's control address; default $" MASTER_VARIABLE ", or 127.0.0.1:9420"},
        {.name = "json", .kind = OPTION_FLAG, .target = &admin.json, .help = "print JSON"},
        {.name = NULL},
    };
    describe(about);
    const struct options options = {
        .program = "calf", .usage = "[options] COMMAND [ARGUMENT...]", .about = about, .closing = closing, .rows = rows,
        .positional_min = 1, .positional_max = ARGUMENTS_LIMIT,
    };
    log_init("calf", LOG_WARNING);
    int rc = options_parse(&options, argc, argv, &arguments);
    if (rc != OPTIONS_GO_ON)
        return rc == OPTIONS_DONE ? ADMIN_DONE : ADMIN_WRONG;
    const char *variable = getenv(MASTER_VARIABLE);
    if (!given && variable && variable[0] && units_parse_address(variable, &admin.master) < 0)
        return admin_complain(ADMIN_WRONG, MASTER_VARIABLE "=%s: not HOST:PORT", variable);
    return admin_commands_run(&admin, arguments);
}
