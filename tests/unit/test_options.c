/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "common/units.h"

enum { ARGUMENTS_LIMIT = 12, TEXT_LIMIT = 4096 };

struct fixture {
    bool force, verbose, size_given;
    const char *name;
    uint64_t count, size;
    struct address listen;
    unsigned mode;
    struct option_row rows[8];
    struct options options;
    char *argv[ARGUMENTS_LIMIT + 1];
    char **positional;
    char text[TEXT_LIMIT]; /* what the parser printed */
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->name = "unnamed";
    f->count = 3;
    f->size = 4096;
    const struct option_row rows[] = {
        {.name = "force", .letter = 'f', .kind = OPTION_FLAG, .help = "Do it.", .target = &f->force},
        {.name = "verbose", .kind = OPTION_FLAG, .help = "Say more.", .target = &f->verbose},
        {.name = "name", .letter = 'n', .kind = OPTION_TEXT, .argument = "TEXT", .help = "A name.", .target = &f->name},
        {.name = "count", .kind = OPTION_NUMBER, .argument = "N", .help = "How many.", .target = &f->count, .min = 1,
         .max = 64},
        {.name = "size", .letter = 's', .kind = OPTION_SIZE, .argument = "BYTES", .help = "How big.",
         .target = &f->size, .min = 4096, .given = &f->size_given},
        {.name = "listen", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .help = "Where.", .target = &f->listen},
        {.name = "mode", .kind = OPTION_CHOICE, .argument = "cold|direct|warm", .help = "Cache.", .target = &f->mode},
        {.name = NULL},
    };
    memcpy(f->rows, rows, sizeof rows);
    f->options = (struct options){
        .program = "calf-test", .usage = "[options] PATH", .about = "A paragraph.", .closing = "The closing words.",
        .rows = f->rows, .positional_min = 0, .positional_max = 2,
    };
}

/* Everything the parser prints, stdout and stderr, ends in f->text. Arguments end with NULL. */
static int parse(struct fixture *f, ...)
{
    int argc = 0;
    va_list args;
    f->argv[argc++] = (char *)(uintptr_t)"calf-test";
    va_start(args, f);
    for (char *word; (word = va_arg(args, char *)) != NULL;) {
        assert_true(argc < ARGUMENTS_LIMIT);
        f->argv[argc++] = word;
    }
    va_end(args);
    f->argv[argc] = NULL;

    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stdout);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    assert_true(out >= 0 && err >= 0);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)dup2(fileno(file), STDERR_FILENO);
    int rc = options_parse(&f->options, argc, f->argv, &f->positional);
    (void)fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)close(out);
    (void)close(err);
    ssize_t n = pread(fileno(file), f->text, sizeof f->text - 1, 0);
    f->text[n > 0 ? n : 0] = '\0';
    (void)fclose(file);
    return rc;
}

static void assert_one_line(const char *text)
{
    const char *newline = strchr(text, '\n');
    assert_non_null(newline);
    assert_string_equal(newline, "\n");
    assert_ptr_equal(strstr(text, "calf-test: "), text);
}

static void defaults_stay(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_int_equal(parse(&f, NULL), OPTIONS_GO_ON);
    assert_null(f.positional[0]);
    assert_false(f.force || f.verbose || f.size_given);
    assert_string_equal(f.name, "unnamed");
    assert_int_equal(f.count, 3);
    assert_int_equal(f.size, 4096);
    assert_string_equal(f.text, "");
}

static void each_kind_is_taken(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_int_equal(parse(&f, "--force", "--name", "a b", "--count=64", "--size=1m", "--listen", "[::1]:70",
                           "--mode=warm", NULL), OPTIONS_GO_ON);
    assert_true(f.force);
    assert_false(f.verbose);
    assert_string_equal(f.name, "a b");
    assert_int_equal(f.count, 64);
    assert_int_equal(f.size, MIB);
    assert_true(f.size_given);
    assert_string_equal(f.listen.host, "::1");
    assert_int_equal(f.listen.port, 70);
    assert_int_equal(f.mode, 2);
}

static void letters_and_positionals_in_any_order(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_int_equal(parse(&f, "first", "-f", "-s", "8k", "second", "-nx", NULL), OPTIONS_GO_ON);
    assert_true(f.force);
    assert_int_equal(f.size, 8192);
    assert_string_equal(f.name, "x");
    assert_string_equal(f.positional[0], "first");
    assert_string_equal(f.positional[1], "second");
    assert_null(f.positional[2]);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_int_equal(parse(&f, "-f", "--", "--name", NULL), OPTIONS_GO_ON);
    assert_string_equal(f.positional[0], "--name");
    assert_string_equal(f.name, "unnamed");
}

