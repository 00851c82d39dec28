/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine "mmap": blocks are copied from and to a shared mapping of the file. A new file is extended to its full size when
 * it is opened. What the file system cannot do any more (full, gone, cut by somebody else) arrives as SIGBUS; it ends the copy
 * and becomes an error, -EIO or, beyond the end of a read, -ENODATA. The handler is the process's, the place it returns to the thread's own.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iobench/engine.h"

struct engine_file {
    int fd;
    uint8_t *map;
    size_t bytes;
    bool write;
    enum msync_mode msync;
};

/* Volatile: only a signal handler reads it, which the compiler does not know of. */
static _Thread_local sigjmp_buf *volatile bus_return;

static void on_bus(int number)
{
    if (bus_return)
        siglongjmp(*bus_return, 1);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* At each open, since whoever else wants the signal may have taken it. */
static void install_handler(void)
{
    /* Without SA_NODEFER the signal would stay blocked after the jump, which restores no mask. */
    struct sigaction action = {.sa_handler = on_bus, .sa_flags = SA_NODEFER};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

static int map_file(const struct engine_open *how, struct engine_file *file)
{
    struct stat st;
    file->bytes = (size_t)how->end_bytes;
    if (fstat(file->fd, &st) < 0)
        return -errno;
    /* Several workers may share a file and extend it at once; a byte at the end, unlike ftruncate, never cuts what another
     * has extended further. */
    if (how->create && (uint64_t)st.st_size < how->end_bytes && pwrite(file->fd, "", 1, (off_t)how->end_bytes - 1) != 1)
        return -errno;
    int protection = PROT_READ | (how->write ? PROT_WRITE : 0);
    file->map = mmap(NULL, file->bytes, protection, MAP_SHARED, file->fd, 0);
    return file->map == MAP_FAILED ? -errno : 0;
}

static int mmap_open(const struct engine_open *how, struct engine_file **file)
{
    install_handler();
    struct engine_file *opened = calloc(1, sizeof *opened);
    struct engine_open both = *how;
    if (!opened)
        return -ENOMEM;
    both.read = true; /* a shared writable mapping wants a descriptor for both */
    opened->write = how->write;
    opened->msync = how->msync;
    opened->fd = engine_open_fd(&both);
    int rc = opened->fd < 0 ? opened->fd : map_file(how, opened);
    if (rc < 0) {
        if (opened->fd >= 0)
            (void)close(opened->fd);
        free(opened);
        return rc;
    }
    *file = opened;
    return 0;
}

/* memcpy; false when the mapping breaks under it. */
static bool copy(void *to, const void *from, size_t bytes)
{
    sigjmp_buf back;
    if (sigsetjmp(back, 0) != 0) {
        bus_return = NULL;
        return false;
    }
    bus_return = &back;
    memcpy(to, from, bytes);
    bus_return = NULL;
    return true;
}

static int mmap_read(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    if (offset > file->bytes || bytes > file->bytes - offset)
        return -ENODATA;
    return copy(buffer, file->map + offset, bytes) ? 0 : -ENODATA;
}

static int mmap_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    if (offset > file->bytes || bytes > file->bytes - offset)
        return -EFBIG;
    if (!copy(file->map + offset, buffer, bytes))
        return -EIO;
    if (file->msync == MSYNC_END)
        return 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)(offset % page);
    int flags = file->msync == MSYNC_SYNC ? MS_SYNC : MS_ASYNC;
    return msync(file->map + offset - before, bytes + before, flags) < 0 ? -errno : 0;
}

static int mmap_flush(struct engine_file *file)
{
    if (file->write && msync(file->map, file->bytes, MS_SYNC) < 0)
        return -errno;
    return fsync(file->fd) < 0 ? -errno : 0;
}

static int mmap_close(struct engine_file *file)
{
    int rc = munmap(file->map, file->bytes) < 0 ? -errno : 0;
    if (close(file->fd) < 0 && rc == 0)
        rc = -errno;
    free(file);
    return rc;
}

const struct engine engine_mmap = {
    .name = "mmap",
    .about = "copies from and to a shared mapping",
    .no_direct = true,
    .no_dsync = true,
    .no_append = true,
    .open = mmap_open,
    .read = mmap_read,
    .write = mmap_write,
    .flush = mmap_flush,
    .close = mmap_close,
};
