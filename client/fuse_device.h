/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection to the kernel: /dev/fuse and the mount, made here rather than by libfuse, and all requests and replies passing
 * by. That gives what libfuse 3.14 does not know and the kernel offers (each is used where the kernel offers it):
 *   - FUSE_HANDLE_KILLPRIV_V2: otherwise the kernel asks for security.capability before every single write;
 *   - FOPEN_PARALLEL_DIRECT_WRITES: otherwise O_DIRECT writes to one file wait for each other;
 *   - FUSE_OVER_IO_URING: fuse_uring.h;
 *   - FUSE_DIRECT_IO_ALLOW_MMAP: otherwise a file opened for appending cannot be mapped.
 * For the fuse_*.c files only.
 */
#ifndef CALF_FUSE_DEVICE_H
#define CALF_FUSE_DEVICE_H

#include <fuse3/fuse_lowlevel.h>
#include <stdbool.h>

/* Mounts at mountpoint (root is needed) and ties the session to it. source: what is shown as mounted; options: of the
 * kernel's FUSE, as "default_permissions,allow_other"; uring: take requests by io_uring if the kernel offers it. 0 or a negative errno; the session owns the descriptor then. */
int fuse_device_mount(struct fuse_session *session, const char *mountpoint, const char *source, const char *options, bool uring)
    __attribute__((warn_unused_result));

/* Takes the mount away unless that has happened already. Before fuse_session_destroy. */
void fuse_device_unmount(struct fuse_session *session, const char *mountpoint);

/* What is to be known of a request that this thread handles next; for those that do not come from the device's descriptor. */
void fuse_device_note_request(const uint8_t *data, size_t bytes);

/* The data of the write that this thread handles, for which libfuse gives `data`: it may have been received elsewhere
 * (write_memory.h). Valid until the next request. */
const void *fuse_device_write_data(const void *data);

/* Whether the request that this thread handles must clear set-user-id and set-group-id: a write, or an open with
 * O_TRUNC, by somebody without the right to keep them. Truncations and changes of owner say it by themselves. */
bool fuse_device_kills_suid(void);

/* Whether the kernel leaves it to us to clear those bits; known after the first request. */
bool fuse_device_leaves_suid(void);

/* The next reply that this thread sends opens a file. */
void fuse_device_opens(void);

#endif
