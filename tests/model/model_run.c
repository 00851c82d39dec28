/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/model/model_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"

enum { PATH_ROOM = 512, ALIGNMENT = 4096 };

struct run {
    const struct model_place *place;
    char dir[32];
    struct model model;
    int fds[MODEL_NAMES]; /* kept open on a name's file, whatever becomes of the name; -1: none */
    struct model_file *opened[MODEL_NAMES];
    uint8_t *buffer; /* MODEL_FILE_LIMIT and a page, aligned */
    char *why;
};

static int wrong(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(struct run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(run->why, MODEL_WHY, format, args);
    va_end(args);
    return 1;
}

static int failed(struct run *run, const char *what)
{
    return wrong(run, "%s: %s", what, strerror(errno));
}

static char *path_of(const struct run *run, unsigned mount, uint8_t name, char path[PATH_ROOM])
{
    (void)snprintf(path, PATH_ROOM, "%s/%s/f%u", run->place->mounts[mount], run->dir, name);
    return path;
}

/* An open descriptor on the name's file and its model; made if `make`. 0 with *fd -1: there is no such file, and the file
 * system agrees. */
static int open_file(struct run *run, const struct model_op *op, uint8_t name, int flags, int *fd, struct model_file **file)
{
    char path[PATH_ROOM];
    bool make = (flags & O_CREAT) != 0;
    *file = model_find(&run->model, name, false);
    *fd = open(path_of(run, op->mount, name, path), flags | O_CLOEXEC, 0644);
    if (*fd < 0 && (*file || make || errno != ENOENT))
        return failed(run, "open");
    if (*fd >= 0 && !*file && !make)
        return wrong(run, "open: a file that should not be there");
    if (*fd >= 0)
        *file = model_find(&run->model, name, true);
    return 0;
}

/* The kept descriptor, or a new one that becomes it; with two mounts a new one each time. */
static int use_file(struct run *run, const struct model_op *op, int *fd, struct model_file **file)
{
    if (run->fds[op->a] >= 0) {
        *fd = run->fds[op->a];
        *file = run->opened[op->a];
        return 0;
    }
    int rc = open_file(run, op, op->a, O_RDWR | O_CREAT, fd, file);
    if (rc == 0 && !run->place->two) {
        run->fds[op->a] = *fd;
        run->opened[op->a] = *file;
        (*file)->opens++;
    }
    return rc;
}

static int leave_file(struct run *run, const struct model_op *op, int fd)
{
    if (fd == run->fds[op->a])
        return 0;
    return close(fd) < 0 ? failed(run, "close") : 0;
}

static int drop_kept(struct run *run, uint8_t name)
{
    int fd = run->fds[name];
    if (fd < 0)
        return 0;
    run->fds[name] = -1;
    run->opened[name]->opens--;
    model_put(run->opened[name]);
    return close(fd) < 0 ? failed(run, "close") : 0;
}

static void make_data(const struct run *run, const struct model_op *op)
{
    for (uint32_t i = 0; i < op->length; i++)
        run->buffer[i] = model_byte(op->fill, i);
}

static int compare(struct run *run, const struct model_file *file, const uint8_t *data, uint32_t offset, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (data[i] != file->data[offset + i])
            return wrong(run, "byte %u is %#x instead of %#x", offset + i, data[i], file->data[offset + i]);
    return 0;
}

static int check_size(struct run *run, const struct model_file *file, int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return failed(run, "fstat");
    if (status.st_size != (off_t)file->size)
        return wrong(run, "the size is %lld instead of %u", (long long)status.st_size, file->size);
    if (status.st_nlink != file->links)
        return wrong(run, "%lu links instead of %u", (unsigned long)status.st_nlink, file->links);
    return 0;
}

static int write_at(struct run *run, const struct model_op *op, int fd, struct model_file *file)
{
    make_data(run, op);
    ssize_t n = pwrite(fd, run->buffer, op->length, op->offset);
    if (n != (ssize_t)op->length)
        return n < 0 ? failed(run, "pwrite") : wrong(run, "pwrite: %zd of %u bytes", n, op->length);
    model_fill(file, op, op->offset);
    return check_size(run, file, fd);
}

static int read_at(struct run *run, const struct model_op *op, int fd, const struct model_file *file)
{
    uint32_t there = op->offset < file->size ? file->size - op->offset : 0;
    uint32_t expected = op->length < there ? op->length : there;
    ssize_t n = pread(fd, run->buffer, op->length, op->offset);
    if (n != (ssize_t)expected)
        return n < 0 ? failed(run, "pread") : wrong(run, "pread: %zd bytes instead of %u", n, expected);
    return compare(run, file, run->buffer, op->offset, expected);
}

/* Opens with the flags, does it, closes. */
static int with_own_open(struct run *run, const struct model_op *op, int flags,
                         int (*action)(struct run *, const struct model_op *, int, struct model_file *))
{
    int fd;
    struct model_file *file;
    int rc = open_file(run, op, op->a, flags, &fd, &file);
    if (rc || fd < 0)
        return rc;
    if (flags & O_TRUNC)
        model_truncate(file, 0);
    rc = action(run, op, fd, file);
    return close(fd) < 0 && rc == 0 ? failed(run, "close") : rc;
}

/* Two writes, the second of which covers the first and begins before it; then what is there without the kernel's pages. */
static int write_over(struct run *run, const struct model_op *op, int fd, struct model_file *file)
{
    uint32_t before = op->fill % 6000 < op->offset ? op->fill % 6000 : op->offset;
    struct model_op again = *op;
    again.offset -= before;
    again.length += before;
    again.fill = ~op->fill;
    int rc = write_at(run, op, fd, file);
    if (rc == 0)
        rc = write_at(run, &again, fd, file);
    if (rc)
        return rc;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return read_at(run, &again, fd, file);
}

static int append_action(struct run *run, const struct model_op *op, int fd, struct model_file *file)
{
    struct model_op at = *op;
    at.offset = file->size;
    if (at.length > MODEL_FILE_LIMIT - file->size)
        at.length = MODEL_FILE_LIMIT - file->size;
    make_data(run, &at);
    ssize_t n = write(fd, run->buffer, at.length);
    if (n != (ssize_t)at.length)
        return n < 0 ? failed(run, "write") : wrong(run, "write: %zd of %u bytes", n, at.length);
    model_fill(file, &at, at.offset);
    return check_size(run, file, fd);
}

static int read_action(struct run *run, const struct model_op *op, int fd, struct model_file *file)
{
    return read_at(run, op, fd, file);
}

static int mapped(struct run *run, const struct model_op *op, int fd, struct model_file *file, bool write)
{
    uint32_t start = op->offset & ~4095u, end = op->offset + op->length;
    if (end > file->size)
        end = file->size;
    if (end <= op->offset)
        return 0;
    uint8_t *map = mmap(NULL, end - start, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd, start);
    if (map == MAP_FAILED)
        return failed(run, "mmap");
    int rc = compare(run, file, map + (op->offset - start), op->offset, end - op->offset);
    if (rc == 0 && write) {
        for (uint32_t i = 0; i < end - op->offset; i++) {
            map[op->offset - start + i] = model_byte(op->fill, i);
            file->data[op->offset + i] = model_byte(op->fill, i);
        }
        if (msync(map, end - start, MS_SYNC) < 0)
            rc = failed(run, "msync");
    }
    if (munmap(map, end - start) < 0 && rc == 0)
        rc = failed(run, "munmap");
    return rc;
}

static int allocate(struct run *run, const struct model_op *op, int fd, struct model_file *file)
{
    int mode = op->kind == MODEL_allocate        ? 0
               : op->kind == MODEL_allocate_keep ? FALLOC_FL_KEEP_SIZE
               : op->kind == MODEL_punch         ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
                                                 : FALLOC_FL_ZERO_RANGE;
    if (fallocate(fd, mode, op->offset, op->length) < 0)
        return failed(run, "fallocate");
    if (op->kind == MODEL_allocate) {
        if (op->offset + op->length > file->size)
            file->size = op->offset + op->length;
    } else if (op->kind != MODEL_allocate_keep) {
        model_zero(file, op->offset, op->length, op->kind == MODEL_zero);
    }
    return check_size(run, file, fd);
}

/* What SEEK_HOLE and SEEK_DATA say covers the file, and what they call a hole reads as zeros. */
static int check_holes(struct run *run, int fd, const struct model_file *file)
{
    off_t at = 0, size = (off_t)file->size;
    while (at < size) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data < 0 && errno != ENXIO)
            return failed(run, "SEEK_DATA");
        off_t end = data < 0 ? size : data;
        if (end < at || end > size)
            return wrong(run, "SEEK_DATA from %lld: %lld of %u", (long long)at, (long long)end, file->size);
        for (off_t i = at; i < end; i++)
            if (file->data[i])
                return wrong(run, "byte %lld is in a hole", (long long)i);
        if (data < 0 || end == size)
            return 0;
        at = lseek(fd, end, SEEK_HOLE);
        if (at <= end || at > size)
            return at < 0 ? failed(run, "SEEK_HOLE") : wrong(run, "SEEK_HOLE from %lld: %lld of %u", (long long)end,
                                                            (long long)at, file->size);
    }
    return 0;
}

