/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/worker_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iobench/text_print.h"
#include "iobench/tick_clock.h"
#include "iobench/worker_loop.h"

/* Digits by hand: printing the name must not be what is measured. */
struct name {
    char path[WORKER_NAMES_PATH];
    size_t prefix;
};

static void name_init(struct name *name, const char *directory, const char *letter)
{
    text_print(name->path, sizeof name->path, "%s/%s", directory, letter);
    name->prefix = strlen(name->path);
}

static const char *name_of(struct name *name, uint64_t number)
{
    char digits[24];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    char *to = name->path + name->prefix;
    while (count > 0)
        *to++ = digits[--count];
    *to = '\0';
    return name->path;
}

static int error_of(int rc)
{
    return rc < 0 ? -errno : 0;
}

static int create_one(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : error_of(close(fd));
}

static int open_one(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : error_of(close(fd));
}

/* How many entries there are beside "." and ".."; with `letter`, of that kind only. */
static int count_entries(const char *directory, char letter, uint64_t *count)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    *count = 0;
    if (!dir)
        return -errno;
    errno = 0;
    while ((entry = readdir(dir)))
        *count += entry->d_name[0] != '.' && (!letter || entry->d_name[0] == letter);
    int error = errno;
    return closedir(dir) < 0 ? -errno : -error;
}

int worker_names_remove(const char *directory)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    int rc = 0;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlinkat(dirfd(dir), entry->d_name, 0) < 0)
            rc = -errno;
    (void)closedir(dir);
    return rmdir(directory) < 0 && rc == 0 ? -errno : rc;
}

int worker_names_prepare(struct worker *worker)
{
    const struct workers_job *job = &worker->all->job;
    struct name name;
    int rc = worker_names_remove(worker->file->path);
    if (rc == 0)
        rc = error_of(mkdir(worker->file->path, 0700));
    if (rc < 0)
        return rc;
    name_init(&name, worker->file->path, "");
    if (job->workload->test == TEST_CREATE)
        return 0;
    for (uint64_t i = 0; rc == 0 && i < job->load.files_per_worker; i++) {
        if (atomic_load_explicit(&worker->all->stop, memory_order_relaxed))
            return -EINTR;
        rc = create_one(name_of(&name, i));
    }
    return rc;
}

static int do_one(struct worker *worker, struct name *name, struct name *renamed, uint64_t number)
{
    struct stat st;
    uint64_t seen;
    switch (worker->all->job.workload->test) {
    case TEST_CREATE:
        return create_one(name_of(name, number));
    case TEST_STAT:
        return error_of(stat(name_of(name, number), &st));
    case TEST_OPEN:
        return open_one(name_of(name, number));
    case TEST_READDIR: {
        int rc = count_entries(worker->file->path, '\0', &seen);
        return rc < 0 ? rc : seen != worker->all->job.load.files_per_worker ? -ENODATA : 0;
    }
    case TEST_RENAME:
        return error_of(rename(name_of(name, number), name_of(renamed, number)));
    case TEST_UNLINK:
        return error_of(unlink(name_of(name, number)));
    default:
        return -ENOSYS;
    }
}

/* What must be in the directory after the test. */
static void verify(struct worker *worker)
{
    const struct workers_job *job = &worker->all->job;
    enum test_kind test = job->workload->test;
    uint64_t all = 0, of_kind = 0, files = job->load.files_per_worker, expected = test == TEST_UNLINK ? 0 : files;
    int rc = count_entries(worker->file->path, '\0', &all);
    if (rc == 0)
        rc = count_entries(worker->file->path, test == TEST_RENAME ? 'r' : '\0', &of_kind);
    if (rc < 0) {
        worker_loop_fail_call(worker, "verifying names", rc);
        return;
    }
    char what[160];
    text_print(what, sizeof what, "after %s: expected %llu names, found %llu, of them %llu right", test_kind_name(test),
               (unsigned long long)expected, (unsigned long long)all, (unsigned long long)of_kind);
    if (all != expected || of_kind != expected)
        worker_loop_fail(worker, what);
}

void worker_names_run(struct worker *worker)
{
    const struct workers_job *job = &worker->all->job;
    struct name name, renamed;
    name_init(&name, worker->file->path, "");
    name_init(&renamed, worker->file->path, "r");
    uint64_t count = job->workload->test == TEST_READDIR ? WORKER_NAMES_PASSES : job->load.files_per_worker;
    int64_t begin = tick_clock_ns();
    for (uint64_t i = 0; i < count;) {
        if (atomic_load_explicit(&worker->all->stop, memory_order_relaxed))
            return;
        int rc = do_one(worker, &name, &renamed, i);
        int64_t end = tick_clock_ns();
        if (rc == -EINTR)
            continue;
        if (rc < 0) {
            char call[48];
            text_print(call, sizeof call, "%s of name %llu", test_kind_name(job->workload->test), (unsigned long long)i);
            worker_loop_fail_call(worker, call, rc);
            return;
        }
        histogram_record(&worker->histogram, end - begin);
        atomic_store_explicit(&worker->operations_done, ++i, memory_order_relaxed);
        begin = end;
    }
    worker->done_ns = clock_mono_ns();
    if (job->verify)
        verify(worker);
}
