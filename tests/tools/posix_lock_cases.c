/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of fcntl(2) and flock(2): between processes, and between mounts where there are two.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix_cases.h"

static struct flock range(short type, off_t start, off_t length)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

static int lock_at(int fd, int command, short type, off_t start, off_t length)
{
    struct flock lock = range(type, start, length);
    return fcntl(fd, command, &lock);
}

/* What another process, on the other mount, sees of a range: F_UNLCK if it could have it, else the type in the way. */
static short seen_type;
static void look(const struct place *at, int range_code)
{
    int fd = open(posix_path(at->b, "f"), O_RDWR);
    struct flock lock = range(F_WRLCK, range_code & 0xffff, range_code >> 16);
    MUST(fd >= 0);
    SAME(fcntl(fd, F_GETLK, &lock), 0);
    _exit(lock.l_type == F_UNLCK ? 10 : lock.l_type == F_RDLCK ? 11 : 12);
}

static short seen(const struct place *at, off_t start, off_t length)
{
    int status;
    pid_t child = posix_fork(look, at, (int)(start | length << 16));
    SAME(waitpid(child, &status, 0), child);
    MUST(WIFEXITED(status));
    seen_type = (short)WEXITSTATUS(status);
    return seen_type == 10 ? F_UNLCK : seen_type == 11 ? F_RDLCK : seen_type == 12 ? F_WRLCK : -1;
}

/* Ranges are split, joined, changed and given back byte by byte. */
static void lock_ranges(const struct place *at)
{
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    SAME(lock_at(fd, F_SETLK, F_WRLCK, 10, 20), 0);
    SAME(seen(at, 9, 1), F_UNLCK);
    SAME(seen(at, 10, 1), F_WRLCK);
    SAME(seen(at, 29, 1), F_WRLCK);
    SAME(seen(at, 30, 0), F_UNLCK); /* length 0: to the end, however long */
    SAME(lock_at(fd, F_SETLK, F_UNLCK, 15, 5), 0);
    SAME(seen(at, 14, 1), F_WRLCK);
    SAME(seen(at, 15, 5), F_UNLCK);
    SAME(seen(at, 20, 1), F_WRLCK);
    SAME(lock_at(fd, F_SETLK, F_RDLCK, 12, 10), 0);
    SAME(seen(at, 11, 1), F_WRLCK);
    SAME(seen(at, 12, 10), F_RDLCK);
    SAME(seen(at, 22, 1), F_WRLCK);
    SAME(lock_at(fd, F_SETLK, F_RDLCK, 0, 0), 0);
    SAME(seen(at, 1000, 1), F_RDLCK);
    SAME(lock_at(fd, F_SETLK, F_UNLCK, 0, 0), 0);
    SAME(seen(at, 0, 0), F_UNLCK);
    /* From where the file offset is, and backwards. */
    SAME(ftruncate(fd, 100), 0);
    struct flock end = {.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -10, .l_len = 10};
    SAME(fcntl(fd, F_SETLK, &end), 0);
    SAME(seen(at, 90, 1), F_WRLCK);
    SAME(seen(at, 100, 1), F_UNLCK);
    struct flock back = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 50, .l_len = -5};
    SAME(fcntl(fd, F_SETLK, &back), 0);
    SAME(seen(at, 44, 1), F_UNLCK);
    SAME(seen(at, 45, 5), F_WRLCK);
    SAME(seen(at, 50, 1), F_UNLCK);
}

static void read_lock_and_exit(const struct place *at, int expected)
{
    int fd = open(posix_path(at->b, "f"), O_RDWR);
    int rc = lock_at(fd, F_SETLK, F_RDLCK, 0, 100), error = errno;
    _exit(rc == 0 ? (expected == 0 ? 0 : 1) : error == expected ? 0 : 2);
}

static void write_lock_and_exit(const struct place *at, int expected)
{
    int fd = open(posix_path(at->b, "f"), O_RDWR);
    int rc = lock_at(fd, F_SETLK, F_WRLCK, 50, 1), error = errno;
    _exit(rc == 0 ? (expected == 0 ? 0 : 1) : error == expected ? 0 : 2);
}