static int copy_range(struct run *run, const struct model_op *op, int fd, struct model_file *file)
{
    int from_fd;
    struct model_file *from;
    struct model_op open_op = *op;
    int rc = open_file(run, &open_op, op->b, O_RDONLY, &from_fd, &from);
    if (rc || from_fd < 0)
        return rc;
    uint32_t source = op->fill % MODEL_FILE_LIMIT, length = op->length;
    if (source >= from->size)
        length = 0;
    else if (length > from->size - source)
        length = from->size - source;
    off_t in = source, out = op->offset;
    /* Ranges of one file that overlap are refused. */
    if (length && (from != file || source + length <= op->offset || op->offset + length <= source)) {
        uint32_t done = 0;
        while (rc == 0 && done < length) {
            ssize_t n = copy_file_range(from_fd, &in, fd, &out, length - done, 0);
            if (n <= 0)
                rc = n < 0 ? failed(run, "copy_file_range") : wrong(run, "copy_file_range: %u of %u", done, length);
            else
                done += (uint32_t)n;
        }
        memmove(file->data + op->offset, from->data + source, length);
        if (op->offset + length > file->size)
            file->size = op->offset + length;
    }
    if (close(from_fd) < 0 && rc == 0)
        rc = failed(run, "close");
    return rc ? rc : check_size(run, file, fd);
}

