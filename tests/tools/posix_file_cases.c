/* SPDX-License-Identifier: Apache-2.0
 *
 * Lengths, holes, appends, unlinked files, times.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "posix_cases.h"

enum { BLOCK = 4096 };

/* A file that has no name any more is a file. */
static void unlinked_file(const struct place *at)
{
    struct stat st;
    int fd = posix_open(at, posix_path(at->a, "f"), O_EXCL);
    SAME(unlink(posix_path(at->a, "f")), 0);
    SAME(ftruncate(fd, 12345), 0);
    SAME(fstat(fd, &st), 0);
    SAME(st.st_size, 12345);
    SAME(st.st_nlink, 0);
    posix_write(fd, 4000, 3 * BLOCK, 1);
    posix_expect(fd, 4000, 3 * BLOCK, 1);
    posix_expect_zero(fd, 0, 4000);
    SAME(fchmod(fd, 0600), 0);
    SAME(fsync(fd), 0);
    FAILS(open(posix_path(at->b, "f"), O_RDONLY), ENOENT);
    int other = posix_open(at, posix_path(at->b, "f"), O_EXCL); /* the name is free for another file */
    SAME(fstat(other, &st), 0);
    SAME(st.st_size, 0);
    posix_expect(fd, 4000, 3 * BLOCK, 1);
    /* Renamed over while open. */
    int third = posix_open(at, posix_path(at->a, "g"), 0);
    posix_write(third, 0, 10, 3);
    SAME(rename(posix_path(at->a, "f"), posix_path(at->a, "g")), 0);
    posix_expect(third, 0, 10, 3);
    SAME(fstat(third, &st), 0);
    SAME(st.st_nlink, 0);
}

/* Written long, rewritten shorter, cut at a boundary or beside it: what was written last, then zeros if it grows again. */
static void cut_at_boundaries(const struct place *at)
{
    const size_t middles[] = {512, BLOCK, 2 * BLOCK, at->chunk - BLOCK, at->chunk, at->chunk + BLOCK};
    for (size_t m = 0; m < sizeof middles / sizeof *middles; m++)
        for (int d = -1; d <= 1; d++) {
            size_t size = middles[m] + (size_t)d, longer = size + 3 * BLOCK + 7, part = size > 9000 ? 9000 : size;
            int fd = posix_open(at, posix_path(at->a, "f"), O_TRUNC);
            posix_write(fd, size - part, longer - (size - part), 1);
            posix_write(fd, size - part, part, 2);
            SAME(ftruncate(fd, (off_t)size), 0);
            SAME(posix_size(posix_path(at->a, "f")), size);
            posix_expect(fd, size - part, part, 2);
            SAME(ftruncate(fd, (off_t)longer), 0);
            posix_expect(fd, size - part, part, 2);
            posix_expect_zero(fd, size, longer - size);
            SAME(close(fd), 0);
            fd = posix_open(at, posix_path(at->b, "f"), 0);
            posix_expect(fd, size - part, part, 2);
            posix_expect_zero(fd, size, longer - size);
            SAME(ftruncate(fd, (off_t)(size / 2)), 0);
            SAME(ftruncate(fd, (off_t)longer), 0);
            posix_expect_zero(fd, size / 2, longer - size / 2);
            SAME(close(fd), 0);
        }
}

