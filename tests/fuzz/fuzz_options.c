/* SPDX-License-Identifier: Apache-2.0
 *
 * Any words as a command line, against a table with every kind of option: each value that is taken keeps its limits, and
 * nothing is read past an argument's end. Words are separated by NUL.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/options.h"
#include "common/units.h"

enum { WORDS_LIMIT = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What --help and the refusals print is not of interest here; a finding's report goes to a descriptor of its own. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    CHECK(freopen("/dev/null", "w", stdout) != NULL);
    return 0;
}

static int quiet_parse(const struct options *options, int argc, char **argv, char ***positional)
{
    static int nowhere = -1;
    if (nowhere < 0)
        nowhere = open("/dev/null", O_WRONLY);
    int kept = dup(STDERR_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    int rc = options_parse(options, argc, argv, positional);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    bool flag = false, given = false;
    const char *text = NULL;
    uint64_t number = 5, size = 4096;
    unsigned choice = 0;
    struct address address;
    memset(&address, 0, sizeof address);
    const struct option_row rows[] = {
        {.name = "flag", .letter = 'f', .kind = OPTION_FLAG, .help = "f", .target = &flag, .given = &given},
        {.name = "text", .letter = 't', .kind = OPTION_TEXT, .argument = "TEXT", .help = "t", .target = &text},
        {.name = "number", .letter = 'n', .kind = OPTION_NUMBER, .argument = "N", .help = "n", .target = &number,
         .min = 3, .max = 1000},
        {.name = "size", .kind = OPTION_SIZE, .argument = "BYTES", .help = "s", .target = &size, .min = 4096,
         .max = 1 << 30},
        {.name = "choice", .kind = OPTION_CHOICE, .argument = "one|two|three", .help = "c", .target = &choice},
        {.name = "address", .letter = 'a', .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .help = "a",
         .target = &address},
        {.name = NULL},
    };
    const struct options options = {.program = "fuzz", .usage = "[options]", .about = "a", .closing = "c", .rows = rows,
                                    .positional_min = 0, .positional_max = 4};
    char *copy = malloc(bytes + 1), *argv[WORDS_LIMIT + 1] = {"fuzz"}, **positional = NULL;
    CHECK(copy != NULL);
    if (bytes)
        memcpy(copy, data, bytes);
    copy[bytes] = 0;
    int argc = 1;
    for (size_t at = 0; at < bytes && argc < WORDS_LIMIT; at += strlen(copy + at) + 1)
        argv[argc++] = copy + at;
    int rc = quiet_parse(&options, argc, argv, &positional);
    CHECK(rc == OPTIONS_GO_ON || rc == OPTIONS_DONE || rc == OPTIONS_WRONG);
    if (rc == OPTIONS_GO_ON) {
        CHECK(number >= 3 && number <= 1000 && size >= 4096 && size <= 1 << 30 && choice < 3 && flag == given);
        int count = 0;
        while (positional[count])
            count++;
        CHECK(count <= 4);
    }
    free(copy);
    return 0;
}
