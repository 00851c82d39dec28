/* SPDX-License-Identifier: Apache-2.0
 *
 * snprintf for texts that may be cut: an error line or a name for people, where a longer one loses its end and
 * nothing else. Paths that are opened must not be made with it unless their parts are known to fit.
 */
#ifndef CALF_IOBENCH_TEXT_PRINT_H
#define CALF_IOBENCH_TEXT_PRINT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Prints into `to`, which has room bytes and is always terminated. */
static inline __attribute__((format(printf, 3, 4))) void text_print(char *to, size_t room, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(to, room, format, arguments);
    va_end(arguments);
}

#endif
