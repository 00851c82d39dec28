/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls on files and directories. A path is looked up on the disk of the node whose fiber runs; descriptors that are
 * not simulated (stderr) are left to the libc, where the trace goes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/check.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_nodes.h"
#include "tests/sim/sim_wrap.h"

static void closed_file(struct sim_descriptor *descriptor)
{
    struct sim_vnode *node = descriptor->object;
    if (node->lock_fd == descriptor->fd)
        node->lock_fd = 0;
}

static const struct sim_kind file_kind = {"file", closed_file, NULL};

static struct sim_vnode *vnode_of(int fd)
{
    const struct sim_descriptor *d = sim_descriptor_find(fd);
    CHECK(d && d->kind == &file_kind && d->node == sim_node());
    return d->object;
}

/* ---- names ---- */

/* The directory that holds the last name of the path, and that name. "." and "" name the directory itself. */
static struct sim_vnode *walk(int at, const char *path, char last[SIM_NAME])
{
    struct sim_vnode *dir = path[0] == '/' || at == AT_FDCWD ? sim_disk_root(sim_node()) : vnode_of(at);
    last[0] = '\0';
    for (;;) {
        while (*path == '/')
            path++;
        size_t bytes = strcspn(path, "/");
        if (bytes == 0)
            return dir;
        CHECK(bytes < SIM_NAME);
        if (last[0] && strcmp(last, ".") != 0) {
            const struct sim_entry *entry = sim_vnode_entry(dir, last);
            if (!entry || !entry->node->is_dir)
                return NULL;
            dir = entry->node;
        }
        memcpy(last, path, bytes);
        last[bytes] = '\0';
        path += bytes;
    }
}

static struct sim_vnode *find(int at, const char *path)
{
    char last[SIM_NAME];
    struct sim_vnode *dir = walk(at, path, last);
    if (!dir || !last[0] || strcmp(last, ".") == 0)
        return dir;
    const struct sim_entry *entry = sim_vnode_entry(dir, last);
    return entry ? entry->node : NULL;
}

/* A change of a directory; the process may die before or after it. */
#define CHANGE(statement)                                                                           \
    do {                                                                                            \
        bool crash_ = sim_disk_crashes_now();                                                       \
        if (sim_disk_work(false) < 0)                                                               \
            return SIM_FAIL(EIO);                                                                   \
        if (!crash_ || sim_chance(500))                                                             \
            statement;                                                                              \
        if (crash_)                                                                                 \
            sim_disk_crash();                                                                       \
    } while (0)

static int open_at(int at, const char *path, int flags)
{
    char last[SIM_NAME];
    struct sim_vnode *dir = walk(at, path, last), *node = dir;
    if (!dir)
        return SIM_FAIL(ENOENT);
    if (strcmp(last, "..") == 0) {
        node = sim_disk_root(sim_node()); /* only asked of directories right below it */
    } else if (last[0] && strcmp(last, ".") != 0) {
        const struct sim_entry *entry = sim_vnode_entry(dir, last);
        node = entry ? entry->node : NULL;
    }
    if (node && flags & O_CREAT && flags & O_EXCL)
        return SIM_FAIL(EEXIST);
    if (!node && !(flags & O_CREAT))
        return SIM_FAIL(ENOENT);
    if (node && flags & O_DIRECTORY && !node->is_dir)
        return SIM_FAIL(ENOTDIR);
    if (!node) {
        node = sim_vnode_create(false);
        CHANGE(sim_vnode_add(dir, last, node));
    } else if (flags & O_TRUNC && node->size) {
        CHANGE(sim_vnode_resize(node, 0));
    }
    struct sim_descriptor *d = sim_descriptor_open(&file_kind, node);
    d->flags = flags;
    return d->fd;
}

SIM_WRAP(int, open64, const char *path, int flags, ...)
{
    return open_at(AT_FDCWD, path, flags);
}

SIM_WRAP(int, openat64, int at, const char *path, int flags, ...)
{
    return open_at(at, path, flags);
}

SIM_WRAP(int, dup, int fd)
{
    return sim_descriptor_open(&file_kind, vnode_of(fd))->fd;
}

static int make_dir(int at, const char *path)
{
    char last[SIM_NAME];
    struct sim_vnode *dir = walk(at, path, last);
    if (!dir)
        return SIM_FAIL(ENOENT);
    if (sim_vnode_entry(dir, last))
        return SIM_FAIL(EEXIST);
    CHANGE(sim_vnode_add(dir, last, sim_vnode_create(true)));
    return 0;
}

SIM_WRAP(int, mkdir, const char *path, mode_t mode)
{
    (void)mode;
    return make_dir(AT_FDCWD, path);
}

