/* SPDX-License-Identifier: Apache-2.0
 *
 * Holes: fallocate(2), lseek(2) for data and holes, copy_file_range(2), what a file takes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix_cases.h"

enum { BLOCK = 4096 };

static void fallocate_modes(const struct place *at)
{
    const size_t sizes[] = {1, BLOCK - 1, BLOCK, BLOCK + 1, at->chunk - 1, at->chunk, at->chunk + 1};
    struct stat st;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i], whole = size + 2 * BLOCK + 3;
        int fd = posix_open(at, posix_path(at->a, "f"), O_TRUNC);
        SAME(fallocate(fd, 0, 0, (off_t)size), 0);
        SAME(fstat(fd, &st), 0);
        SAME(st.st_size, size);
        SAME(fallocate(fd, 0, 0, 1), 0); /* never shortens */
        SAME(posix_size(posix_path(at->b, "f")), size);
        SAME(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)(size + 5 * BLOCK)), 0);
        SAME(posix_size(posix_path(at->a, "f")), size);
        posix_expect_zero(fd, 0, size > 9000 ? 9000 : size);
        size_t from = size > 9000 ? size - 9000 : 0;
        posix_write(fd, from, whole - from, 1);
        SAME(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)size, BLOCK + 1), 0);
        posix_expect(fd, from, size - from, 1);
        posix_expect_zero(fd, size, BLOCK + 1);
        posix_expect(fd, size + BLOCK + 1, whole - size - BLOCK - 1, 1);
        SAME(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)whole, BLOCK), 0);
        SAME(posix_size(posix_path(at->a, "f")), whole);
        SAME(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, (off_t)(whole - 10), BLOCK), 0);
        SAME(posix_size(posix_path(at->a, "f")), whole);
        posix_expect_zero(fd, whole - 10, 10);
        SAME(fallocate(fd, FALLOC_FL_ZERO_RANGE, (off_t)(whole - 20), BLOCK), 0);
        SAME(posix_size(posix_path(at->a, "f")), whole - 20 + BLOCK);
        posix_expect_zero(fd, whole - 20, BLOCK);
        posix_expect(fd, from, size - from, 1);
        SAME(close(fd), 0);
        fd = posix_open(at, posix_path(at->b, "f"), 0);
        posix_expect(fd, from, size - from, 1);
        posix_expect_zero(fd, size, BLOCK + 1);
        posix_expect_zero(fd, whole - 20, BLOCK);
        SAME(close(fd), 0);
    }
    int fd = posix_open(at, posix_path(at->a, "f"), 0), read_only = open(posix_path(at->a, "f"), O_RDONLY);
    FAILS(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, BLOCK), EOPNOTSUPP);
    FAILS(fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, BLOCK), EOPNOTSUPP);
    FAILS(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, BLOCK), EOPNOTSUPP);
    FAILS(fallocate(fd, 0, 0, 0), EINVAL);
    FAILS(fallocate(fd, 0, -1, 5), EINVAL);
    FAILS(fallocate(read_only, 0, 0, 5), EBADF);
    /* More than there is. */
    FAILS(fallocate(fd, 0, 0, INT64_C(1) << 46), ENOSPC);
}

/* Whoever goes from data to hole and back finds every byte that is not zero, and the end. */
static void seek_from(int fd, off_t size, const off_t *data, int count)
{
    off_t at = 0;
    int found = 0;
    for (;;) {
        off_t start = lseek(fd, at, SEEK_DATA);
        if (start < 0) {
            SAME(errno, ENXIO);
            break;
        }
        off_t end = lseek(fd, start, SEEK_HOLE);
        MUST(end > start && end <= size);
        while (found < count && data[found] < end) {
            MUST(data[found] >= start);
            found++;
        }
        at = end;
        if (at == size)
            break;
    }
    SAME(found, count);
}

static void seek_data_and_holes(const struct place *at)
{
    const off_t data[] = {0, 3 * BLOCK + 5, 20 * BLOCK, (off_t)at->chunk + 8 * BLOCK, 3 * (off_t)at->chunk + 77};
    off_t size = 5 * (off_t)at->chunk;
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    FAILS(lseek(fd, 0, SEEK_DATA), ENXIO);
    FAILS(lseek(fd, 0, SEEK_HOLE), ENXIO);
    for (int i = 0; i < 5; i++)
        posix_write(fd, (uint64_t)data[i], 1, 1);
    SAME(ftruncate(fd, size), 0);
    seek_from(fd, size, data, 5);
    FAILS(lseek(fd, size, SEEK_DATA), ENXIO);
    FAILS(lseek(fd, size, SEEK_HOLE), ENXIO);
    FAILS(lseek(fd, -1, SEEK_DATA), ENXIO);
    SAME(close(fd), 0);
    fd = open(posix_path(at->b, "f"), O_RDONLY);
    seek_from(fd, size, data, 5);
    SAME(lseek(fd, 1, SEEK_DATA), 1); /* inside a block with data */
    SAME(close(fd), 0);
    /* Whole chunks that were never written are holes for everybody who opens the file to read. */
    if (!getenv("POSIX_CASES_NO_HOLES")) {
        fd = open(posix_path(at->b, "f"), O_RDONLY);
        SAME(lseek(fd, 4 * (off_t)at->chunk, SEEK_HOLE), 4 * (off_t)at->chunk);
        SAME(lseek(fd, BLOCK, SEEK_HOLE), BLOCK);
        SAME(lseek(fd, 2 * (off_t)at->chunk, SEEK_DATA), (3 * (off_t)at->chunk + 77) / BLOCK * BLOCK);
        SAME(close(fd), 0);
    }
}

