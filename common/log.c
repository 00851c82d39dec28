/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_LIMIT = 1000 };

static const char *log_program = "";
static enum log_level log_highest = LOG_INFO;
static const char *const level_names[] = {"error", "warning", "info", "debug"};

void log_init(const char *program, enum log_level level)
{
    log_program = program;
    log_highest = level;
}

int log_level_parse(const char *text, enum log_level *level)
{
    for (unsigned i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

void log_write(enum log_level level, const char *format, ...)
{
    if (level > log_highest)
        return;
    int saved = errno;
    char line[LINE_LIMIT + 2];
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t used = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
    int n = snprintf(line + used, sizeof line - used, ".%03ldZ %s %s: ", now.tv_nsec / 1000000, log_program,
                     level_names[level]);
    if (n > 0)
        used += (size_t)n;
    va_list args;
    va_start(args, format);
    n = vsnprintf(line + used, LINE_LIMIT - used, format, args);
    va_end(args);
    if (n > 0)
        used += (size_t)n < LINE_LIMIT - used ? (size_t)n : LINE_LIMIT - used - 1;
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0) {
        /* Nowhere left to say it. */
    }
    errno = saved;
}
