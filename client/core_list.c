/* SPDX-License-Identifier: Apache-2.0 */
#include "client/core_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* More than any kernel has. */
enum { CORES_LIMIT = 1 << 16 };

static bool read_number(const char **at, unsigned *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    unsigned long value = strtoul(*at, &end, 10);
    *at = end;
    *number = (unsigned)value;
    return value < CORES_LIMIT;
}

/* Takes one part, "3" or "0-3", and what separates it from the next. False at the end, and for what is no part. */
static bool next_part(const char **at, unsigned *first, unsigned *last)
{
    if (!read_number(at, first))
        return false;
    *last = *first;
    if (**at == '-') {
        ++*at;
        if (!read_number(at, last) || *last < *first)
            return false;
    }
    if (**at == ',')
        ++*at;
    return true;
}

unsigned core_list_count(const char *list)
{
    unsigned first, last, count = 0;
    while (next_part(&list, &first, &last))
        count += last - first + 1;
    return *list == '\0' || *list == '\n' ? count : 0;
}

bool core_list_has(const char *list, unsigned core)
{
    unsigned first, last;
    while (next_part(&list, &first, &last))
        if (core >= first && core <= last)
            return true;
    return false;
}
