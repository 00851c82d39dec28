/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases that ask a mounted file system for what POSIX promises, for the integration scripts; nothing of calf's own is used. A case is a
 * function that gets the same fresh directory twice: under one mount, and under another (or the same) one. It ends the program at the
 * first promise that does not hold. Each runs in a process of its own, under an alarm, so that a hang is a failure.
 */
#ifndef CALF_POSIX_CASES_H
#define CALF_POSIX_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

struct place {
    const char *a, *b; /* the directory, under either mount */
    bool two;          /* they are two mounts */
    int direct;        /* O_DIRECT, or 0: added to the flags of every open of a file for data */
    size_t chunk;      /* bytes of a chunk, for boundaries */
};

struct posix_case {
    const char *name;
    void (*run)(const struct place *at);
    bool needs_two; /* is of no use with one mount */
};

/* Tables, each ended by a row without a name. */
extern const struct posix_case posix_file_cases[], posix_space_cases[], posix_name_cases[], posix_lock_cases[],
    posix_cache_cases[];

/* Ends the case unless the condition holds; errno is printed. */
#define MUST(condition) posix_must(condition, #condition, __FILE__, __LINE__)
/* The same for two numbers that must be equal. */
#define SAME(actual, expected) posix_same((long long)(actual), (long long)(expected), #actual, __FILE__, __LINE__)
/* The call must return -1 with that errno. */
#define FAILS(call, error) posix_fails((long long)(call), error, #call, __FILE__, __LINE__)

void posix_must(bool holds, const char *what, const char *file, int line);
void posix_same(long long actual, long long expected, const char *what, const char *file, int line);
void posix_fails(long long result, int error, const char *what, const char *file, int line);

/* "DIR/NAME" in one of a few static buffers. */
const char *posix_path(const char *dir, const char *name);

/* Opens for reading and writing, made if need be, with at->direct. */
int posix_open(const struct place *at, const char *path, int flags);

/* A byte that depends on its place and on which writing it is, never zero. */
uint8_t posix_byte(uint64_t offset, unsigned round);

/* Writes, or checks that there is, that pattern. */
void posix_write(int fd, uint64_t offset, size_t bytes, unsigned round);
void posix_expect(int fd, uint64_t offset, size_t bytes, unsigned round);
void posix_expect_zero(int fd, uint64_t offset, size_t bytes);

/* Length of a file by name. */
off_t posix_size(const char *path);

/* Runs body in a child; its end is awaited by posix_join, which fails if it failed. */
pid_t posix_fork(void (*body)(const struct place *at, int number), const struct place *at, int number);
void posix_join(pid_t child);

int64_t posix_now_ms(void);

#endif