SIM_WRAP(int, mkdirat, int at, const char *path, mode_t mode)
{
    (void)mode;
    return make_dir(at, path);
}

static void rename_now(struct sim_vnode *from, const char *old, struct sim_vnode *to, const char *new)
{
    struct sim_vnode *node = sim_vnode_entry(from, old)->node;
    sim_vnode_remove(from, old);
    sim_vnode_add(to, new, node);
}

SIM_WRAP(int, renameat, int from_fd, const char *from_path, int to_fd, const char *to_path)
{
    char old[SIM_NAME], new[SIM_NAME];
    struct sim_vnode *from = walk(from_fd, from_path, old), *to = walk(to_fd, to_path, new);
    if (!from || !to || !sim_vnode_entry(from, old))
        return SIM_FAIL(ENOENT);
    CHANGE(rename_now(from, old, to, new));
    return 0;
}

SIM_WRAP(int, unlinkat, int at, const char *path, int flags)
{
    char last[SIM_NAME];
    struct sim_vnode *dir = walk(at, path, last);
    (void)flags;
    if (!dir || !sim_vnode_entry(dir, last))
        return SIM_FAIL(ENOENT);
    CHANGE(sim_vnode_remove(dir, last));
    return 0;
}

SIM_WRAP(int, unlink, const char *path)
{
    return __wrap_unlinkat(AT_FDCWD, path, 0);
}

SIM_WRAP(int, faccessat, int at, const char *path, int mode, int flags)
{
    (void)mode;
    (void)flags;
    return find(at, path) ? 0 : SIM_FAIL(ENOENT);
}

/* ---- listing ---- */

struct listing {
    int fd;
    unsigned next, count;
    struct sim_entry *entries;
    struct dirent64 entry;
};

SIM_WRAP(DIR *, fdopendir, int fd)
{
    const struct sim_vnode *node = vnode_of(fd);
    struct listing *listing = check_alloc(calloc(1, sizeof *listing));
    listing->fd = fd;
    listing->count = node->now.count;
    listing->entries = check_alloc(malloc((node->now.count + 1) * sizeof *listing->entries));
    memcpy(listing->entries, node->now.entries, node->now.count * sizeof *listing->entries);
    return (DIR *)listing;
}

SIM_WRAP(DIR *, opendir, const char *path)
{
    int fd = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    return fd < 0 ? NULL : __wrap_fdopendir(fd);
}

SIM_WRAP(struct dirent64 *, readdir64, DIR *dir)
{
    struct listing *listing = (struct listing *)dir;
    if (listing->next == listing->count)
        return NULL;
    memcpy(listing->entry.d_name, listing->entries[listing->next++].name, SIM_NAME);
    return &listing->entry;
}

SIM_WRAP(int, closedir, DIR *dir)
{
    struct listing *listing = (struct listing *)dir;
    sim_descriptor_close(sim_descriptor_find(listing->fd));
    free(listing->entries);
    free(listing);
    return 0;
}

/* ---- attributes ---- */

static int fill_stat(const struct sim_vnode *node, struct stat64 *st)
{
    if (!node)
        return SIM_FAIL(ENOENT);
    *st = (struct stat64){.st_ino = node->ino, .st_mode = node->is_dir ? S_IFDIR | 0700 : S_IFREG | 0600,
                          .st_nlink = 1, .st_size = (off_t)node->size,
                          .st_blocks = (blkcnt_t)(node->size + SIM_PAGE - 1) / SIM_PAGE * (SIM_PAGE / 512)};
    st->st_mtim.tv_sec = node->changed_ns / NS_PER_S;
    st->st_mtim.tv_nsec = node->changed_ns % NS_PER_S;
    return 0;
}

SIM_WRAP(int, fstat64, int fd, struct stat64 *st)
{
    return fill_stat(vnode_of(fd), st);
}

SIM_WRAP(int, stat64, const char *path, struct stat64 *st)
{
    return fill_stat(find(AT_FDCWD, path), st);
}

SIM_WRAP(int, fstatat64, int at, const char *path, struct stat64 *st, int flags)
{
    (void)flags;
    return fill_stat(find(at, path), st);
}

SIM_WRAP(int, fstatvfs64, int fd, struct statvfs64 *space)
{
    (void)fd;
    *space = (struct statvfs64){.f_frsize = SIM_PAGE, .f_bsize = SIM_PAGE, .f_blocks = 1 << 20, .f_bavail = 1 << 20};
    return 0;
}

SIM_WRAP(int, flock, int fd, int operation)
{
    return sim_disk_lock(sim_descriptor_find(fd), !(operation & LOCK_UN));
}

/* ---- content ---- */

