/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine "sync": pread and pwrite, one block at a time; and "vectored": the same with preadv and pwritev, each block in up to
 * eight pieces of equal size (one where the pieces would be smaller than a page, which O_DIRECT would refuse).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "iobench/engine.h"

enum { PIECES = 8, PIECE_MIN = 4096 };

struct engine_file {
    int fd;
};

static int sync_open(const struct engine_open *how, struct engine_file **file)
{
    struct engine_file *opened = malloc(sizeof *opened);
    if (!opened)
        return -ENOMEM;
    opened->fd = engine_open_fd(how);
    if (opened->fd < 0) {
        int error = opened->fd;
        free(opened);
        return error;
    }
    *file = opened;
    return 0;
}

static int sync_read(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    char *to = buffer;
    while (bytes > 0) {
        ssize_t n = pread(file->fd, to, bytes, (off_t)offset);
        if (n <= 0)
            return n == 0 ? -ENODATA : -errno;
        to += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int sync_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    const char *from = buffer;
    while (bytes > 0) {
        ssize_t n = pwrite(file->fd, from, bytes, (off_t)offset);
        if (n <= 0)
            return n == 0 ? -EIO : -errno;
        from += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int sync_flush(struct engine_file *file)
{
    return fsync(file->fd) < 0 ? -errno : 0;
}

static int sync_close(struct engine_file *file)
{
    int rc = close(file->fd) < 0 ? -errno : 0;
    free(file);
    return rc;
}

static int cut(void *buffer, size_t bytes, struct iovec pieces[PIECES])
{
    size_t piece = bytes % ((size_t)PIECES * PIECE_MIN) == 0 ? bytes / PIECES : PIECE_MIN;
    if (bytes % piece != 0 || bytes / piece > PIECES)
        piece = bytes;
    int count = 0;
    for (size_t at = 0; at < bytes; at += piece)
        pieces[count++] = (struct iovec){(char *)buffer + at, piece};
    return count;
}

/* After a short transfer the rest is cut anew. */
static int vectored_read(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    char *to = buffer;
    struct iovec pieces[PIECES];
    while (bytes > 0) {
        ssize_t n = preadv(file->fd, pieces, cut(to, bytes, pieces), (off_t)offset);
        if (n <= 0)
            return n == 0 ? -ENODATA : -errno;
        to += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int vectored_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    char *from = buffer;
    struct iovec pieces[PIECES];
    while (bytes > 0) {
        ssize_t n = pwritev(file->fd, pieces, cut(from, bytes, pieces), (off_t)offset);
        if (n <= 0)
            return n == 0 ? -EIO : -errno;
        from += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

const struct engine engine_sync = {
    .name = "sync",
    .about = "pread and pwrite, one block at a time",
    .open = sync_open,
    .read = sync_read,
    .write = sync_write,
    .flush = sync_flush,
    .close = sync_close,
};

const struct engine engine_vectored = {
    .name = "vectored",
    .about = "preadv and pwritev, a block in up to eight pieces",
    .open = sync_open,
    .read = vectored_read,
    .write = vectored_write,
    .flush = sync_flush,
    .close = sync_close,
};
