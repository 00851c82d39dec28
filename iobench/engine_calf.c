/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine "calf": the client's file-system library inside this process, without the kernel. Paths must lie on a calf mount,
 * whose source ("calf@HOST:PORT") says where the master is; names are looked up from its root. Each cluster gets one session, made at the first
 * open and given back at exit. The library caches no data, so every block goes to the chunkservers. The only file of iobench that includes the client's headers.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/fs.h"
#include "common/clock.h"
#include "common/scope.h"
#include "iobench/engine.h"
#include "iobench/mount_table.h"

#define RETRY_NS (30 * NS_PER_S)
enum { SESSIONS = 16, MODE = S_IFREG | 0600 };

struct engine_file {
    struct fs *fs;
    struct fs_handle *handle;
    bool append;
};

struct session {
    char source[MOUNT_TEXT];
    struct fs *fs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session sessions[SESSIONS]; /* lock; filled from the front */

static void give_sessions_back(void)
{
    for (size_t i = 0; i < SESSIONS && sessions[i].fs; i++)
        fs_unmount(sessions[i].fs);
}

static int mount_session(struct session *session, const struct mount_entry *mount)
{
    struct fs_options options = {.retry_ns = RETRY_NS, .node = "iobench"};
    const char *at = strchr(mount->source, '@');
    if (strncmp(mount->fs_type, "fuse.calf", strlen("fuse.calf")) != 0 || !at ||
        units_parse_address(at + 1, &options.master) < 0)
        return -EOPNOTSUPP;
    int rc = fs_mount(&options, &session->fs);
    if (rc < 0)
        return rc;
    (void)snprintf(session->source, sizeof session->source, "%s", mount->source);
    if (session == sessions)
        (void)atexit(give_sessions_back);
    return 0;
}

static int session_of(const struct mount_entry *mount, struct fs **fs)
{
    SCOPE_UNLOCK(&lock);
    for (size_t i = 0; i < SESSIONS; i++) {
        struct session *session = &sessions[i];
        if (session->fs && strcmp(session->source, mount->source) != 0)
            continue;
        int rc = session->fs ? 0 : mount_session(session, mount);
        if (rc == 0)
            *fs = session->fs;
        return rc;
    }
    return -EMFILE;
}

/* The inode of the directory that holds the file, and the file's name in it. */
static int find_parent(struct fs *fs, const char *below, uint64_t *parent, char name[WIRE_NAME_LIMIT + 1])
{
    *parent = 1;
    for (;;) {
        below += strspn(below, "/");
        size_t length = strcspn(below, "/");
        if (length == 0)
            return -EISDIR;
        if (length > WIRE_NAME_LIMIT)
            return -ENAMETOOLONG;
        memcpy(name, below, length);
        name[length] = '\0';
        below += length;
        if (!*below)
            return 0;
        struct wire_attr attr;
        int rc = fs_lookup(fs, *parent, name, &attr);
        if (rc < 0)
            return rc;
        *parent = attr.ino;
    }
}

static int open_on(struct fs *fs, const struct engine_open *how, const char *below, struct fs_handle **handle)
{
    char name[WIRE_NAME_LIMIT + 1];
    uint64_t parent;
    struct wire_attr attr;
    int rc = find_parent(fs, below, &parent, name);
    if (rc < 0)
        return rc;
    if (how->create)
        return fs_create(fs, parent, name, MODE, how->shared ? 0 : WIRE_OPEN_TRUNCATE,
                         (struct fs_owner){geteuid(), getegid()}, &attr, handle);
    rc = fs_lookup(fs, parent, name, &attr);
    return rc < 0 ? rc : fs_open(fs, attr.ino, 0, handle, NULL);
}

static int calf_open(const struct engine_open *how, struct engine_file **file)
{
    struct mount_entry mount;
    int rc = mount_table_find("/proc/self/mountinfo", how->path, &mount);
    if (rc < 0)
        return rc;
    struct engine_file *opened = calloc(1, sizeof *opened);
    if (!opened)
        return -ENOMEM;
    opened->append = how->append;
    rc = session_of(&mount, &opened->fs);
    if (rc == 0)
        rc = open_on(opened->fs, how, how->path + strlen(mount.point), &opened->handle);
    if (rc < 0) {
        free(opened);
        return rc;
    }
    *file = opened;
    return 0;
}

static int calf_read(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    char *to = buffer;
    while (bytes > 0) {
        const uint8_t *data;
        int n = fs_read(file->fs, file->handle, offset, bytes < WIRE_IO_LIMIT ? bytes : WIRE_IO_LIMIT, &data);
        if (n <= 0)
            return n == 0 ? -ENODATA : n;
        memcpy(to, data, (size_t)n);
        to += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int calf_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    const char *from = buffer;
    while (bytes > 0) {
        size_t piece = bytes < WIRE_IO_LIMIT ? bytes : WIRE_IO_LIMIT;
        uint64_t at;
        int64_t n = file->append ? fs_append(file->fs, file->handle, from, piece, &at)
                                 : fs_write(file->fs, file->handle, offset, from, piece);
        if (n <= 0)
            return n == 0 ? -EIO : (int)n;
        from += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int calf_flush(struct engine_file *file)
{
    return fs_fsync(file->fs, file->handle);
}

static int calf_close(struct engine_file *file)
{
    int rc = fs_flush(file->fs, file->handle);
    fs_release(file->fs, file->handle);
    free(file);
    return rc;
}

const struct engine engine_calf = {
    .name = "calf",
    .about = "calf's own library, without the kernel",
    .no_dsync = true,
    .outside_kernel = true,
    .open = calf_open,
    .read = calf_read,
    .write = calf_write,
    .flush = calf_flush,
    .close = calf_close,
};