static void lock_conflicts(const struct place *at)
{
    int fd = posix_open(at, posix_path(at->a, "f"), 0), read_fd = open(posix_path(at->a, "f"), O_RDONLY);
    int write_fd = open(posix_path(at->a, "f"), O_WRONLY);
    SAME(lock_at(fd, F_SETLK, F_RDLCK, 0, 100), 0);
    posix_join(posix_fork(read_lock_and_exit, at, 0));
    posix_join(posix_fork(write_lock_and_exit, at, EAGAIN));
    SAME(lock_at(fd, F_SETLK, F_WRLCK, 0, 100), 0); /* one's own lock is not in the way */
    posix_join(posix_fork(read_lock_and_exit, at, EAGAIN));
    struct flock mine = range(F_WRLCK, 0, 100);
    SAME(fcntl(fd, F_GETLK, &mine), 0);
    SAME(mine.l_type, F_UNLCK);
    FAILS(lock_at(read_fd, F_SETLK, F_WRLCK, 0, 1), EBADF);
    FAILS(lock_at(write_fd, F_SETLK, F_RDLCK, 0, 1), EBADF);
    FAILS(lock_at(fd, F_SETLK, F_WRLCK, -1, 1), EINVAL);
    /* Closing any descriptor of the file gives all of the process's locks on it back. */
    SAME(close(read_fd), 0);
    posix_join(posix_fork(write_lock_and_exit, at, 0));
    /* A child does not inherit them, and its end does not end its parent's. */
    SAME(lock_at(fd, F_SETLK, F_WRLCK, 0, 100), 0);
    posix_join(posix_fork(write_lock_and_exit, at, EAGAIN));
    posix_join(posix_fork(write_lock_and_exit, at, EAGAIN));
}

static void hold_and_die(const struct place *at, int byte)
{
    int fd = posix_open(at, posix_path(at->b, "f"), 0);
    char c = 'x';
    SAME(lock_at(fd, F_SETLK, F_WRLCK, 0, 0), 0);
    SAME(flock(fd, LOCK_EX), 0);
    SAME(write(byte, &c, 1), 1);
    pause();
}

/* The locks of a process that is killed are free at once, also for somebody who waits. */
static void lock_of_the_dead(const struct place *at)
{
    int ends[2], fd = posix_open(at, posix_path(at->a, "f"), 0);
    char c;
    SAME(pipe(ends), 0);
    pid_t child = posix_fork(hold_and_die, at, ends[1]);
    SAME(read(ends[0], &c, 1), 1);
    FAILS(lock_at(fd, F_SETLK, F_WRLCK, 0, 1), EAGAIN);
    FAILS(flock(fd, LOCK_SH | LOCK_NB), EAGAIN);
    SAME(kill(child, SIGKILL), 0);
    SAME(lock_at(fd, F_SETLKW, F_WRLCK, 0, 1), 0);
    SAME(flock(fd, LOCK_EX), 0);
    (void)waitpid(child, NULL, 0);
}

/* ---- waiting ---- */

static void hold_for_a_while(const struct place *at, int byte)
{
    int fd = posix_open(at, posix_path(at->b, "f"), 0);
    char c = 'x';
    SAME(lock_at(fd, F_SETLK, F_WRLCK, 100, 10), 0);
    SAME(write(byte, &c, 1), 1);
    usleep(300000);
    SAME(lock_at(fd, F_SETLK, F_UNLCK, 100, 10), 0);
    usleep(300000);
}

static void lock_waits(const struct place *at)
{
    int ends[2], fd = posix_open(at, posix_path(at->a, "f"), 0);
    char c;
    SAME(pipe(ends), 0);
    pid_t child = posix_fork(hold_for_a_while, at, ends[1]);
    SAME(read(ends[0], &c, 1), 1);
    int64_t begin = posix_now_ms();
    SAME(lock_at(fd, F_SETLKW, F_WRLCK, 105, 1), 0);
    MUST(posix_now_ms() - begin > 100);
    MUST(posix_now_ms() - begin < 3000);
    posix_join(child);
}

