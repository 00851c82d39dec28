/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines on stderr: "2026-01-31T12:00:00.123Z calf-master warning: text". One write(2) a line, so lines of several
 * threads never mix. Who gives up logs; who returns the error does not. Any thread may call any function here.
 */
#ifndef CALF_LOG_H
#define CALF_LOG_H

enum log_level { LOG_NOTHING = -1, LOG_ERROR = 0, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Names the program (the string is kept, not copied) and sets the highest level that is written. Call once,
 * before threads start. Default: no name, LOG_INFO. */
void log_init(const char *program, enum log_level level);

/* The level for "error", "warning", "info" or "debug"; -EINVAL for any other text. */
int log_level_parse(const char *text, enum log_level *level) __attribute__((warn_unused_result));

/* Writes one line; the text needs no newline. Longer than 1000 bytes is cut. errno is left as it was. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

#endif
