/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/mount_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "iobench/text_print.h"

static bool is_octal(const char *digits)
{
    for (int i = 0; i < 3; i++)
        if (digits[i] < '0' || digits[i] > '7')
            return false;
    return true;
}

/* The kernel writes blanks, tabs, newlines and backslashes as \040 and so on. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (*from == '\\' && is_octal(from + 1)) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool holds(const char *point, const char *directory)
{
    size_t length = strlen(point);
    if (length == 1)
        return true;
    return strncmp(point, directory, length) == 0 && (directory[length] == '/' || directory[length] == '\0');
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/sda rw,errors=continue": the optional fields
 * before the dash vary in number. */
static bool parse_line(char *line, struct mount_entry *entry)
{
    char *rest = NULL, *point = NULL, *word = strtok_r(line, " \n", &rest);
    for (int i = 0; word && strcmp(word, "-") != 0; i++) {
        if (i == 4)
            point = word;
        word = strtok_r(NULL, " \n", &rest);
    }
    char *type = strtok_r(NULL, " \n", &rest), *source = strtok_r(NULL, " \n", &rest);
    char *options = strtok_r(NULL, " \n", &rest);
    if (!word || !point || !type || !source || strlen(point) >= sizeof entry->point)
        return false;
    unescape(point);
    unescape(source);
    text_print(entry->point, sizeof entry->point, "%s", point);
    text_print(entry->fs_type, sizeof entry->fs_type, "%s", type);
    text_print(entry->source, sizeof entry->source, "%s", source);
    text_print(entry->options, sizeof entry->options, "%s", options ? options : "");
    return true;
}

int mount_table_find(const char *table, const char *directory, struct mount_entry *entry)
{
    SCOPE_FCLOSE FILE *file = fopen(table, "re");
    if (!file)
        return -errno;
    SCOPE_FREE char *line = NULL;
    size_t room = 0, best = 0;
    while (getline(&line, &room, file) >= 0) {
        struct mount_entry candidate;
        if (!parse_line(line, &candidate) || !holds(candidate.point, directory) || strlen(candidate.point) < best)
            continue;
        best = strlen(candidate.point);
        *entry = candidate;
    }
    return best > 0 ? 0 : -ENOENT;
}