static ssize_t read_at(const struct sim_vnode *node, void *into, size_t bytes, uint64_t offset)
{
    size_t n = offset >= node->size ? 0 : node->size - offset < bytes ? (size_t)(node->size - offset) : bytes;
    if (n)
        memcpy(into, node->data + offset, n);
    return (ssize_t)n;
}

/* Page by page, as the kernel does it: others may look, and the process may die, in between. */
static ssize_t write_at(struct sim_vnode *node, const uint8_t *data, size_t bytes, uint64_t offset)
{
    bool crash = sim_disk_crashes_now();
    if (sim_disk_work(false) < 0)
        return SIM_FAIL(EIO);
    size_t done = 0, whole = crash ? sim_below(bytes / SIM_PAGE + 2) : SIZE_MAX;
    while (done < bytes && whole--) {
        size_t n = SIM_PAGE - (offset + done) % SIM_PAGE;
        n = n < bytes - done ? n : bytes - done;
        sim_vnode_write(node, offset + done, data + done, n);
        done += n;
        if (done < bytes && sim_chance(50))
            sim_yield();
    }
    if (crash)
        sim_disk_crash();
    return (ssize_t)bytes;
}

SIM_WRAP(ssize_t, pread64, int fd, void *into, size_t bytes, off_t offset)
{
    return read_at(vnode_of(fd), into, bytes, (uint64_t)offset);
}

SIM_WRAP(ssize_t, pwrite64, int fd, const void *data, size_t bytes, off_t offset)
{
    return write_at(vnode_of(fd), data, bytes, (uint64_t)offset);
}

SIM_WRAP(ssize_t, pwritev64, int fd, const struct iovec *pieces, int count, off_t offset)
{
    ssize_t done = 0;
    for (int i = 0; i < count; i++) {
        ssize_t n = write_at(vnode_of(fd), pieces[i].iov_base, pieces[i].iov_len, (uint64_t)(offset + done));
        if (n < 0)
            return done ? done : n;
        done += n;
    }
    return done;
}

SIM_WRAP(ssize_t, read, int fd, void *into, size_t bytes)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    CHECK(d && d->node == sim_node());
    if (d->kind != &file_kind)
        return SIM_FAIL(EAGAIN); /* a signalfd: no signals come */
    ssize_t n = read_at(d->object, into, bytes, d->offset);
    d->offset += (uint64_t)n;
    return n;
}

SIM_WRAP(ssize_t, write, int fd, const void *data, size_t bytes)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    if (fd == STDERR_FILENO) {
        sim_nodes_log(data, bytes);
        return (ssize_t)bytes;
    }
    CHECK(d && d->kind == &file_kind && d->node == sim_node());
    ssize_t n = write_at(d->object, data, bytes, d->offset);
    if (n > 0)
        d->offset += (uint64_t)n;
    return n;
}

SIM_WRAP(off_t, lseek64, int fd, off_t offset, int whence)
{
    struct sim_descriptor *d = sim_descriptor_find(fd);
    CHECK(d && whence == SEEK_SET);
    d->offset = (uint64_t)offset;
    return offset;
}

SIM_WRAP(int, ftruncate64, int fd, off_t bytes)
{
    CHANGE(sim_vnode_resize(vnode_of(fd), (size_t)bytes));
    return 0;
}

SIM_WRAP(int, fallocate64, int fd, int mode, off_t offset, off_t bytes)
{
    struct sim_vnode *node = vnode_of(fd);
    if (!(mode & FALLOC_FL_PUNCH_HOLE))
        return 0;
    size_t n = (uint64_t)offset >= node->size ? 0 : node->size - (size_t)offset;
    CHANGE(sim_vnode_write(node, (uint64_t)offset, NULL, n < (size_t)bytes ? n : (size_t)bytes));
    return 0;
}

static int sync_now(int fd)
{
    struct sim_vnode *node = vnode_of(fd);
    bool crash = sim_disk_crashes_now();
    if (sim_disk_work(true) < 0)
        return SIM_FAIL(EIO);
    if (crash)
        sim_disk_crash();
    sim_vnode_sync(node);
    return 0;
}

SIM_WRAP(int, fsync, int fd)
{
    return sync_now(fd);
}

SIM_WRAP(int, fdatasync, int fd)
{
    return sync_now(fd);
}

/* Shared: the mapping is the file's own memory, which does not move from then on. */
SIM_WRAP(void *, mmap64, void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    struct sim_vnode *node = vnode_of(fd);
    (void)at;
    (void)protection;
    CHECK(flags & MAP_SHARED && offset == 0 && bytes <= node->size);
    node->mapped = true;
    return node->data;
}

SIM_WRAP(int, munmap, void *at, size_t bytes)
{
    (void)at;
    (void)bytes;
    return 0;
}
