/* SPDX-License-Identifier: Apache-2.0
 *
 * What one program or mount wrote is what the next one that opens the file reads; mappings, buffered and direct access mixed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "posix_cases.h"

enum { PAGE = 4096 };

static void append_at(const struct place *at, const char *dir, const char *text)
{
    int fd = open(posix_path(dir, "f"), O_WRONLY | O_APPEND | O_CREAT | at->direct, 0644);
    MUST(fd >= 0);
    SAME(write(fd, text, strlen(text)), strlen(text));
    SAME(close(fd), 0);
}

static void read_at(const char *dir, const char *expected)
{
    char data[4000] = "";
    int fd = open(posix_path(dir, "f"), O_RDONLY);
    MUST(fd >= 0);
    SAME(read(fd, data, sizeof data - 1), strlen(expected));
    MUST(strcmp(data, expected) == 0);
    SAME(close(fd), 0);
}

static void append_in_turns(const struct place *at)
{
    char all[4000] = "", one[20];
    for (int i = 0; i < 100; i++) {
        const char *dir = i & 1 ? at->b : at->a;
        (void)snprintf(one, sizeof one, "%d,", i);
        append_at(at, dir, one);
        strcat(all, one);
        read_at(at->a, all);
        if (at->two)
            read_at(at->b, all);
    }
}

/* The same length under the same name: nothing but the content tells that it is new. */
static void overwrite_in_place(const struct place *at)
{
    size_t sizes[] = {1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, at->chunk > 1 << 20 ? 70000 : at->chunk + 1};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned round = 0; round < 6; round++) {
            const char *from = round & 1 ? at->b : at->a, *to = round & 1 ? at->a : at->b;
            int fd = posix_open(at, posix_path(from, "f"), round % 3 ? 0 : O_TRUNC);
            posix_write(fd, 0, sizes[s], round);
            SAME(close(fd), 0);
            fd = open(posix_path(to, "f"), O_RDONLY);
            posix_expect(fd, 0, sizes[s], round);
            SAME(close(fd), 0);
            SAME(posix_size(posix_path(to, "f")) >= (off_t)sizes[s], 1);
        }
}

/* Known as missing, or as another file, on one side; made on the other. */
static void made_on_the_other_side(const struct place *at)
{
    char name[30];
    struct stat st, other;
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        FAILS(stat(posix_path(at->b, name), &st), ENOENT);
        int fd = posix_open(at, posix_path(at->a, name), O_EXCL);
        posix_write(fd, 0, 10, 1);
        SAME(close(fd), 0);
        SAME(stat(posix_path(at->b, name), &st), 0);
        SAME(st.st_size, 10);
        fd = posix_open(at, posix_path(at->a, "new"), 0);
        posix_write(fd, 0, 20, 2);
        SAME(close(fd), 0);
        SAME(rename(posix_path(at->a, "new"), posix_path(at->a, name)), 0);
        fd = open(posix_path(at->b, name), O_RDONLY);
        posix_expect(fd, 0, 20, 2);
        SAME(fstat(fd, &other), 0);
        MUST(other.st_ino != st.st_ino);
        SAME(close(fd), 0);
    }
}

/* ---- mappings ---- */

static void shared_mapping(const struct place *at)
{
    size_t bytes = 5 * PAGE;
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    posix_write(fd, 0, bytes - 100, 1);
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *private = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    MUST(map != MAP_FAILED && private != MAP_FAILED);
    for (size_t i = 0; i < bytes - 100; i++)
        SAME((uint8_t)map[i], posix_byte(i, 1));
    for (size_t i = bytes - 100; i < bytes; i++)
        SAME(map[i], 0);
    for (size_t i = 0; i < bytes; i += 7)
        map[i] = (char)posix_byte(i, 2);
    private[8] = 'p';
    SAME(msync(map, bytes, MS_SYNC), 0);
    int other = open(posix_path(at->a, "f"), O_RDONLY);
    uint8_t c;
    for (size_t i = 0; i < bytes - 100; i++) {
        SAME(pread(other, &c, 1, (off_t)i), 1);
        SAME(c, posix_byte(i, i % 7 ? 1 : 2));
        i += i % 7 == 1 ? 500 : 0;
    }
    SAME(munmap(map, bytes), 0);
    SAME(munmap(private, bytes), 0);
    SAME(close(fd), 0);
    SAME(posix_size(posix_path(at->a, "f")), bytes - 100); /* what lies above the length is not the file's */
    fd = posix_open(at, posix_path(at->b, "f"), 0);
    SAME(pread(fd, &c, 1, 14), 1);
    SAME(c, posix_byte(14, 2));
    SAME(pread(fd, &c, 1, 8), 1);
    SAME(c, posix_byte(8, 1));
    SAME(ftruncate(fd, (off_t)bytes), 0);
    posix_expect_zero(fd, bytes - 100, 100);
    SAME(close(other), 0);
}

