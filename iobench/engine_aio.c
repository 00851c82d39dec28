/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine "libaio": io_submit and io_getevents, up to --depth requests of each worker in flight. The only file that knows
 * libaio. Without O_DIRECT most file systems do a request while it is submitted, so that only --cache direct shows
 * what the depth is worth.
 */
#include <errno.h>
#include <libaio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iobench/engine.h"

struct engine_file {
    int fd;
    io_context_t context;
    uint32_t depth;
    struct io_event *events; /* depth of them */
    struct iocb blocks[];    /* one for each slot */
};

static int aio_open(const struct engine_open *how, struct engine_file **file)
{
    uint32_t depth = how->depth ? how->depth : 1;
    struct engine_file *opened = calloc(1, sizeof *opened + depth * sizeof opened->blocks[0]);
    struct io_event *events = calloc(depth, sizeof *events);
    int rc = opened && events ? engine_open_fd(how) : -ENOMEM;
    if (rc >= 0) {
        opened->fd = rc;
        opened->depth = depth;
        opened->events = events;
        rc = io_setup((int)depth, &opened->context);
        if (rc < 0)
            (void)close(opened->fd);
    }
    if (rc < 0) {
        free(events);
        free(opened);
        return rc;
    }
    *file = opened;
    return 0;
}

static int aio_submit(struct engine_file *file, struct engine_io *io)
{
    struct iocb *block = &file->blocks[io->slot];
    if (io->write)
        io_prep_pwrite(block, file->fd, io->buffer, io->bytes, (long long)io->offset);
    else
        io_prep_pread(block, file->fd, io->buffer, io->bytes, (long long)io->offset);
    block->data = io;
    int rc = io_submit(file->context, 1, &block);
    return rc == 1 ? 0 : rc < 0 ? rc : -EAGAIN;
}

/* A request that came short is an error: at the end of the file, or a file system that gave up in the middle. */
static int outcome(const struct io_event *event, const struct engine_io *io)
{
    long moved = (long)event->res;
    if (moved < 0)
        return (int)moved;
    if ((size_t)moved == io->bytes)
        return 0;
    return io->write ? -EIO : -ENODATA;
}

static int aio_reap(struct engine_file *file, struct engine_io **done, unsigned room)
{
    int count = io_getevents(file->context, 1, (long)(room < file->depth ? room : file->depth), file->events, NULL);
    for (int i = 0; i < count; i++) {
        done[i] = file->events[i].data;
        done[i]->result = outcome(&file->events[i], done[i]);
    }
    return count;
}

static int alone(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset, bool write)
{
    struct engine_io io = {.buffer = buffer, .bytes = bytes, .offset = offset, .write = write}, *done;
    int rc = aio_submit(file, &io);
    if (rc < 0)
        return rc;
    /* The request must have ended before its memory goes, whatever signal comes. */
    do
        rc = aio_reap(file, &done, 1);
    while (rc == -EINTR || rc == 0);
    return rc < 0 ? rc : io.result;
}

static int aio_read(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    return alone(file, buffer, bytes, offset, false);
}

static int aio_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    return alone(file, buffer, bytes, offset, true);
}

static int aio_flush(struct engine_file *file)
{
    return fsync(file->fd) < 0 ? -errno : 0;
}

static int aio_close(struct engine_file *file)
{
    (void)io_destroy(file->context);
    int rc = close(file->fd) < 0 ? -errno : 0;
    free(file->events);
    free(file);
    return rc;
}

const struct engine engine_aio = {
    .name = "libaio",
    .about = "io_submit with up to --depth requests in flight",
    .open = aio_open,
    .read = aio_read,
    .write = aio_write,
    .submit = aio_submit,
    .reap = aio_reap,
    .flush = aio_flush,
    .close = aio_close,
};
