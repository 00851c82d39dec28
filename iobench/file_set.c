/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/file_set.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "iobench/worker_names.h"

void file_set_init(struct file_set *set, const char *directory, char prefix, uint32_t first_number)
{
    CHECK(strlen(directory) < FILE_SET_DIRECTORY);
    set->prefix = prefix;
    set->file_bytes = 0;
    set->count = 0;
    for (uint32_t i = 0; i < FILE_SET_FILES; i++) {
        (void)snprintf(set->paths[i], FILE_SET_PATH, "%s/%c.%u", directory, prefix, i);
        set->files[i] = (struct worker_file){.path = set->paths[i], .identity = {first_number + i, 0}};
    }
}

void file_set_spread(struct file_set *set, const char *mount, uint32_t count)
{
    size_t length = strlen(mount);
    for (uint32_t i = 0; i < FILE_SET_FILES; i++) {
        uint32_t number = i % count + 1;
        char rest[FILE_SET_PATH];
        if (number == 1)
            continue;
        CHECK(strncmp(set->paths[i], mount, length) == 0);
        (void)snprintf(rest, sizeof rest, "%s", set->paths[i] + length);
        CHECK(snprintf(set->paths[i], FILE_SET_PATH, "%s%u%s", mount, number, rest) < FILE_SET_PATH);
    }
}

void file_set_renew(struct file_set *set, uint32_t from, uint32_t to, uint32_t generation)
{
    CHECK(from <= to && to <= FILE_SET_FILES);
    for (uint32_t i = from; i < to; i++)
        set->files[i].identity.generation = generation;
}

int file_set_remove(struct file_set *set, uint32_t count)
{
    CHECK(count <= FILE_SET_FILES);
    int first = 0;
    for (uint32_t i = 0; i < count; i++)
        if (unlink(set->paths[i]) < 0 && errno != ENOENT && first == 0)
            first = -errno;
    set->count = 0;
    set->file_bytes = 0;
    return first;
}

static bool is_ours(const char *name)
{
    return (name[0] == 'f' || name[0] == 'w' || name[0] == 'd') && name[1] == '.' && name[2] != '\0' &&
           strspn(name + 2, "0123456789") == strlen(name + 2);
}

static void remove_entry(const char *directory, int dir_fd, const char *name)
{
    char path[FILE_SET_PATH];
    if (name[0] != 'd') {
        (void)unlinkat(dir_fd, name, 0);
        return;
    }
    if (snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path)
        (void)!worker_names_remove(path);
}

void file_set_sweep_directory(const char *directory)
{
    DIR *dir = opendir(directory);
    if (!dir)
        return;
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        if (is_ours(entry->d_name))
            remove_entry(directory, dirfd(dir), entry->d_name);
    (void)closedir(dir);
}
