/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

enum { TEXT_LIMIT = 1 << 20, WRITERS = 4, LINES_EACH = 300 };

static FILE *captured;
static int saved_stderr = -1;

static void capture_start(void)
{
    captured = tmpfile();
    assert_non_null(captured);
    saved_stderr = dup(STDERR_FILENO);
    assert_true(saved_stderr >= 0);
    /* As in real use (a log file that several descriptors share), every write lands at the end. */
    assert_true(dup2(fileno(captured), STDERR_FILENO) >= 0);
}

/* Ends the capture; the text is the caller's to free. */
static char *capture_end(void)
{
    (void)dup2(saved_stderr, STDERR_FILENO);
    (void)close(saved_stderr);
    char *text = calloc(1, TEXT_LIMIT);
    assert_non_null(text);
    assert_true(pread(fileno(captured), text, TEXT_LIMIT - 1, 0) >= 0);
    (void)fclose(captured);
    return text;
}

static void levels_by_name(void **state)
{
    (void)state;
    enum log_level level = LOG_ERROR;
    assert_int_equal(log_level_parse("debug", &level), 0);
    assert_int_equal(level, LOG_DEBUG);
    assert_int_equal(log_level_parse("warning", &level), 0);
    assert_int_equal(level, LOG_WARNING);
    assert_int_equal(log_level_parse("loud", &level), -EINVAL);
    assert_int_equal(log_level_parse("", &level), -EINVAL);
    assert_int_equal(level, LOG_WARNING);
}

static void a_line_has_time_program_level_and_text(void **state)
{
    (void)state;
    log_init("calf-test", LOG_INFO);
    capture_start();
    log_warning("chunk %d of %s", 7, "file");
    char *text = capture_end();
    int year, month, day, hour, minute, second, ms, end = 0;
    assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ calf-test warning: chunk 7 of file%n", &year, &month,
                            &day, &hour, &minute, &second, &ms, &end), 7);
    assert_string_equal(text + end, "\n");
    assert_true(year >= 2024 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24);
    free(text);
}

static void levels_above_the_highest_are_silent(void **state)
{
    (void)state;
    log_init("calf-test", LOG_WARNING);
    capture_start();
    log_debug("one");
    log_info("two");
    log_warning("three");
    log_error("four");
    char *text = capture_end();
    assert_null(strstr(text, "one"));
    assert_null(strstr(text, "two"));
    assert_non_null(strstr(text, "warning: three\n"));
    assert_non_null(strstr(text, "error: four\n"));
    free(text);
}

static void long_text_is_cut_and_still_a_line(void **state)
{
    (void)state;
    char *big = malloc(5001);
    assert_non_null(big);
    memset(big, 'x', 5000);
    big[5000] = '\0';
    log_init("calf-test", LOG_INFO);
    for (int length = 900; length <= 5000; length += length < 1010 ? 1 : 1000) {
        capture_start();
        log_info("%.*s", length, big);
        log_info("next");
        char *text = capture_end();
        char *newline = strchr(text, '\n');
        assert_non_null(newline);
        assert_true(newline - text <= 1000);
        assert_true(newline[-1] == 'x');
        assert_non_null(strstr(newline, "calf-test info: next\n"));
        free(text);
    }
    free(big);
}

static void errno_is_left_alone(void **state)
{
    (void)state;
    log_init("calf-test", LOG_INFO);
    capture_start();
    errno = ENOSPC;
    log_error("full");
    int after = errno;
    free(capture_end());
    assert_int_equal(after, ENOSPC);
    /* Also when stderr is gone. */
    int kept = dup(STDERR_FILENO);
    (void)close(STDERR_FILENO);
    errno = EXDEV;
    log_error("nobody reads this");
    after = errno;
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    assert_int_equal(after, EXDEV);
}

static void *write_lines(void *argument)
{
    const char *letter = argument;
    for (int i = 0; i < LINES_EACH; i++)
        log_info("%.*s", 80 + i, letter);
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    static char letters[WRITERS][LINES_EACH + 81];
    pthread_t threads[WRITERS];
    log_init("calf-test", LOG_INFO);
    capture_start();
    for (int i = 0; i < WRITERS; i++) {
        memset(letters[i], 'a' + i, LINES_EACH + 80);
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, letters[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        (void)pthread_join(threads[i], NULL);
    char *text = capture_end(), *rest = text;
    int lines = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line; lines++) {
        const char *payload = strstr(line, "info: ");
        assert_non_null(payload);
        payload += strlen("info: ");
        char first[2] = {payload[0], '\0'};
        assert_int_equal(strspn(payload, first), strlen(payload));
    }
    assert_int_equal(lines, WRITERS * LINES_EACH);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_by_name),
        cmocka_unit_test(a_line_has_time_program_level_and_text),
        cmocka_unit_test(levels_above_the_highest_are_silent),
        cmocka_unit_test(long_text_is_cut_and_still_a_line),
        cmocka_unit_test(errno_is_left_alone),
        cmocka_unit_test(lines_of_threads_do_not_mix),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
