/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fuse_reply.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/believable.h"
#include "client/fuse_uring.h"
#include "client/retry.h"
#include "common/clock.h"
#include "common/scope.h"

/* What stat(2) tells programs to use as a buffer: every write of a default mount is a message, so larger is better. */
enum { PREFERRED_IO_BYTES = 64 * 1024 };

/* Nobody else can change anything while an exclusive session lasts. */
#define EXCLUSIVE_TIMEOUT_S 60.0

/* A set of signals of a thread, as /proc names it. A process of another namespace cannot be looked at and has none. */
static uint64_t signals_of(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

/* False if there is nothing to be read. */
static bool read_status(pid_t thread, char *text, size_t room)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)thread);
    SCOPE_CLOSE int fd = thread > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

/* True if a SIGKILL is pending for that thread. Any signal interrupts a request, but writes to files do not end with EINTR for
 * a signal that is handled. */
static bool is_being_killed(pid_t thread)
{
    char text[4096];
    return read_status(thread, text, sizeof text) && (signals_of(text, "\nSigPnd:") >> (SIGKILL - 1) & 1);
}

bool fuse_reply_has_signal(fuse_req_t req)
{
    char text[4096];
    pid_t thread = fuse_req_ctx(req)->pid;
    if (!read_status(thread, text, sizeof text))
        return false;
    uint64_t pending = signals_of(text, "\nSigPnd:");
    /* One for the whole process is for its first thread, if that does not block it. Others must not end their waiting for it. */
    const char *process = strstr(text, "\nTgid:");
    if (process && strtol(process + 6, NULL, 10) == thread)
        pending |= signals_of(text, "\nShdPnd:");
    return pending & ~(signals_of(text, "\nSigBlk:") | signals_of(text, "\nSigIgn:"));
}

/* The interrupt is what is cheap to ask for. By io_uring it can overtake its request, and is lost then. */
bool fuse_reply_is_given_up(fuse_req_t req)
{
    return (fuse_uring_is_used() || fuse_req_interrupted(req)) && is_being_killed(fuse_req_ctx(req)->pid);
}

static bool is_interrupted(void *argument)
{
    return fuse_reply_is_given_up(argument);
}

struct fuse_mount *fuse_reply_begin(fuse_req_t req)
{
    retry_set_interrupted(is_interrupted, req);
    believable_begin();
    return fuse_req_userdata(req);
}

int fuse_reply_gone(fuse_req_t req, fuse_ino_t ino, int rc)
{
    enum { REMEMBERED = 256 };
    static _Atomic uint64_t asked[REMEMBERED];
    if (rc != -ESTALE)
        return rc;
    uint64_t who = (ino * UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)fuse_req_ctx(req)->pid;
    return atomic_exchange(&asked[who % REMEMBERED], who) == who ? -ENOENT : -ESTALE;
}

void fuse_reply_rc(fuse_req_t req, int rc)
{
    (void)fuse_reply_err(req, -rc);
}

/* Seconds for which the kernel may use names and attributes without asking. */
static double cache_timeout_s(const struct fuse_mount *mount)
{
    return mount->exclusive ? EXCLUSIVE_TIMEOUT_S : (double)believable_left_ns() / (double)NS_PER_S;
}

static struct timespec time_of(int64_t ns)
{
    int64_t seconds = ns / NS_PER_S, rest = ns % NS_PER_S;
    if (rest < 0) { /* before 1970 */
        seconds--;
        rest += NS_PER_S;
    }
    return (struct timespec){.tv_sec = seconds, .tv_nsec = rest};
}

/* Some programs take a file without blocks for one hole, and do not read it; only the kernel knows what it has not written back. */
static uint64_t used_bytes(const struct fuse_mount *mount, const struct wire_attr *attr)
{
    bool may_be_dirty = mount->exclusive && S_ISREG(attr->mode) && attr->size;
    return attr->used_bytes == 0 && may_be_dirty ? WIRE_BLOCK_BYTES : attr->used_bytes;
}

static void make_stat(const struct fuse_mount *mount, const struct wire_attr *attr, struct stat *st)
{
    *st = (struct stat){
        .st_ino = attr->ino,
        .st_mode = attr->mode,
        .st_nlink = attr->nlink,
        .st_uid = attr->uid,
        .st_gid = attr->gid,
        .st_rdev = attr->rdev,
        .st_size = (off_t)attr->size,
        .st_blocks = (blkcnt_t)((used_bytes(mount, attr) + 511) / 512),
        .st_blksize = PREFERRED_IO_BYTES,
        .st_atim = time_of(attr->atime),
        .st_mtim = time_of(attr->mtime),
        .st_ctim = time_of(attr->ctime),
    };
}

void fuse_reply_attr_or(fuse_req_t req, int rc, const struct wire_attr *attr)
{
    const struct fuse_mount *mount = fuse_req_userdata(req);
    struct stat st;
    if (rc < 0) {
        fuse_reply_rc(req, rc);
        return;
    }
    make_stat(mount, attr, &st);
    (void)fuse_reply_attr(req, &st, cache_timeout_s(mount));
}

void fuse_reply_make_entry(const struct fuse_mount *mount, const struct wire_attr *attr, struct fuse_entry_param *entry)
{
    double timeout_s = cache_timeout_s(mount);
    *entry = (struct fuse_entry_param){
        .ino = attr->ino,
        .generation = 1, /* inode numbers are never used again */
        .attr_timeout = timeout_s,
        .entry_timeout = timeout_s,
    };
    make_stat(mount, attr, &entry->attr);
}

void fuse_reply_entry_or(fuse_req_t req, int rc, const struct wire_attr *attr)
{
    struct fuse_entry_param entry;
    if (rc < 0) {
        fuse_reply_rc(req, rc);
        return;
    }
    fuse_reply_make_entry(fuse_req_userdata(req), attr, &entry);
    (void)fuse_reply_entry(req, &entry);
}

void fuse_reply_no_entry(fuse_req_t req)
{
    struct fuse_entry_param none = {.entry_timeout = cache_timeout_s(fuse_req_userdata(req))};
    if (none.entry_timeout > 0)
        (void)fuse_reply_entry(req, &none);
    else
        fuse_reply_rc(req, -ENOENT);
}

struct fs_owner fuse_reply_owner(fuse_req_t req)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(req);
    return (struct fs_owner){.uid = ctx->uid, .gid = ctx->gid};
}