static void on_alarm(int number)
{
    (void)number;
}

static void take_flock(const struct place *at, int byte)
{
    int fd = posix_open(at, posix_path(at->b, "f"), 0);
    char c = 'x';
    SAME(flock(fd, LOCK_EX), 0);
    SAME(lock_at(fd, F_SETLK, F_WRLCK, 0, 0), 0);
    SAME(write(byte, &c, 1), 1);
    pause();
}

static void wait_for_ever(const struct place *at, int kind)
{
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    (void)(kind ? flock(fd, LOCK_EX) : lock_at(fd, F_SETLKW, F_WRLCK, 0, 0));
    _exit(3);
}

/* A signal ends the waiting, and so does a kill; both at once. */
static void lock_wait_is_interrupted(const struct place *at)
{
    int ends[2], fd = posix_open(at, posix_path(at->a, "f"), 0), status;
    char c;
    struct sigaction action = {.sa_handler = on_alarm};
    SAME(pipe(ends), 0);
    pid_t holder = posix_fork(take_flock, at, ends[1]);
    SAME(read(ends[0], &c, 1), 1);
    SAME(sigaction(SIGALRM, &action, NULL), 0);
    for (int kind = 0; kind < 2; kind++) {
        int64_t begin = posix_now_ms();
        ualarm(300000, 0);
        if (kind)
            FAILS(flock(fd, LOCK_EX), EINTR);
        else
            FAILS(lock_at(fd, F_SETLKW, F_WRLCK, 0, 0), EINTR);
        MUST(posix_now_ms() - begin < 2000);
        pid_t waiter = posix_fork(wait_for_ever, at, kind);
        usleep(200000);
        begin = posix_now_ms();
        SAME(kill(waiter, SIGKILL), 0);
        SAME(waitpid(waiter, &status, 0), waiter);
        MUST(posix_now_ms() - begin < 2000);
        MUST(WIFSIGNALED(status));
    }
    SAME(kill(holder, SIGKILL), 0);
    (void)waitpid(holder, NULL, 0);
    /* Nobody who gave up has it. */
    signal(SIGALRM, SIG_DFL);
    alarm(10);
    SAME(flock(fd, LOCK_EX), 0);
    SAME(lock_at(fd, F_SETLKW, F_WRLCK, 0, 0), 0);
}

static void count_up(const struct place *at, int number)
{
    const char *dir = number & 1 ? at->b : at->a;
    int fd = posix_open(at, posix_path(dir, "f"), 0);
    for (int i = 0; i < 25; i++) {
        uint64_t value;
        SAME(number & 2 ? flock(fd, LOCK_EX) : lock_at(fd, F_SETLKW, F_WRLCK, 0, 0), 0);
        SAME(pread(fd, &value, sizeof value, 0), sizeof value);
        value++;
        SAME(pwrite(fd, &value, sizeof value, 0), sizeof value);
        SAME(number & 2 ? flock(fd, LOCK_UN) : lock_at(fd, F_SETLK, F_UNLCK, 0, 0), 0);
    }
}

/* Read, add one, write, each under the lock, with the file open all the time: no count is lost on either mount. */
static void count_under_lock(const struct place *at, int kind)
{
    pid_t children[6];
    int fd = posix_open(at, posix_path(at->a, "f"), O_TRUNC);
    uint64_t value = 0;
    SAME(pwrite(fd, &value, sizeof value, 0), sizeof value);
    SAME(close(fd), 0);
    for (int i = 0; i < 6; i++)
        children[i] = posix_fork(count_up, at, (i & 1) | kind << 1);
    for (int i = 0; i < 6; i++)
        posix_join(children[i]);
    fd = posix_open(at, posix_path(at->b, "f"), 0);
    SAME(pread(fd, &value, sizeof value, 0), sizeof value);
    SAME(value, 150);
}

static void lock_guards_data(const struct place *at)
{
    count_under_lock(at, 0);
    count_under_lock(at, 1);
}

