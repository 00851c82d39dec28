/* SPDX-License-Identifier: Apache-2.0
 *
 * full_writer: writes a new file in each way that there is, more than the file system has room for, and says what came of it.
 *
 *     full_writer DIR BYTES
 *
 * A line for each way: its name, which call failed first and how, what the call after it said, and the longest call in ms.
 * Status 1 if the first error is not ENOSPC, comes from something else than write, fsync or msync, or is told a second time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 128 << 10 };

struct run {
    int fd;
    uint64_t bytes;
    char *data;
    const char *failed; /* the first call that failed; NULL: none */
    int error;          /* its errno */
    int64_t longest_ms;
    int64_t began_ms;
};

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void begin_call(struct run *run)
{
    run->began_ms = now_ms();
}

/* True if it failed. */
static bool end_call(struct run *run, const char *call, long long result)
{
    int error = errno;
    int64_t took_ms = now_ms() - run->began_ms;
    if (took_ms > run->longest_ms)
        run->longest_ms = took_ms;
    if (result >= 0)
        return false;
    if (!run->failed) {
        run->failed = call;
        run->error = error;
    }
    return true;
}

static void write_until_full(struct run *run)
{
    for (uint64_t done = 0; done < run->bytes;) {
        begin_call(run);
        ssize_t n = write(run->fd, run->data, PIECE);
        if (end_call(run, "write", n))
            return;
        done += (uint64_t)n;
    }
}

static void map_until_full(struct run *run)
{
    if (ftruncate(run->fd, (off_t)run->bytes) < 0) {
        perror("full_writer: ftruncate");
        exit(1);
    }
    char *map = mmap(NULL, run->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, run->fd, 0);
    if (map == MAP_FAILED) {
        perror("full_writer: mmap");
        exit(1);
    }
    for (uint64_t done = 0; done < run->bytes && !run->failed; done += PIECE) {
        memcpy(map + done, run->data, PIECE);
        begin_call(run);
        (void)end_call(run, "msync", msync(map + done, PIECE, MS_SYNC));
    }
    (void)munmap(map, run->bytes);
}

/* What is asked next is told the same error once more at most, for a delayed write that nobody has heard of; then no more. */
static bool is_over(struct run *run)
{
    int left = 0;
    for (int i = 0; i < 3; i++) {
        begin_call(run);
        left = fsync(run->fd) < 0 ? errno : 0;
        (void)end_call(run, "fsync", left ? -1 : 0);
        if (left && left != ENOSPC)
            return false;
    }
    return left == 0;
}

static bool run_way(const char *dir, uint64_t bytes, const char *name, int flags)
{
    struct run run = {.bytes = bytes};
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    run.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0644);
    if (run.fd < 0 || posix_memalign((void **)&run.data, 4096, PIECE) != 0) {
        perror(path);
        return false;
    }
    for (size_t i = 0; i < PIECE; i++)
        run.data[i] = (char)(i * 31 >> 3);
    if (strcmp(name, "mapped") == 0)
        map_until_full(&run);
    else
        write_until_full(&run);
    bool over = is_over(&run);
    begin_call(&run);
    bool closed = close(run.fd) == 0;
    (void)end_call(&run, "close", closed ? 0 : -1);
    bool good = run.failed && run.error == ENOSPC && strcmp(run.failed, "close") != 0 && over && closed;
    printf("%s %s: %s: %s%s%s, longest call %lld ms\n", good ? "ok" : "FAIL", name, run.failed ? run.failed : "nothing",
           run.failed ? strerror(run.error) : "done", over ? "" : ", told again and again", closed ? "" : ", close failed",
           (long long)run.longest_ms);
    free(run.data);
    if (unlink(path) < 0)
        perror(path);
    return good;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int flags;
    } ways[] = {{"buffered", 0}, {"direct", O_DIRECT}, {"synchronous", O_SYNC}, {"appending", O_APPEND}, {"mapped", 0}};
    bool good = true;
    if (argc != 3) {
        fprintf(stderr, "full_writer: which directory, and how much? (full_writer DIR BYTES)\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        good = run_way(argv[1], strtoull(argv[2], NULL, 0), ways[i].name, ways[i].flags) && good;
    return good ? 0 : 1;
}
