/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/environment_disks.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "common/units.h"
#include "iobench/text_print.h"

enum { WORD = 128, INDEX_LIMIT = 16, SECTOR = 512 };

static void add(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t room, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

/* The first line of folder/name, without blanks around; "" if there is none. */
static void read_word(const char *folder, const char *name, char word[WORD])
{
    char path[PATH_MAX], line[WORD] = "";
    text_print(path, sizeof path, "%s/%s", folder, name);
    SCOPE_FCLOSE FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof line, file))
        line[0] = '\0';
    size_t length = strlen(line), skip = strspn(line, " \t");
    while (length > skip && strchr(" \t\n", line[length - 1]))
        line[--length] = '\0';
    text_print(word, WORD, "%s", line + skip);
}

void environment_caches(const char *sys, char *text, size_t room)
{
    text[0] = '\0';
    for (int i = 0; i < INDEX_LIMIT; i++) {
        char folder[PATH_MAX], level[WORD], type[WORD], size[WORD], shared[WORD];
        text_print(folder, sizeof folder, "%s/devices/system/cpu/cpu0/cache/index%d", sys, i);
        read_word(folder, "level", level);
        read_word(folder, "type", type);
        read_word(folder, "size", size);
        read_word(folder, "shared_cpu_list", shared);
        if (!level[0])
            return;
        const char *kind = strcmp(type, "Data") == 0 ? "d" : strcmp(type, "Instruction") == 0 ? "i" : "";
        add(text, room, "%sL%s%s %s", text[0] ? ", " : "", level, kind, size);
        if (strcmp(shared, "0") != 0 && shared[0])
            add(text, room, " for CPUs %s", shared);
    }
}

void environment_idle_states(const char *sys, char *text, size_t room)
{
    text[0] = '\0';
    for (int i = 0; i < INDEX_LIMIT; i++) {
        char folder[PATH_MAX], name[WORD], disabled[WORD];
        text_print(folder, sizeof folder, "%s/devices/system/cpu/cpu0/cpuidle/state%d", sys, i);
        read_word(folder, "name", name);
        read_word(folder, "disable", disabled);
        if (!name[0])
            return;
        add(text, room, "%s%s%s", text[0] ? ", " : "", name, strcmp(disabled, "1") == 0 ? " (disabled)" : "");
    }
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_slaves(const char *folder, char *text, size_t room)
{
    char path[PATH_MAX];
    struct dirent **names;
    text_print(path, sizeof path, "%s/slaves", folder);
    int count = scandir(path, &names, is_name, alphasort);
    for (int i = 0; i < count; i++) {
        add(text, room, "%s%s", i ? " " : " of ", names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

static void add_disk(const char *sys, const char *name, char *text, size_t room)
{
    static const char *const left_out[] = {"loop", "ram", "zram", "nbd", "sr", "fd"};
    char folder[PATH_MAX], sectors[WORD], model[WORD], rotating[WORD], size[UNITS_TEXT];
    uint64_t count;
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (strncmp(name, left_out[i], strlen(left_out[i])) == 0)
            return;
    text_print(folder, sizeof folder, "%s/block/%s", sys, name);
    read_word(folder, "size", sectors);
    read_word(folder, "device/model", model);
    read_word(folder, "queue/rotational", rotating);
    if (units_parse_number(sectors, 1, INT64_MAX / SECTOR, &count) < 0)
        return;
    add(text, room, "%s%s %s%s%s%s", text[0] ? ", " : "", name, units_format_bytes(count * SECTOR, size), model[0] ? " " : "", model,
        strcmp(rotating, "1") == 0 ? " (rotating)" : "");
    add_slaves(folder, text, room);
}

void environment_disks(const char *sys, char *text, size_t room)
{
    char path[PATH_MAX];
    struct dirent **names;
    text[0] = '\0';
    text_print(path, sizeof path, "%s/block", sys);
    int count = scandir(path, &names, is_name, alphasort);
    for (int i = 0; i < count; i++) {
        add_disk(sys, names[i]->d_name, text, room);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}
