/* SPDX-License-Identifier: Apache-2.0 */
#include "master/journal_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"

#define PREFIX "journal."
enum { DIGITS = 20 };

const char *journal_file_name(uint64_t first_index, char name[JOURNAL_NAME_BYTES])
{
    (void)snprintf(name, JOURNAL_NAME_BYTES, PREFIX "%0*" PRIu64, DIGITS, first_index);
    return name;
}

/* The number in a name; *rest is what follows it. 0: not one of ours. */
static uint64_t number_in(const char *name, const char **rest)
{
    const char *digits = name + strlen(PREFIX);
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strspn(digits, "0123456789") != DIGITS)
        return 0;
    errno = 0;
    uint64_t number = strtoull(digits, NULL, 10);
    *rest = digits + DIGITS;
    return errno ? 0 : number;
}

static void add(struct journal_files *files, uint64_t first_index, uint64_t bytes)
{
    if (files->count == files->room) {
        files->room = files->room ? 2 * files->room : 16;
        files->rows = check_alloc(realloc(files->rows, files->room * sizeof *files->rows));
    }
    files->rows[files->count++] = (struct journal_file){first_index, bytes};
}

static int by_first_index(const void *a, const void *b)
{
    const struct journal_file *x = a, *y = b;
    return x->first_index < y->first_index ? -1 : x->first_index > y->first_index;
}

static int list(struct journal_files *files)
{
    int fd = dup(files->dir_fd);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int error = errno;
        if (fd >= 0)
            (void)close(fd);
        return -error;
    }
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
        const char *rest;
        struct stat status;
        uint64_t first = number_in(entry->d_name, &rest);
        if (first == 0)
            continue;
        if (strcmp(rest, ".tmp") == 0)
            rc = unlinkat(files->dir_fd, entry->d_name, 0) < 0 ? -errno : 0;
        else if (rest[0] == '\0' && fstatat(files->dir_fd, entry->d_name, &status, 0) == 0)
            add(files, first, (uint64_t)status.st_size);
    }
    (void)closedir(dir);
    if (files->count)
        qsort(files->rows, files->count, sizeof *files->rows, by_first_index);
    return rc;
}

/* A lock of fcntl(2): it ends with this process, and a forked child that outlives it does not have it. */
static int take_lock(struct journal_files *files, char *why, size_t why_bytes)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    files->lock_fd = openat(files->dir_fd, PREFIX "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (files->lock_fd < 0)
        return -errno;
    if (fcntl(files->lock_fd, F_SETLK, &lock) == 0)
        return 0;
    if (errno != EACCES && errno != EAGAIN)
        return -errno;
    lock.l_pid = 0;
    (void)fcntl(files->lock_fd, F_GETLK, &lock);
    (void)snprintf(why, why_bytes, "%s: in use by another process (pid %d); stop it first", files->dir, (int)lock.l_pid);
    return -EBUSY;
}

int journal_files_open(struct journal_files *files, const char *dir, char *why, size_t why_bytes)
{
    *files = (struct journal_files){.dir = check_alloc(strdup(dir)), .dir_fd = -1, .lock_fd = -1};
    why[0] = '\0';
    files->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = files->dir_fd < 0 ? -errno : take_lock(files, why, why_bytes);
    if (rc == 0)
        rc = list(files);
    if (rc < 0 && why[0] == '\0')
        (void)snprintf(why, why_bytes, "%s: %s", dir, strerror(-rc));
    return rc;
}

void journal_files_close(struct journal_files *files)
{
    if (files->lock_fd >= 0)
        (void)close(files->lock_fd);
    if (files->dir_fd >= 0)
        (void)close(files->dir_fd);
    free(files->rows);
    free(files->dir);
    *files = (struct journal_files){.dir_fd = -1, .lock_fd = -1};
}

int journal_files_open_one(const struct journal_files *files, uint64_t first_index)
{
    char name[JOURNAL_NAME_BYTES];
    int fd = openat(files->dir_fd, journal_file_name(first_index, name), O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Writes the header into a new file under the temporary name. */
static int write_header(const struct journal_files *files, const struct journal_io *io, const char *temporary,
                        const struct journal_file_header *header, int *fd)
{
    *fd = openat(files->dir_fd, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (*fd < 0)
        return -errno;
    ssize_t n = io->pwrite(io->context, *fd, header, sizeof *header, 0);
    if (n != (ssize_t)sizeof *header)
        return n < 0 ? -errno : -ENOSPC;
    return io->fdatasync(io->context, *fd) < 0 ? -errno : 0;
}

int journal_files_create(struct journal_files *files, const struct journal_io *io, uint64_t first_index, uint64_t epoch,
                         struct journal_file_header *header, bool *named)
{
    char name[JOURNAL_NAME_BYTES], temporary[JOURNAL_NAME_BYTES + 4];
    int fd;
    *named = false;
    *header = (struct journal_file_header){
        .magic = JOURNAL_FILE_MAGIC, .format = JOURNAL_FORMAT, .first_index = first_index, .epoch = epoch};
    if (getrandom(&header->identity, sizeof header->identity, 0) != (ssize_t)sizeof header->identity)
        return -errno;
    header->checksum = journal_file_checksum(header);
    (void)snprintf(temporary, sizeof temporary, "%s.tmp", journal_file_name(first_index, name));
    int rc = write_header(files, io, temporary, header, &fd);
    if (rc == 0) {
        *named = true;
        rc = io->rename(io->context, files->dir_fd, temporary, name) < 0 ? -errno : 0;
    }
    if (rc < 0) {
        (void)unlinkat(files->dir_fd, temporary, 0);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    add(files, first_index, sizeof *header);
    return fd;
}

int journal_files_remove(struct journal_files *files, size_t count)
{
    char name[JOURNAL_NAME_BYTES];
    size_t gone = 0;
    int rc = 0;
    /* The oldest first, and none behind one that could not be removed: what is left has no gap. */
    while (gone < count && rc == 0) {
        if (unlinkat(files->dir_fd, journal_file_name(files->rows[gone].first_index, name), 0) < 0 && errno != ENOENT)
            rc = -errno;
        else
            gone++;
    }
    if (gone) {
        files->count -= gone;
        memmove(files->rows, files->rows + gone, files->count * sizeof *files->rows);
        if (fsync(files->dir_fd) < 0 && rc == 0)
            rc = -errno;
    }
    return rc;
}