/* ---- names ---- */

static int rename_op(struct run *run, const struct model_op *op)
{
    char from[PATH_ROOM], to[PATH_ROOM];
    bool exchange = op->kind == MODEL_exchange;
    struct model *model = &run->model;
    struct model_file *a = model->names[op->a], *b = model->names[op->b];
    int rc = renameat2(AT_FDCWD, path_of(run, op->mount, op->a, from), AT_FDCWD, path_of(run, op->mount, op->b, to),
                       exchange ? RENAME_EXCHANGE : 0);
    if (!a || (exchange && !b)) {
        if (rc == 0 || errno != ENOENT)
            return wrong(run, "rename of nothing: %s", rc ? strerror(errno) : "done");
        return 0;
    }
    if (rc < 0)
        return failed(run, "rename");
    if (exchange) {
        model->names[op->a] = b;
        model->names[op->b] = a;
    } else if (a != b) { /* two names of one file: nothing happens */
        model_unlink(model, op->b);
        model->names[op->b] = a;
        model->names[op->a] = NULL;
    }
    return 0;
}

static int link_op(struct run *run, const struct model_op *op)
{
    char from[PATH_ROOM], to[PATH_ROOM];
    struct model_file *a = run->model.names[op->a];
    int rc = link(path_of(run, op->mount, op->a, from), path_of(run, op->mount, op->b, to));
    int expected = !a ? ENOENT : run->model.names[op->b] ? EEXIST : 0;
    if ((rc < 0 ? errno : 0) != expected)
        return wrong(run, "link: %s instead of %s", rc < 0 ? strerror(errno) : "done", strerror(expected));
    if (rc == 0) {
        a->links++;
        run->model.names[op->b] = a;
    }
    return 0;
}

static int unlink_op(struct run *run, const struct model_op *op)
{
    char path[PATH_ROOM];
    int rc = unlink(path_of(run, op->mount, op->a, path));
    if (rc < 0 && (run->model.names[op->a] || errno != ENOENT))
        return failed(run, "unlink");
    if (rc == 0 && !run->model.names[op->a])
        return wrong(run, "unlink of nothing: done");
    model_unlink(&run->model, op->a);
    return 0;
}

static int list_op(struct run *run, const struct model_op *op)
{
    char path[PATH_ROOM];
    unsigned seen[MODEL_NAMES] = {0}, name;
    (void)snprintf(path, sizeof path, "%s/%s", run->place->mounts[op->mount], run->dir);
    DIR *dir = opendir(path);
    if (!dir)
        return failed(run, "opendir");
    const struct dirent *entry;
    int rc = 0;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            if (sscanf(entry->d_name, "f%u", &name) != 1 || name >= MODEL_NAMES)
                rc = wrong(run, "an entry %s", entry->d_name);
            else
                seen[name]++;
        }
    (void)closedir(dir);
    for (uint8_t i = 0; i < MODEL_NAMES && rc == 0; i++)
        if (seen[i] != (run->model.names[i] ? 1u : 0u))
            rc = wrong(run, "f%u is listed %u times instead of %u", i, seen[i], run->model.names[i] ? 1u : 0u);
    return rc;
}