static void parsing_again_starts_anew(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        fixture_init(&f);
        assert_int_equal(parse(&f, "a", "--count", "7", "b", NULL), OPTIONS_GO_ON);
        assert_int_equal(f.count, 7);
        assert_string_equal(f.positional[1], "b");
    }
}

/* Each wrong use is one line that names the option, the value, and what would be right. */
static void wrong_use_is_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *expected;
    } rows[] = {
        {"--nonsense", NULL, "calf-test: --nonsense: unknown or misused option (try --help)\n"},
        {"--count", NULL, "calf-test: --count: needs a value (try --help)\n"},
        {"--count", "many", "calf-test: --count many: not a number (try --help)\n"},
        {"--count", "0", "calf-test: --count 0: must be from 1 to 64 (try --help)\n"},
        {"--count", "65", "calf-test: --count 65: must be from 1 to 64 (try --help)\n"},
        {"--count", "18446744073709551617",
         "calf-test: --count 18446744073709551617: must be from 1 to 64 (try --help)\n"},
        {"--size", "4095", "calf-test: --size 4095: must be at least 4096 (try --help)\n"},
        {"--size", "big", "calf-test: --size big: not a size (digits and k, m, g or t) (try --help)\n"},
        {"--listen", "nowhere", "calf-test: --listen nowhere: not HOST:PORT (try --help)\n"},
        {"--mode", "lukewarm", "calf-test: --mode lukewarm: must be one of cold|direct|warm (try --help)\n"},
        {"--mode", "col", "calf-test: --mode col: must be one of cold|direct|warm (try --help)\n"},
        {"--mode", "", "calf-test: --mode : must be one of cold|direct|warm (try --help)\n"},
        {"--mode", "cold|direct", "calf-test: --mode cold|direct: must be one of cold|direct|warm (try --help)\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        fixture_init(&f);
        assert_int_equal(parse(&f, rows[i].first, rows[i].second, NULL), OPTIONS_WRONG);
        assert_string_equal(f.text, rows[i].expected);
    }
}

static void a_value_for_a_flag_and_unknown_letters(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_int_equal(parse(&f, "--force=yes", NULL), OPTIONS_WRONG);
    assert_one_line(f.text);
    fixture_init(&f);
    assert_int_equal(parse(&f, "-z", NULL), OPTIONS_WRONG);
    assert_one_line(f.text);
    fixture_init(&f);
    assert_int_equal(parse(&f, "-fz", NULL), OPTIONS_WRONG);
    assert_one_line(f.text);
    fixture_init(&f);
    assert_int_equal(parse(&f, "-s", NULL), OPTIONS_WRONG);
    assert_one_line(f.text);
}

static void required_and_counts(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    f.rows[3].required = true;
    assert_int_equal(parse(&f, "--force", NULL), OPTIONS_WRONG);
    assert_string_equal(f.text, "calf-test: --count: is required (try --help)\n");
    assert_int_equal(parse(&f, "--count", "3", NULL), OPTIONS_GO_ON);

    fixture_init(&f);
    f.options.positional_min = 1;
    assert_int_equal(parse(&f, "-f", NULL), OPTIONS_WRONG);
    assert_one_line(f.text);
    assert_int_equal(parse(&f, "a", "b", "c", NULL), OPTIONS_WRONG);
    assert_one_line(f.text);
    assert_int_equal(parse(&f, "a", "b", NULL), OPTIONS_GO_ON);
}

static void help_names_every_option(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    f.rows[4].required = true; /* help is given without what is required */
    assert_int_equal(parse(&f, "--help", NULL), OPTIONS_DONE);
    static const char *const expected[] = {
        "usage: calf-test [options] PATH\n", "A paragraph.", "The closing words.", "-f, --force", "--verbose",
        "-n, --name TEXT", "--count N", "-s, --size BYTES", "(required)", "--mode cold|direct|warm", "--help",
        "--version",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(f.text, expected[i]))
            fail_msg("--help does not say '%s' but:\n%s", expected[i], f.text);
}

static void version_is_one_line(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_int_equal(parse(&f, "--version", NULL), OPTIONS_DONE);
    assert_ptr_equal(strstr(f.text, "calf "), f.text);
    assert_string_equal(strchr(f.text, '\n'), "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(each_kind_is_taken),
        cmocka_unit_test(letters_and_positionals_in_any_order),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(parsing_again_starts_anew),
        cmocka_unit_test(wrong_use_is_one_line),
        cmocka_unit_test(a_value_for_a_flag_and_unknown_letters),
        cmocka_unit_test(required_and_counts),
        cmocka_unit_test(help_names_every_option),
        cmocka_unit_test(version_is_one_line),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
