/* SPDX-License-Identifier: Apache-2.0
 *
 * What all handlers of kernel requests share: the mount they belong to, replies, and how long the kernel may believe them. For the
 * fuse_*.c files only, which are the ones that know libfuse. Each handler runs in a worker thread of libfuse,
 * blocks as long as its request takes, and replies exactly once.
 */
#ifndef CALF_FUSE_REPLY_H
#define CALF_FUSE_REPLY_H

#include <fuse3/fuse_lowlevel.h>

#include "client/fs.h"

struct fuse_mount {
    struct fs *fs;
    bool exclusive;
    struct fuse_session *session;
};

/* First in every handler: the mount; from here on retries notice that the request's process is being killed. */
struct fuse_mount *fuse_reply_begin(fuse_req_t req);

/* True if the request's process is being killed. */
bool fuse_reply_is_given_up(fuse_req_t req);

/* True if a signal waits for the request's thread to come back. A kernel that sends requests by io_uring says nothing of one that came
 * in the moment before the request was taken, and would have its thread wait in spite of it. */
bool fuse_reply_has_signal(fuse_req_t req);

/* For a request about an inode by number (not an open, which may be late many times): what to answer instead of -ESTALE; any other rc is left alone. The kernel looks an inode
 * that is gone up anew by its path and asks again; if that led the same thread to the same inode, it holds on to a directory
 * that was removed (its working directory), and -ENOENT is what local file systems say. */
int fuse_reply_gone(fuse_req_t req, fuse_ino_t ino, int rc);

/* rc: 0 or a negative errno. */
void fuse_reply_rc(fuse_req_t req, int rc);

/* The attributes if rc is 0, else the error. */
void fuse_reply_attr_or(fuse_req_t req, int rc, const struct wire_attr *attr);
void fuse_reply_entry_or(fuse_req_t req, int rc, const struct wire_attr *attr);

void fuse_reply_make_entry(const struct fuse_mount *mount, const struct wire_attr *attr, struct fuse_entry_param *entry);

/* That there is no such name. */
void fuse_reply_no_entry(fuse_req_t req);

struct fs_owner fuse_reply_owner(fuse_req_t req);

/* Each file of handlers puts its own into the table. */
void fuse_names_fill(struct fuse_lowlevel_ops *ops);
void fuse_attrs_fill(struct fuse_lowlevel_ops *ops);
void fuse_files_fill(struct fuse_lowlevel_ops *ops);
void fuse_dirs_fill(struct fuse_lowlevel_ops *ops);
void fuse_locks_fill(struct fuse_lowlevel_ops *ops);

#endif
