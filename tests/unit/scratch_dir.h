/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory of a test's own under $TMPDIR, or in memory, and what is done with the files in it.
 */
#ifndef CALF_SCRATCH_DIR_H
#define CALF_SCRATCH_DIR_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRATCH_PATH = 256 };

static inline void scratch_make(char path[SCRATCH_PATH])
{
    const char *base = getenv("TMPDIR");
    if (!base || !base[0])
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* memory: thousands of small files are made */
    (void)snprintf(path, SCRATCH_PATH, "%s/calf-test.XXXXXX", base);
    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
}

/* Removes the files in the directory (it has no subdirectories). */
static inline void scratch_empty(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

static inline void scratch_remove(const char *path)
{
    scratch_empty(path);
    (void)rmdir(path);
}

static inline char *scratch_path(const char *dir, const char *name, char path[2 * SCRATCH_PATH])
{
    (void)snprintf(path, 2 * SCRATCH_PATH, "%s/%s", dir, name);
    return path;
}

/* The whole file, the caller's to free; NULL if it cannot be read. */
static inline unsigned char *scratch_read(const char *dir, const char *name, size_t *bytes)
{
    char path[2 * SCRATCH_PATH];
    struct stat status;
    int fd = open(scratch_path(dir, name, path), O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0)
        return NULL;
    unsigned char *data = malloc((size_t)status.st_size + 1);
    *bytes = data ? (size_t)read(fd, data, (size_t)status.st_size) : 0;
    (void)close(fd);
    return data;
}

/* 0, or -1. */
static inline int scratch_write(const char *dir, const char *name, const void *data, size_t bytes)
{
    char path[2 * SCRATCH_PATH];
    int fd = open(scratch_path(dir, name, path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t n = fd < 0 ? -1 : write(fd, data, bytes);
    if (fd >= 0)
        (void)close(fd);
    return n == (ssize_t)bytes ? 0 : -1;
}

static inline int scratch_has(const char *dir, const char *name)
{
    char path[2 * SCRATCH_PATH];
    return access(scratch_path(dir, name, path), F_OK) == 0;
}

#endif
