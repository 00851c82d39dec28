/* SPDX-License-Identifier: Apache-2.0
 *
 * The file system as functions: what the kernel asks for through FUSE, usable without it. Inodes are numbers (1 is the root),
 * names are texts, attributes and changes of them are the wire's own structures. Permissions are not checked here: under
 * FUSE the kernel does that.
 *
 * Any thread may call any function (mount first, unmount last); all block while the cluster answers, and go on trying while
 * it does not, until the retry limit. Every function returns 0, or a count where it says so, else a negative errno: what POSIX
 * says, and -EIO: the cluster did not answer in time, or no good copy is left; -EINTR: see retry.h.
 */
#ifndef CALF_FS_H
#define CALF_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/units.h"
#include "common/wire.h"

struct fs;
struct fs_handle; /* an open file */
struct fs_dir;    /* an open directory */

struct fs_options {
    struct address master;
    bool exclusive;   /* ask to be the only writing session */
    int64_t retry_ns; /* how long an operation tries */
    int64_t wait_ns;  /* how long mounting waits for a master; 0: for ever */
    const char *node; /* this client's name, for people; copied */
    const char *shm_directory; /* see chunk_connections.h; NULL: none; copied */
};

/* Who makes a file. */
struct fs_owner {
    uint32_t uid, gid;
};

#define FS_RESULT __attribute__((warn_unused_result))

/* Blocks until the master answers, however long that is; see master_session_create for its errors. */
int fs_mount(const struct fs_options *options, struct fs **fs) FS_RESULT;

/* How the kernel's requests come, "uring" or "device", for user.calf.counters; a text that stays. Not said: "none". */
void fs_note_requests(struct fs *fs, const char *how);

/* Publishes what is to be published, gives everything back, frees. Handles may still be open; none may be used. */
void fs_unmount(struct fs *fs);

/* ---- names (fs_names.c) ---- */

int fs_lookup(struct fs *fs, uint64_t parent, const char *name, struct wire_attr *attr) FS_RESULT;
/* mode: type and permission bits, umask applied. Directories, too. */
int fs_mknod(struct fs *fs, uint64_t parent, const char *name, uint32_t mode, uint32_t rdev, struct fs_owner owner,
             struct wire_attr *attr) FS_RESULT;
int fs_symlink(struct fs *fs, uint64_t parent, const char *name, const char *target, struct fs_owner owner,
               struct wire_attr *attr) FS_RESULT;
int fs_readlink(struct fs *fs, uint64_t ino, char target[WIRE_TARGET_LIMIT + 1]) FS_RESULT;
int fs_link(struct fs *fs, uint64_t ino, uint64_t parent, const char *name, struct wire_attr *attr) FS_RESULT;
int fs_unlink(struct fs *fs, uint64_t parent, const char *name) FS_RESULT;
int fs_rmdir(struct fs *fs, uint64_t parent, const char *name) FS_RESULT;
/* flags as of renameat2(2). */
int fs_rename(struct fs *fs, uint64_t parent, const char *name, uint64_t new_parent, const char *new_name,
              uint32_t flags) FS_RESULT;

/* ---- attributes (fs_attrs.c) ---- */

int fs_getattr(struct fs *fs, uint64_t ino, struct wire_attr *attr) FS_RESULT;
/* change->ino, ->valid and what valid names; WIRE_SET_SIZE is truncate(2). */
int fs_setattr(struct fs *fs, const struct wire_setattr *change, struct wire_attr *attr) FS_RESULT;
int fs_statfs(struct fs *fs, struct wire_statfs_reply *space) FS_RESULT;

/* As getxattr(2) and listxattr(2): the size if room is 0; -ERANGE if it does not fit. user.calf.* attributes that are not
 * stored: see virtual_xattrs.h. */
int64_t fs_getxattr(struct fs *fs, uint64_t ino, const char *name, void *value, size_t room) FS_RESULT;
int64_t fs_listxattr(struct fs *fs, uint64_t ino, char *names, size_t room) FS_RESULT;
int fs_setxattr(struct fs *fs, uint64_t ino, const char *name, const void *value, size_t bytes, uint32_t flags) FS_RESULT;
int fs_removexattr(struct fs *fs, uint64_t ino, const char *name) FS_RESULT;

/* ---- directories (fs_dirs.c) ---- */

struct fs_entry {
    uint64_t cookie;        /* ask for what follows this entry with it */
    const char *name;       /* in the directory handle, until its next use */
    struct wire_attr attr;  /* of "." and "..": only ino and mode */
};

int fs_opendir(struct fs *fs, uint64_t ino, struct fs_dir **dir) FS_RESULT;
/* 1: the entry after `cookie` (0: the first, "."); 0: there is none. One thread at a time uses a handle. */
int fs_readdir(struct fs *fs, struct fs_dir *dir, uint64_t cookie, struct fs_entry *entry) FS_RESULT;

/* The next entry is asked of the master, and up to `entries` with it: they are as new as what fs_lookup would say now. Else they may
 * be as old as the handle, in all but their names, numbers and types. */
void fs_readdir_anew(struct fs_dir *dir, uint32_t entries);
void fs_releasedir(struct fs_dir *dir);

/* ---- files (fs_io.c) ---- */

