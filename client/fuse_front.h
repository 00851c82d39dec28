/* SPDX-License-Identifier: Apache-2.0
 *
 * The FUSE front: mounts a file system (fs.h) and serves the kernel's requests until it is unmounted or the process gets
 * SIGTERM, SIGINT or SIGHUP. Mounting is done with mount(2), as root; no helper program is needed.
 */
#ifndef CALF_FUSE_FRONT_H
#define CALF_FUSE_FRONT_H

#include <stdbool.h>

struct fs;

struct fuse_front_options {
    const char *mountpoint; /* absolute */
    const char *source;     /* what mount tables show, without commas */
    bool exclusive;         /* the file system is this mount's alone: the kernel may cache writes */
    bool uring;             /* requests come by io_uring if the kernel offers it */
    void (*ready)(void *argument); /* called once, by another thread, when the mount answers */
    void *argument;
};

/* 0 after a clean end; -EIO and a line on stderr if it cannot be mounted. Blocks. The caller has called ending_start(). */
int fuse_front_run(struct fs *fs, const struct fuse_front_options *options) __attribute__((warn_unused_result));

#endif
