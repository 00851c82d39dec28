/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/file.h>

#include "client/fuse_reply.h"
#include "client/fuse_uring.h"
#include "common/check.h"

/* A request that waits, its thread being free again. */
struct waiting {
    struct fs_lock_wait wait; /* first */
    fuse_req_t req;
    struct fuse_mount *mount;
    fuse_ino_t ino;
};

static uint8_t wire_type(short type)
{
    switch (type) {
    case F_RDLCK:
        return WIRE_LOCK_READ;
    case F_WRLCK:
        return WIRE_LOCK_WRITE;
    }
    return WIRE_LOCK_NONE;
}

/* The last byte of a range as fcntl(2) gives it to FUSE: l_len 0 goes on for ever. */
static uint64_t end_of(const struct flock *lock)
{
    return lock->l_len ? (uint64_t)lock->l_start + (uint64_t)lock->l_len - 1 : UINT64_MAX;
}

/* The kernel keeps pages of what others have changed meanwhile; whoever has the lock now must not read them. */
static void drop_old_pages(struct fuse_mount *mount, fuse_ino_t ino, bool content_known)
{
    if (!content_known && !mount->exclusive)
        (void)fuse_lowlevel_notify_inval_inode(mount->session, ino, 0, 0);
}

/* ---- waiting ---- */

static void on_done(struct fs_lock_wait *wait, int rc, bool content_known)
{
    struct waiting *waiting = (struct waiting *)wait;
    fuse_req_interrupt_func(waiting->req, NULL, NULL); /* waits for one that runs */
    if (rc == 0)
        drop_old_pages(waiting->mount, waiting->ino, content_known);
    fuse_reply_rc(waiting->req, rc);
    free(waiting);
}

static bool is_given_up(struct fs_lock_wait *wait)
{
    return fuse_reply_is_given_up(((struct waiting *)wait)->req);
}

static void on_interrupt(fuse_req_t req, void *data)
{
    struct waiting *waiting = data;
    (void)req;
    fs_lock_interrupt(waiting->mount->fs, &waiting->wait);
}

static void wait_for(fuse_req_t req, struct fuse_mount *mount, fuse_ino_t ino, struct fs_handle *handle,
                     const struct wire_lock_set *lock)
{
    if (fuse_uring_is_used() && fuse_reply_has_signal(req)) {
        fuse_reply_rc(req, -EINTR);
        return;
    }
    if (!fuse_uring_put_aside()) {
        fuse_reply_rc(req, -ENOLCK);
        return;
    }
    struct waiting *waiting = check_alloc(calloc(1, sizeof *waiting));
    *waiting = (struct waiting){
        .wait = {.handle = handle, .lock = *lock, .done = on_done, .is_given_up = is_given_up},
        .req = req,
        .mount = mount,
        .ino = ino};
    fuse_req_interrupt_func(req, on_interrupt, waiting);
    fs_lock_wait(mount->fs, &waiting->wait);
}

static void take(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, const struct wire_lock_set *lock)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    struct fs_handle *handle = (struct fs_handle *)(uintptr_t)fi->fh;
    bool content_known;
    int rc = fs_lock_set(mount->fs, handle, lock, &content_known);
    if (rc == -EAGAIN && lock->wait) {
        wait_for(req, mount, ino, handle, lock);
        return;
    }
    if (rc == 0 && lock->type != WIRE_LOCK_NONE)
        drop_old_pages(mount, ino, content_known);
    fuse_reply_rc(req, rc);
}

/* ---- handlers ---- */

static void on_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep)
{
    const struct wire_lock_set wanted = {.owner = fi->lock_owner,
                                         .start = (uint64_t)lock->l_start,
                                         .end = end_of(lock),
                                         .pid = (uint32_t)lock->l_pid,
                                         .type = wire_type(lock->l_type),
                                         .wait = sleep != 0};
    take(req, ino, fi, &wanted);
}

static void on_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
    const struct wire_lock_set wanted = {.owner = fi->lock_owner,
                                         .end = UINT64_MAX,
                                         .pid = (uint32_t)fuse_req_ctx(req)->pid,
                                         .type = op & LOCK_EX   ? WIRE_LOCK_WRITE
                                                 : op & LOCK_SH ? WIRE_LOCK_READ
                                                                : WIRE_LOCK_NONE,
                                         .flock = 1,
                                         .wait = !(op & LOCK_NB)};
    take(req, ino, fi, &wanted);
}

static void on_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
    struct fuse_mount *mount = fuse_reply_begin(req);
    const struct wire_lock_get wanted = {.owner = fi->lock_owner,
                                         .start = (uint64_t)lock->l_start,
                                         .end = end_of(lock),
                                         .type = wire_type(lock->l_type)};
    struct wire_lock_get_reply found;
    (void)ino;
    int rc = fs_lock_get(mount->fs, (struct fs_handle *)(uintptr_t)fi->fh, &wanted, &found);
    if (rc < 0) {
        fuse_reply_rc(req, rc);
        return;
    }
    struct flock answer = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (found.type != WIRE_LOCK_NONE) {
        answer.l_type = found.type == WIRE_LOCK_WRITE ? F_WRLCK : F_RDLCK;
        answer.l_start = (off_t)found.start;
        answer.l_len = found.end >= INT64_MAX ? 0 : (off_t)(found.end - found.start + 1);
        answer.l_pid = (pid_t)found.pid;
    }
    (void)fuse_reply_lock(req, &answer);
}

void fuse_locks_fill(struct fuse_lowlevel_ops *ops)
{
    ops->getlk = on_getlk;
    ops->setlk = on_setlk;
    ops->flock = on_flock;
}