/* flags: bits of enum wire_open_bits. The handle is given back by fs_release. */
int fs_create(struct fs *fs, uint64_t parent, const char *name, uint32_t mode, uint32_t flags, struct fs_owner owner,
              struct wire_attr *attr, struct fs_handle **handle) FS_RESULT;

/* *content_known, if not NULL: true if nobody but this client has changed the file since this client opened it last. */
int fs_open(struct fs *fs, uint64_t ino, uint32_t flags, struct fs_handle **handle, bool *content_known) FS_RESULT;

/* At most WIRE_IO_LIMIT bytes. Returns how many, 0 at the end, in this thread's own buffer, valid until its next read. */
int fs_read(struct fs *fs, struct fs_handle *handle, uint64_t offset, size_t bytes, const uint8_t **data) FS_RESULT;

/* Returns how many bytes every copy has; fewer than asked for only if an error came after some. Reports an earlier error
 * of a delayed publication, once. */
int64_t fs_write(struct fs *fs, struct fs_handle *handle, uint64_t offset, const void *data, size_t bytes) FS_RESULT;

/* The same for what the kernel writes back from its cache. It takes any count for success, and the pages for clean: so it is all bytes or an
 * error. */
int64_t fs_write_pages(struct fs *fs, struct fs_handle *handle, uint64_t offset, const void *data, size_t bytes) FS_RESULT;

/* Takes the bytes over and returns how many; they are sent later, at the latest by the next fsync, flush or change of the file's
 * length or times, and every read of this mount sees them. An error then is the next call's: -EIO, -ENOSPC, ... as above. */
int64_t fs_write_behind(struct fs *fs, struct fs_handle *handle, uint64_t offset, const void *data, size_t bytes) FS_RESULT;

/* Takes set-user-id and set-group-id off the file if it is known to have them: before a write by somebody without the right
 * to keep them. 1: they were there, and whoever caches attributes must forget them. */
int fs_kill_suid(struct fs *fs, struct fs_handle *handle) FS_RESULT;

/* As fs_write, at the end of the file, whoever writes there; *at is where it went. */
int64_t fs_append(struct fs *fs, struct fs_handle *handle, const void *data, size_t bytes, uint64_t *at) FS_RESULT;

/* The caller's own cache of the file's content is not to be relied on: the next open says *content_known false. */
void fs_forget_content(struct fs *fs, struct fs_handle *handle);

/* At a close(2): others see what was written. */
int fs_flush(struct fs *fs, struct fs_handle *handle) FS_RESULT;
int fs_fsync(struct fs *fs, struct fs_handle *handle) FS_RESULT;

/* As lseek(2) with SEEK_HOLE or SEEK_DATA: where the next hole or data at or after the offset begins. What was never written, or was
 * made a hole by whole blocks, is one; where that is not certain, it is data. -ENXIO: the offset is not in the file, or no data
 * follows. */
int fs_seek(struct fs *fs, struct fs_handle *handle, uint64_t offset, bool hole, uint64_t *found) FS_RESULT;

/* mode as of fallocate(2): 0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE with or without KEEP_SIZE; else -EOPNOTSUPP.
 * Space is not set aside; -ENOSPC: there is not so much. */
int fs_fallocate(struct fs *fs, struct fs_handle *handle, int mode, uint64_t offset, uint64_t bytes) FS_RESULT;

/* ---- locks (fs_locks.c) ---- */

/* Takes or gives back a lock without waiting. lock->ino is filled in here. -EAGAIN: another has it (if it was refused with wait 1,
 * fs_lock_wait may follow); -ENOLCK: too many; -EIO: a lock held through this handle was lost with the session.
 * What was written under a lock is known to the master before the lock is given back. *content_known as of fs_open. */
int fs_lock_set(struct fs *fs, struct fs_handle *handle, const struct wire_lock_set *lock, bool *content_known) FS_RESULT;

/* Who stands in the way: *found is of type WIRE_LOCK_NONE if nobody does. */
int fs_lock_get(struct fs *fs, struct fs_handle *handle, const struct wire_lock_get *lock,
                struct wire_lock_get_reply *found) FS_RESULT;

/* A waiting lock. It is the caller's memory, filled in but for what lock_waits.c calls its own, until `done` was called:
 * once, from another thread, with what fs_lock_set came to, or -EINTR. */
struct fs_lock_wait {
    struct fs_handle *handle;
    struct wire_lock_set lock;
    void (*done)(struct fs_lock_wait *wait, int rc, bool content_known);
    /* Asked while the master does not answer: true if whoever waits is dying and need not know the outcome. */
    bool (*is_given_up)(struct fs_lock_wait *wait);
    struct fs_lock_wait *next; /* these are lock_waits.c's own */
    bool interrupted;
};

/* Goes on asking for the lock. Does not block; needs no thread of the caller's. */
void fs_lock_wait(struct fs *fs, struct fs_lock_wait *wait);

/* Lets it end with -EINTR unless it has the lock by then. Does not block. */
void fs_lock_interrupt(struct fs *fs, struct fs_lock_wait *wait);

/* Ends all waiting; for the caller's end. Blocks until each `done` was called. */
void fs_lock_end_waits(struct fs *fs);

/* At a close(2) by that owner: its fcntl locks on the file go. */
int fs_lock_close(struct fs *fs, struct fs_handle *handle, uint64_t owner) FS_RESULT;

/* Frees the handle, also when the cluster does not answer. */
void fs_release(struct fs *fs, struct fs_handle *handle);

#endif
