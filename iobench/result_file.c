/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/scope.h"
#include "iobench/compare.h"
#include "iobench/result_json.h"
#include "iobench/samples_csv.h"
#include "iobench/table.h"

/* A result of a million samples has about 700 MB; what is larger is no result. */
static const off_t size_limit = (off_t)1 << 31;

static const size_t huge_page = (size_t)2 << 20;

/* What is written; the comparison is made once for both tables. */
struct content {
    const struct result *result;
    const struct comparison *comparison; /* NULL if there is no scenario yet: the tables are then empty */
};

static int write_table(const struct content *content, int fd, bool markdown)
{
    int own = dup(fd);
    if (own < 0)
        return -errno;
    SCOPE_FCLOSE FILE *out = fdopen(own, "w");
    if (!out) {
        int error = -errno;
        (void)close(own);
        return error;
    }
    if (content->comparison)
        table_print_comparison(out, content->comparison, &(struct table_style){.markdown = markdown});
    errno = 0;
    if (fflush(out) != 0 || ferror(out))
        return errno ? -errno : -EIO;
    return 0;
}

static int write_text_table(const struct content *content, int fd)
{
    return write_table(content, fd, false);
}

static int write_markdown_table(const struct content *content, int fd)
{
    return write_table(content, fd, true);
}

static int write_samples(const struct content *content, int fd)
{
    return samples_csv_write(content->result, fd);
}

static int write_json(const struct content *content, int fd)
{
    return result_json_write(content->result, fd);
}

/* Results.json comes last: where it is new, the others are. */
static const struct {
    const char *name, *temporary;
    int (*write)(const struct content *content, int fd);
} files[] = {
    {"samples.csv", ".samples.csv.tmp", write_samples},
    {"table.txt", ".table.txt.tmp", write_text_table},
    {"table.md", ".table.md.tmp", write_markdown_table},
    {"results.json", ".results.json.tmp", write_json},
};

static int write_one(const struct content *content, int dir_fd, size_t index)
{
    SCOPE_CLOSE int fd = openat(dir_fd, files[index].temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int error = files[index].write(content, fd);
    if (error == 0 && fsync(fd) != 0)
        error = -errno;
    if (error == 0 && renameat(dir_fd, files[index].temporary, dir_fd, files[index].name) != 0)
        error = -errno;
    if (error != 0)
        (void)unlinkat(dir_fd, files[index].temporary, 0);
    return error;
}

static int write_all(const struct content *content, int dir_fd)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int error = write_one(content, dir_fd, i);
        if (error != 0)
            return error;
    }
    return fsync(dir_fd) == 0 ? 0 : -errno;
}

int result_file_write(const struct result *r, const char *dir)
{
    SCOPE_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    struct comparison comparison;
    char why[RESULT_FILE_WHY];
    bool compared = compare_init(&comparison, &r, 1, NULL, why, sizeof why) == 0;
    struct content content = {.result = r, .comparison = compared ? &comparison : NULL};
    int error = write_all(&content, dir_fd);
    if (compared)
        compare_fini(&comparison);
    return error;
}

static int give_up(int error, char *why, size_t why_bytes, const char *format, ...) __attribute__((format(printf, 4, 5)));

static int give_up(int error, char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return error;
}

/* Opens the file itself or results.json in the directory; *name says which it was. */
static int open_result(const char *path, char name[PATH_MAX], char *why, size_t why_bytes)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return give_up(-errno, why, why_bytes, "%.300s: %s", path, strerror(errno));
    bool directory = S_ISDIR(status.st_mode);
    if (snprintf(name, PATH_MAX, "%s%s", path, directory ? "/results.json" : "") >= PATH_MAX)
        return give_up(-ENAMETOOLONG, why, why_bytes, "%.300s: %s", path, strerror(ENAMETOOLONG));
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        return fd;
    if (directory && errno == ENOENT)
        return give_up(-ENOENT, why, why_bytes, "%.300s: no result directory, it holds no results.json", path);
    return give_up(-errno, why, why_bytes, "%.300s: %s", name, strerror(errno));
}

/* Reads size bytes; fewer, when the file shrinks meanwhile. */
static int read_whole(int fd, char *text, size_t *size)
{
    size_t done = 0;
    while (done < *size) {
        ssize_t n = read(fd, text + done, *size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *size = done;
    return 0;
}

int result_file_read(const char *path, struct result *r, char *why, size_t why_bytes)
{
    char name[PATH_MAX], reason[RESULT_FILE_WHY];
    SCOPE_CLOSE int fd = open_result(path, name, why, why_bytes);
    struct stat status;
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) != 0)
        return give_up(-errno, why, why_bytes, "%.300s: %s", name, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return give_up(-EINVAL, why, why_bytes, "%.300s: no regular file", name);
    if (status.st_size == 0)
        return give_up(-EINVAL, why, why_bytes, "%.300s: empty", name);
    if (status.st_size > size_limit)
        return give_up(-EINVAL, why, why_bytes, "%.300s: too large for a result (2 GiB at most)", name);
    size_t size = (size_t)status.st_size;
    SCOPE_FREE char *text = check_alloc(aligned_alloc(huge_page, (size + huge_page - 1) / huge_page * huge_page));
    (void)madvise(text, size, MADV_HUGEPAGE); /* first touch page by page takes longer than reading the text */
    int error = read_whole(fd, text, &size);
    if (error != 0)
        return give_up(error, why, why_bytes, "%.300s: %s", name, strerror(-error));
    error = result_json_read(text, size, r, reason, sizeof reason);
    if (error != 0)
        return give_up(error, why, why_bytes, "%.300s: %s", name, reason);
    return 0;
}