/* A write over one that has just been made, beginning before it, within it or behind it, and ending at a boundary or beside it. */
static void written_over(const struct place *at)
{
    const size_t ends[] = {at->chunk - BLOCK, at->chunk - 1, at->chunk, at->chunk + 1, at->chunk + BLOCK};
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    unsigned round = 0;
    for (int repeat = 0; repeat < 10; repeat++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            for (size_t begin = ends[e] - 3 * BLOCK - 100; begin < ends[e]; begin += BLOCK + 50) {
                size_t first = ends[e] - 2 * BLOCK, bytes = 5000;
                posix_write(fd, first, bytes, ++round);
                posix_write(fd, begin, ends[e] - begin, ++round);
                SAME(fsync(fd), 0);
                int other = posix_open(at, posix_path(at->b, "f"), 0);
                (void)posix_fadvise(other, 0, 0, POSIX_FADV_DONTNEED);
                posix_expect(other, begin, ends[e] - begin, round);
                SAME(close(other), 0);
            }
}

static void open_cuts(const struct place *at)
{
    char data[100];
    for (size_t size = 1; size < 3 * at->chunk && size < (1 << 20); size = size * 3 + 1) {
        int fd = posix_open(at, posix_path(at->a, "f"), O_TRUNC);
        posix_write(fd, 0, size, 1);
        SAME(close(fd), 0);
        fd = open(posix_path(at->b, "f"), O_WRONLY | O_TRUNC);
        SAME(write(fd, "short", 5), 5);
        SAME(close(fd), 0);
        fd = posix_open(at, posix_path(at->a, "f"), 0);
        SAME(posix_size(posix_path(at->a, "f")), 5);
        SAME(pread(fd, data, sizeof data, 0), 5);
        SAME(memcmp(data, "short", 5), 0);
        SAME(close(fd), 0);
    }
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    FAILS(ftruncate(fd, -1), EINVAL);
    FAILS(truncate(posix_path(at->a, "none"), 0), ENOENT);
    FAILS(truncate(at->a, 0), EISDIR);
}

static atomic_bool enough;
static int shared_fd;

static void *read_all_the_time(void *argument)
{
    static char data[4][65536];
    char *into = data[(intptr_t)argument];
    while (!atomic_load(&enough))
        for (off_t offset = 0; offset < 4 * 65536; offset += 65536) {
            ssize_t n = pread(shared_fd, into, 65536, offset);
            MUST(n >= 0);
            for (ssize_t i = 0; i < n; i++)
                MUST(into[i] == 0 || (uint8_t)into[i] == posix_byte((uint64_t)(offset + i), 1));
        }
    return NULL;
}

/* Readers meanwhile: nobody hangs, and what they see is the data or zeros. */
static void cut_while_others_read(const struct place *at)
{
    pthread_t threads[4];
    shared_fd = posix_open(at, posix_path(at->a, "f"), 0);
    for (intptr_t i = 0; i < 4; i++)
        SAME(pthread_create(&threads[i], NULL, read_all_the_time, (void *)i), 0);
    int64_t end = posix_now_ms() + 1500;
    for (unsigned i = 0; posix_now_ms() < end; i++) {
        posix_write(shared_fd, 0, 4 * 65536, 1);
        SAME(ftruncate(shared_fd, (off_t)((i * 7919) % (4 * 65536))), 0);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < 4; i++)
        SAME(pthread_join(threads[i], NULL), 0);
}

/* ---- appending ---- */

enum { RECORD = 100, RECORDS = 40, APPENDERS = 6 };

static void append_records(const struct place *at, int number)
{
    char record[RECORD + 1];
    for (int i = 0; i < RECORDS;) {
        int fd = open(posix_path(number & 1 ? at->b : at->a, "log"), O_WRONLY | O_APPEND | at->direct);
        MUST(fd >= 0);
        for (int k = 0; k < 8 && i < RECORDS; k++, i++) {
            memset(record, '.', sizeof record);
            record[snprintf(record, sizeof record, "%d %d ", number, i)] = '.';
            record[RECORD - 1] = '\n';
            SAME(write(fd, record, RECORD), RECORD);
        }
        SAME(close(fd), 0);
    }
}

static void appenders(const struct place *at)
{
    pid_t children[APPENDERS];
    int fd = posix_open(at, posix_path(at->a, "log"), O_EXCL), next[APPENDERS] = {0}, total = 0;
    char record[RECORD];
    SAME(close(fd), 0);
    for (int i = 0; i < APPENDERS; i++)
        children[i] = posix_fork(append_records, at, i);
    for (int i = 0; i < APPENDERS; i++)
        posix_join(children[i]);
    fd = posix_open(at, posix_path(at->b, "log"), 0);
    for (; pread(fd, record, RECORD, (off_t)total * RECORD) == RECORD; total++) {
        int writer, number;
        record[RECORD - 1] = '\0';
        SAME(sscanf(record, "%d %d", &writer, &number), 2);
        MUST(writer >= 0 && writer < APPENDERS);
        SAME(number, next[writer]); /* of each writer in its order */
        next[writer]++;
    }
    SAME(total, APPENDERS * RECORDS);
    SAME(posix_size(posix_path(at->a, "log")), APPENDERS * RECORDS * RECORD);
}

/* Writes that begin and end inside a page, through a handle that cannot read: the kernel has to get the rest of the page. */
static void append_without_reading(const struct place *at)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/f", at->a);
    for (int append = 0; append < 2; append++) {
        int fd = posix_open(at, path, O_TRUNC);
        posix_write(fd, 0, 5000, 1);
        SAME(close(fd), 0);
        fd = open(path, O_WRONLY | (append ? O_APPEND : 0) | at->direct);
        MUST(fd >= 0);
        SAME(pwrite(fd, "middle", 6, 100), 6);
        SAME(write(fd, "more", 4), 4);
        SAME(fsync(fd), 0);
        SAME(close(fd), 0);
        fd = posix_open(at, posix_path(at->b, "f"), 0);
        char data[6];
        SAME(pread(fd, data, 6, append ? 5000 : 100), 6);
        SAME(memcmp(data, "middle", 6), 0);
        SAME(pread(fd, data, 4, append ? 5006 : 0), 4);
        SAME(memcmp(data, "more", 4), 0);
        posix_expect(fd, 200, 4800, 1);
        SAME(close(fd), 0);
    }
}