static void wait_in_line(const struct place *at, int number)
{
    int fd = posix_open(at, posix_path(number & 1 ? at->b : at->a, "f"), 0);
    SAME(flock(fd, LOCK_EX), 0);
    SAME(flock(fd, LOCK_UN), 0);
}

/* Three hundred who wait take nothing from those who work: more than the mount has threads, or the master connections to it. */
static void many_waiters(const struct place *at)
{
    enum { WAITERS = 300 };
    pid_t children[WAITERS];
    int fd = posix_open(at, posix_path(at->a, "f"), 0), work = posix_open(at, posix_path(at->a, "w"), 0);
    SAME(flock(fd, LOCK_EX), 0);
    for (int i = 0; i < WAITERS; i++)
        children[i] = posix_fork(wait_in_line, at, i);
    usleep(500000);
    int64_t begin = posix_now_ms();
    for (unsigned i = 0; i < 20; i++) {
        posix_write(work, i * 4096, 4096, i);
        SAME(fsync(work), 0);
        SAME(posix_size(posix_path(at->a, "w")), (i + 1) * 4096);
    }
    MUST(posix_now_ms() - begin < 10000);
    SAME(flock(fd, LOCK_UN), 0);
    for (int i = 0; i < WAITERS; i++)
        posix_join(children[i]);
}

/* ---- flock and open file descriptions ---- */

static void flock_belongs_to_the_open_file(const struct place *at)
{
    int one = posix_open(at, posix_path(at->a, "f"), 0), other = posix_open(at, posix_path(at->b, "f"), 0);
    int copy = dup(one);
    SAME(flock(one, LOCK_EX), 0);
    FAILS(flock(other, LOCK_EX | LOCK_NB), EAGAIN);
    FAILS(flock(other, LOCK_SH | LOCK_NB), EAGAIN);
    SAME(lock_at(other, F_SETLK, F_WRLCK, 0, 0), 0); /* the two kinds do not see each other */
    SAME(close(one), 0);
    FAILS(flock(other, LOCK_EX | LOCK_NB), EAGAIN); /* the copy has it still */
    SAME(flock(copy, LOCK_SH), 0);
    SAME(flock(other, LOCK_SH | LOCK_NB), 0);
    FAILS(flock(copy, LOCK_EX | LOCK_NB), EAGAIN);
    SAME(flock(other, LOCK_UN), 0);
    SAME(flock(copy, LOCK_EX | LOCK_NB), 0);
    SAME(close(copy), 0);
    SAME(flock(other, LOCK_EX), 0); /* the last close may be told a moment later */
}

static void locks_of_open_files(const struct place *at)
{
    int one = posix_open(at, posix_path(at->a, "f"), 0), other = posix_open(at, posix_path(at->a, "f"), 0);
    SAME(lock_at(one, F_OFD_SETLK, F_WRLCK, 0, 10), 0);
    FAILS(lock_at(other, F_OFD_SETLK, F_WRLCK, 5, 10), EAGAIN);
    SAME(lock_at(other, F_OFD_SETLK, F_WRLCK, 10, 10), 0);
    int third = open(posix_path(at->a, "f"), O_RDONLY);
    SAME(close(third), 0); /* does not end them */
    FAILS(lock_at(other, F_OFD_SETLK, F_WRLCK, 5, 10), EAGAIN);
    SAME(close(one), 0);
    SAME(lock_at(other, F_OFD_SETLKW, F_WRLCK, 5, 10), 0);
}

const struct posix_case posix_lock_cases[] = {
    {"lock_ranges", lock_ranges, false},
    {"lock_conflicts", lock_conflicts, false},
    {"lock_of_the_dead", lock_of_the_dead, false},
    {"lock_waits", lock_waits, false},
    {"lock_wait_is_interrupted", lock_wait_is_interrupted, false},
    {"lock_guards_data", lock_guards_data, false},
    {"many_waiters", many_waiters, false},
    {"flock_belongs_to_the_open_file", flock_belongs_to_the_open_file, false},
    {"locks_of_open_files", locks_of_open_files, false},
    {NULL, NULL, false},
};
