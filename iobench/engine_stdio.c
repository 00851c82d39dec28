/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine "stdio": fread and fwrite through the C library's buffer, fseeko only where the next block is not the one that
 * follows. The flush is fflush and then fsync. What a write leaves in the buffer may fail only there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "iobench/engine.h"

struct engine_file {
    FILE *stream;
    uint64_t position; /* of the stream; UINT64_MAX: unknown */
    bool wrote;        /* the last call: C wants a seek between reading and writing */
};

static int stdio_open(const struct engine_open *how, struct engine_file **file)
{
    struct engine_file *opened = malloc(sizeof *opened);
    if (!opened)
        return -ENOMEM;
    int fd = engine_open_fd(how);
    if (fd < 0) {
        free(opened);
        return fd;
    }
    *opened = (struct engine_file){.stream = fdopen(fd, !how->write ? "r" : how->append ? "a" : how->read ? "r+" : "w")};
    if (!opened->stream) {
        int error = errno;
        (void)close(fd);
        free(opened);
        return -error;
    }
    *file = opened;
    return 0;
}

static int seek(struct engine_file *file, uint64_t offset, bool write)
{
    if (file->position == offset && file->wrote == write)
        return 0;
    file->wrote = write;
    if (fseeko(file->stream, (off_t)offset, SEEK_SET) < 0)
        return -errno;
    file->position = offset;
    return 0;
}

static int stream_error(struct engine_file *file, int without)
{
    int error = errno;
    bool failed = ferror(file->stream);
    clearerr(file->stream);
    file->position = UINT64_MAX;
    return failed && error != 0 ? -error : without;
}

static int stdio_read(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    int rc = seek(file, offset, false);
    if (rc < 0)
        return rc;
    errno = 0;
    if (fread(buffer, 1, bytes, file->stream) != bytes)
        return stream_error(file, -ENODATA);
    file->position += bytes;
    return 0;
}

static int stdio_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    int rc = seek(file, offset, true);
    if (rc < 0)
        return rc;
    errno = 0;
    if (fwrite(buffer, 1, bytes, file->stream) != bytes)
        return stream_error(file, -EIO);
    file->position += bytes;
    return 0;
}

static int stdio_flush(struct engine_file *file)
{
    if (fflush(file->stream) != 0)
        return -errno;
    return fsync(fileno(file->stream)) < 0 ? -errno : 0;
}

static int stdio_close(struct engine_file *file)
{
    int rc = fclose(file->stream) != 0 ? -errno : 0;
    free(file);
    return rc;
}

const struct engine engine_stdio = {
    .name = "stdio",
    .about = "fread and fwrite",
    .no_direct = true,
    .open = stdio_open,
    .read = stdio_read,
    .write = stdio_write,
    .flush = stdio_flush,
    .close = stdio_close,
};