/* What was put in through a mapping and is in the kernel's memory only is data. */
static void seek_sees_mapped_data(const struct place *at)
{
    off_t size = 3 * (off_t)at->chunk, data[] = {0, (off_t)at->chunk + 9999};
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    SAME(ftruncate(fd, size), 0);
    char *map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED);
    map[data[0]] = 'a';
    map[data[1]] = 'b';
    seek_from(fd, size, data, 2);
    SAME(munmap(map, (size_t)size), 0);
    seek_from(fd, size, data, 2);
}

static void copy_ranges(const struct place *at)
{
    size_t size = 3 * BLOCK + 100;
    int from = posix_open(at, posix_path(at->a, "from"), 0), to = posix_open(at, posix_path(at->a, "to"), 0);
    posix_write(from, 0, size, 1);
    for (size_t done = 0; done < size;) {
        loff_t in = (loff_t)done, out = (loff_t)done;
        ssize_t n = copy_file_range(from, &in, to, &out, size - done, 0);
        MUST(n > 0);
        done += (size_t)n;
    }
    posix_expect(to, 0, size, 1);
    SAME(posix_size(posix_path(at->a, "to")), size);
    loff_t in = 10, out = (loff_t)size + 10;
    SAME(copy_file_range(from, &in, to, &out, 0, 0), 0);
    in = (loff_t)size;
    SAME(copy_file_range(from, &in, to, &out, 10, 0), 0);
    SAME(close(to), 0);
    to = posix_open(at, posix_path(at->b, "to"), 0);
    posix_expect(to, 0, size, 1);
}

/* st_blocks: the blocks that hold data, and no others. */
static void blocks_of_a_file(const struct place *at)
{
    struct stat st;
    int fd = posix_open(at, posix_path(at->a, "f"), 0);
    SAME(ftruncate(fd, 3 * (off_t)at->chunk), 0);
    SAME(fstat(fd, &st), 0);
    if (!getenv("POSIX_CASES_NO_HOLES"))
        SAME(st.st_blocks, 0);
    posix_write(fd, (off_t)at->chunk + 7 * BLOCK, BLOCK, 1);
    MUST(fstat(fd, &st) == 0 && st.st_blocks > 0);
    SAME(fsync(fd), 0);
    SAME(fstat(fd, &st), 0);
    SAME(st.st_blocks, BLOCK / 512);
    SAME(close(fd), 0);
    SAME(stat(posix_path(at->b, "f"), &st), 0);
    SAME(st.st_blocks, BLOCK / 512);
    fd = posix_open(at, posix_path(at->b, "f"), O_TRUNC);
    posix_write(fd, 0, 10 * BLOCK + 1, 1);
    SAME(ftruncate(fd, 20 * (off_t)at->chunk), 0);
    SAME(ftruncate(fd, 10 * BLOCK + 1), 0);
    SAME(close(fd), 0);
    SAME(stat(posix_path(at->a, "f"), &st), 0);
    SAME(st.st_blocks, 11 * BLOCK / 512);
    fd = posix_open(at, posix_path(at->b, "f"), 0);
    SAME(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 * BLOCK, 3 * BLOCK), 0);
    SAME(close(fd), 0);
    SAME(stat(posix_path(at->a, "f"), &st), 0);
    SAME(st.st_blocks, 8 * BLOCK / 512);
    SAME(truncate(posix_path(at->b, "f"), 6 * BLOCK), 0); /* cuts where blocks 2 to 4 are a hole */
    SAME(stat(posix_path(at->a, "f"), &st), 0);
    SAME(st.st_blocks, 3 * BLOCK / 512);
}

const struct posix_case posix_space_cases[] = {
    {"fallocate_modes", fallocate_modes, false},
    {"seek_data_and_holes", seek_data_and_holes, false},
    {"seek_sees_mapped_data", seek_sees_mapped_data, false},
    {"copy_ranges", copy_ranges, false},
    {"blocks_of_a_file", blocks_of_a_file, false},
    {NULL, NULL, false},
};