/* The same file direct, buffered and mapped, in turns: each sees what the one before wrote. */
static void direct_and_mapped(const struct place *at)
{
    size_t bytes = 16 * PAGE;
    const char *path = posix_path(at->a, "f");
    int fd = posix_open(at, path, 0), direct = open(path, O_RDWR | O_DIRECT);
    char *data = NULL, *map;
    MUST(direct >= 0);
    SAME(posix_memalign((void **)&data, PAGE, bytes), 0);
    posix_write(fd, 0, bytes, 0);
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED);
    for (int i = 1; i < 40; i++) {
        size_t offset = (size_t)(i * 5 % 16) * PAGE;
        memset(data, i, PAGE);
        SAME(pwrite(direct, data, PAGE, (off_t)offset), PAGE);
        SAME(map[offset + 5], i);
        memset(map + offset, i + 100, PAGE);
        SAME(msync(map + offset, PAGE, MS_SYNC), 0);
        SAME(pread(direct, data, PAGE, (off_t)offset), PAGE);
        SAME(data[77], (char)(i + 100));
        memset(data, i + 50, PAGE);
        SAME(pwrite(fd, data, PAGE, (off_t)offset), PAGE);
        SAME(map[offset + 9], i + 50);
        SAME(pread(direct, data, PAGE, (off_t)offset), PAGE);
        SAME(data[77], (char)(i + 50));
        memset(map + offset, i + 20, PAGE); /* not synced: the kernel sees to it */
        SAME(pread(direct, data, PAGE, (off_t)offset), PAGE);
        SAME(data[77], (char)(i + 20));
    }
    SAME(munmap(map, bytes), 0);
}

/* Holes are made and filled under a mapping. */
static void mapping_and_fallocate(const struct place *at)
{
    size_t bytes = 32 * PAGE;
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    SAME(fallocate(fd, 0, 0, (off_t)bytes), 0);
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED);
    for (int round = 0; round < 20; round++) {
        memset(map, round + 1, bytes);
        off_t hole = (round % 30) * PAGE + round;
        SAME(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, hole, PAGE), 0);
        SAME(map[hole], 0);
        SAME(map[hole + PAGE - 1], 0);
        SAME(map[hole + PAGE], round + 1);
        MUST(hole == 0 || map[hole - 1] == round + 1);
        SAME(fallocate(fd, 0, 0, (off_t)bytes), 0);
        SAME(map[hole], 0);
    }
    SAME(ftruncate(fd, PAGE + 1), 0);
    SAME(ftruncate(fd, (off_t)bytes), 0);
    SAME(map[0], 20);
    SAME(map[PAGE + 1], 0);
    SAME(munmap(map, bytes), 0);
}

/* From one mapping into a write of the same file: the page that is written is read meanwhile. */
static void write_from_a_mapping(const struct place *at)
{
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    posix_write(fd, 0, 8 * PAGE, 1);
    char *map = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED);
    SAME(pwrite(fd, map, 4 * PAGE, 4 * PAGE), 4 * PAGE);
    for (size_t i = 0; i < 4 * PAGE; i++)
        SAME((uint8_t)map[4 * PAGE + i], posix_byte(i, 1));
    struct iovec parts[2] = {{map, 100}, {map + PAGE, 100}};
    SAME(pwritev(fd, parts, 2, 10), 200);
    SAME((uint8_t)map[115], posix_byte(PAGE + 5, 1));
}

const struct posix_case posix_cache_cases[] = {
    {"append_in_turns", append_in_turns, false},
    {"overwrite_in_place", overwrite_in_place, false},
    {"made_on_the_other_side", made_on_the_other_side, false},
    {"shared_mapping", shared_mapping, false},
    {"direct_and_mapped", direct_and_mapped, false},
    {"mapping_and_fallocate", mapping_and_fallocate, false},
    {"write_from_a_mapping", write_from_a_mapping, false},
    {NULL, NULL, false},
};