enum { WRITERS = 4, PART = 70001 };

static void write_part(const struct place *at, int number)
{
    int fd = posix_open(at, posix_path(number & 1 ? at->b : at->a, "f"), 0);
    for (unsigned i = 0; i < 8; i++)
        posix_write(fd, (i * WRITERS + (unsigned)number) * (uint64_t)PART, PART, 1);
    SAME(close(fd), 0);
}

/* Interleaved parts of one file, whose borders are in the middle of blocks. */
static void writers_of_one_file(const struct place *at)
{
    pid_t children[WRITERS];
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    for (int i = 0; i < WRITERS; i++)
        children[i] = posix_fork(write_part, at, i);
    for (int i = 0; i < WRITERS; i++)
        posix_join(children[i]);
    SAME(close(fd), 0);
    for (int i = 0; i < 2; i++) {
        fd = posix_open(at, posix_path(i ? at->b : at->a, "f"), 0);
        posix_expect(fd, 0, (size_t)8 * WRITERS * PART, 1);
        SAME(close(fd), 0);
    }
}

/* ---- times ---- */

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* Waits for the clock of the file system, which may be as coarse as the kernel's tick. */
static void tick(void)
{
    usleep(12000);
}

static void times(const struct place *at)
{
    const struct timespec set[2] = {{1000000000, 123456789}, {-5, 987654321}}, omit[2] = {{0, UTIME_OMIT}, {7, 8}};
    struct stat old, st;
    char path[600];
    (void)snprintf(path, sizeof path, "%s/f", at->a);
    int fd = posix_open(at, path, 0);
    SAME(futimens(fd, set), 0);
    SAME(stat(path, &st), 0);
    SAME(st.st_atim.tv_sec, 1000000000);
    SAME(st.st_atim.tv_nsec, 123456789);
    SAME(st.st_mtim.tv_sec, -5);
    SAME(st.st_mtim.tv_nsec, 987654321);
    SAME(utimensat(AT_FDCWD, path, omit, 0), 0);
    SAME(stat(path, &st), 0);
    SAME(st.st_atim.tv_nsec, 123456789);
    SAME(st.st_mtim.tv_nsec, 8);
    old = st;
    tick();
    posix_write(fd, 0, 100, 1);
    SAME(fstat(fd, &st), 0);
    MUST(is_later(st.st_mtim, old.st_mtim) && is_later(st.st_ctim, old.st_ctim));
    tick();
    old = st;
    SAME(ftruncate(fd, 50), 0);
    SAME(fstat(fd, &st), 0);
    MUST(is_later(st.st_mtim, old.st_mtim) && is_later(st.st_ctim, old.st_ctim));
    tick();
    old = st;
    SAME(fchmod(fd, 0600), 0);
    SAME(fstat(fd, &st), 0);
    MUST(!is_later(st.st_mtim, old.st_mtim) && is_later(st.st_ctim, old.st_ctim));
    tick();
    old = st;
    SAME(link(path, posix_path(at->a, "g")), 0);
    SAME(fstat(fd, &st), 0);
    MUST(!is_later(st.st_mtim, old.st_mtim) && is_later(st.st_ctim, old.st_ctim));
    /* A time that was set stays, whatever was written before. */
    posix_write(fd, 0, 100, 1);
    SAME(futimens(fd, set), 0);
    SAME(close(fd), 0);
    SAME(stat(posix_path(at->a, "g"), &st), 0);
    SAME(st.st_mtim.tv_sec, -5);
    SAME(st.st_mtim.tv_nsec, 987654321);
}

const struct posix_case posix_file_cases[] = {
    {"unlinked_file", unlinked_file, false},
    {"cut_at_boundaries", cut_at_boundaries, false},
    {"written_over", written_over, false},
    {"open_cuts", open_cuts, false},
    {"cut_while_others_read", cut_while_others_read, false},
    {"appenders", appenders, false},
    {"append_without_reading", append_without_reading, false},
    {"writers_of_one_file", writers_of_one_file, false},
    {"times", times, false},
    {NULL, NULL, false},
};
