/* SPDX-License-Identifier: Apache-2.0
 *
 * posix_cases: runs the cases in posix_*_cases.c.
 *
 *     posix_cases [--direct] [--chunk BYTES] [--only NAME,NAME...] [--list] DIR [DIR2]
 *
 * DIR and DIR2 are the same directory under two mounts. One line a case; status 1 if one failed.
 */
#define _GNU_SOURCE
#include "posix_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 60, PIECE = 1 << 16 };

void posix_must(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    printf("%s:%d: %s does not hold (errno: %s)\n", file, line, what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

void posix_same(long long actual, long long expected, const char *what, const char *file, int line)
{
    if (actual == expected)
        return;
    printf("%s:%d: %s is %lld, not %lld (errno: %s)\n", file, line, what, actual, expected, strerror(errno));
    fflush(stdout);
    _exit(1);
}

void posix_fails(long long result, int error, const char *what, const char *file, int line)
{
    if (result == -1 && errno == error)
        return;
    printf("%s:%d: %s gives %lld (%s), not %s\n", file, line, what, result, result == -1 ? strerror(errno) : "done",
           strerror(error));
    fflush(stdout);
    _exit(1);
}

const char *posix_path(const char *dir, const char *name)
{
    static _Thread_local char texts[8][600];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 8];
    (void)snprintf(text, sizeof texts[0], "%s/%s", dir, name);
    return text;
}

int posix_open(const struct place *at, const char *path, int flags)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags | at->direct, 0644);
    if (fd < 0)
        printf("open %s\n", path);
    MUST(fd >= 0);
    return fd;
}

uint8_t posix_byte(uint64_t offset, unsigned round)
{
    uint64_t x = (offset + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)round * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (uint8_t)(1 + (x >> 33) % 255);
}

void posix_write(int fd, uint64_t offset, size_t bytes, unsigned round)
{
    static _Thread_local uint8_t data[PIECE];
    while (bytes) {
        size_t n = bytes < PIECE ? bytes : PIECE;
        for (size_t i = 0; i < n; i++)
            data[i] = posix_byte(offset + i, round);
        SAME(pwrite(fd, data, n, (off_t)offset), n);
        offset += n;
        bytes -= n;
    }
}

static void expect(int fd, uint64_t offset, size_t bytes, unsigned round, bool zero)
{
    static _Thread_local uint8_t data[PIECE];
    while (bytes) {
        size_t n = bytes < PIECE ? bytes : PIECE;
        SAME(pread(fd, data, n, (off_t)offset), n);
        for (size_t i = 0; i < n; i++)
            if (data[i] != (zero ? 0 : posix_byte(offset + i, round))) {
                printf("byte %llu is %u\n", (unsigned long long)(offset + i), data[i]);
                SAME(data[i], zero ? 0 : posix_byte(offset + i, round));
            }
        offset += n;
        bytes -= n;
    }
}

void posix_expect(int fd, uint64_t offset, size_t bytes, unsigned round)
{
    expect(fd, offset, bytes, round, false);
}

void posix_expect_zero(int fd, uint64_t offset, size_t bytes)
{
    expect(fd, offset, bytes, 0, true);
}

off_t posix_size(const char *path)
{
    struct stat st;
    SAME(stat(path, &st), 0);
    return st.st_size;
}

pid_t posix_fork(void (*body)(const struct place *at, int number), const struct place *at, int number)
{
    fflush(stdout);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        alarm(LIMIT_S);
        body(at, number);
        fflush(stdout);
        _exit(0);
    }
    return child;
}

void posix_join(pid_t child)
{
    int status;
    SAME(waitpid(child, &status, 0), child);
    SAME(status, 0);
}

int64_t posix_now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- running ---- */

static bool is_wanted(const char *only, const char *name)
{
    size_t length = strlen(name);
    if (!only)
        return true;
    for (const char *at = only; (at = strstr(at, name)); at += length)
        if ((at == only || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static bool run_case(const struct posix_case *test, const struct place *root)
{
    char a[512], b[512];
    (void)snprintf(a, sizeof a, "%s/%s", root->a, test->name);
    (void)snprintf(b, sizeof b, "%s/%s", root->b, test->name);
    struct place at = {a, b, root->two, root->direct, root->chunk};
    int status = -1;
    int64_t begin = posix_now_ms();
    if (mkdir(a, 0755) < 0)
        printf("mkdir %s: %s\n", a, strerror(errno));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)umask(0);
        alarm(LIMIT_S);
        test->run(&at);
        fflush(stdout);
        _exit(0);
    }
    bool good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    const char *why = good ? "" : WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " (hangs)" : "";
    printf("%s %s%s, %lld ms\n", good ? "ok" : "FAIL", test->name, why, (long long)(posix_now_ms() - begin));
    return good;
}

int main(int argc, char **argv)
{
    const struct posix_case *tables[] = {posix_file_cases, posix_space_cases, posix_name_cases, posix_lock_cases,
                                         posix_cache_cases};
    struct place root = {.chunk = 64 << 20};
    const char *only = NULL;
    bool good = true, list = false;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--direct") == 0)
            root.direct = O_DIRECT;
        else if (strcmp(argv[i], "--chunk") == 0 && i + 1 < argc)
            root.chunk = strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--list") == 0)
            list = true;
    }
    if (!list && i >= argc) {
        fprintf(stderr, "posix_cases: which directory? (posix_cases [options] DIR [DIR2])\n");
        return 2;
    }
    root.a = list ? "" : argv[i];
    root.b = i + 1 < argc ? argv[i + 1] : root.a;
    root.two = i + 1 < argc;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct posix_case *test = tables[t]; test->name; test++) {
            if (list)
                printf("%s\n", test->name);
            else if (is_wanted(only, test->name) && (root.two || !test->needs_two))
                good = run_case(test, &root) && good;
        }
    return good ? 0 : 1;
}