/* ---- one operation ---- */

static int on_file(struct run *run, const struct model_op *op, int fd, struct model_file *file)
{
    switch (op->kind) {
    case MODEL_write:
        return write_at(run, op, fd, file);
    case MODEL_write_over:
        return write_over(run, op, fd, file);
    case MODEL_read:
        return read_at(run, op, fd, file);
    case MODEL_truncate:
        if (ftruncate(fd, op->offset) < 0)
            return failed(run, "ftruncate");
        model_truncate(file, op->offset);
        return check_size(run, file, fd);
    case MODEL_mmap_write:
    case MODEL_mmap_read:
        return mapped(run, op, fd, file, op->kind == MODEL_mmap_write);
    case MODEL_copy_range:
        return copy_range(run, op, fd, file);
    case MODEL_holes:
        return check_holes(run, fd, file);
    case MODEL_sync:
        return fsync(fd) < 0 ? failed(run, "fsync") : 0;
    case MODEL_forget:
        if (fsync(fd) < 0)
            return failed(run, "fsync");
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        return 0;
    default:
        return allocate(run, op, fd, file);
    }
}

static int perform(struct run *run, const struct model_op *op)
{
    int direct = run->place->direct ? O_DIRECT : 0, fd;
    struct model_file *file;
    switch (op->kind) {
    case MODEL_append:
        return with_own_open(run, op, O_WRONLY | O_APPEND | O_CREAT, append_action);
    case MODEL_write_direct:
        return with_own_open(run, op, O_WRONLY | O_CREAT | direct, write_at);
    case MODEL_read_direct:
        return with_own_open(run, op, O_RDONLY | direct, read_action);
    case MODEL_rewrite:
        return with_own_open(run, op, O_WRONLY | O_CREAT | O_TRUNC, write_at);
    case MODEL_rename:
    case MODEL_exchange:
        return rename_op(run, op);
    case MODEL_link:
        return link_op(run, op);
    case MODEL_unlink:
        return unlink_op(run, op);
    case MODEL_list:
        return list_op(run, op);
    case MODEL_close:
        return drop_kept(run, op->a);
    default:
        break;
    }
    int rc = use_file(run, op, &fd, &file);
    if (rc)
        return rc;
    rc = on_file(run, op, fd, file);
    int left = leave_file(run, op, fd);
    return rc ? rc : left;
}

static int compare_all(struct run *run)
{
    struct model_op op = {.kind = MODEL_read, .length = MODEL_FILE_LIMIT};
    int rc = list_op(run, &op);
    for (op.mount = 0; op.mount < (run->place->two ? 2 : 1); op.mount++)
        for (op.a = 0; op.a < MODEL_NAMES && rc == 0; op.a++)
            if (run->model.names[op.a])
                rc = with_own_open(run, &op, O_RDONLY, read_action);
    return rc;
}

/* ---- a list ---- */

static void remove_files(struct run *run)
{
    char path[PATH_ROOM];
    for (uint8_t i = 0; i < MODEL_NAMES; i++)
        (void)unlink(path_of(run, 0, i, path));
    (void)snprintf(path, sizeof path, "%s/%s", run->place->mounts[0], run->dir);
    (void)rmdir(path);
}

int model_run(const struct model_place *place, const struct model_op *ops, size_t count, char why[MODEL_WHY],
              size_t *failed_at)
{
    static unsigned runs;
    char path[PATH_ROOM];
    struct run run = {.place = place, .why = why};
    (void)snprintf(run.dir, sizeof run.dir, "run%d.%u", (int)getpid(), runs++);
    run.buffer = check_alloc(aligned_alloc(ALIGNMENT, MODEL_FILE_LIMIT + ALIGNMENT));
    for (uint8_t i = 0; i < MODEL_NAMES; i++)
        run.fds[i] = -1;
    (void)snprintf(path, sizeof path, "%s/%s", place->mounts[0], run.dir);
    int rc = mkdir(path, 0755) < 0 ? failed(&run, "mkdir") : 0;
    size_t at = 0;
    for (; at < count && rc == 0; at++)
        rc = perform(&run, &ops[at]);
    *failed_at = rc ? at - 1 : count;
    if (rc == 0)
        rc = compare_all(&run);
    for (uint8_t i = 0; i < MODEL_NAMES; i++)
        (void)drop_kept(&run, i);
    remove_files(&run);
    model_fini(&run.model);
    free(run.buffer);
    return rc;
}
