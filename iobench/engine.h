/* SPDX-License-Identifier: Apache-2.0
 *
 * How a block is moved: the operations that every load engine provides. The workers know only this table, so
 * that another way of doing I/O is another engine_NAME.c and a row in engine.c. An engine never decides what is
 * moved or when, and measures nothing. Each engine_file has one thread.
 */
#ifndef CALF_IOBENCH_ENGINE_H
#define CALF_IOBENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobench/result.h"

struct engine_file; /* an open file; each engine has its own kind */

/* When the engine mmap writes its pages back: at the end, begun after each block, waited for after each block. */
enum msync_mode { MSYNC_END, MSYNC_ASYNC, MSYNC_SYNC, MSYNC_MODES };
#define MSYNC_WORDS "end|async|sync"

struct engine_open {
    const char *path;
    bool create; /* a new file: created where it is missing, cut to nothing where it is not */
    bool shared; /* others have it open, too: what is there is not cut */
    bool read, write;
    bool append; /* writes go to the end, whatever offset they name */
    bool direct; /* O_DIRECT: buffers, offsets and sizes are then aligned as the file system wants them */
    enum sync_mode sync;
    enum msync_mode msync;
    uint64_t end_bytes; /* nothing beyond is touched */
    uint32_t depth;     /* requests in flight at most */
};

/* A request in flight, the caller's until it is reaped. */
struct engine_io {
    void *buffer;
    size_t bytes;
    uint64_t offset;
    bool write;
    uint32_t slot; /* below the depth; each is in flight once at most */
    int result;    /* 0; -ENODATA; another negative errno */
};

struct engine {
    const char *name;
    const char *about; /* one line for --help */
    bool no_direct;    /* has no O_DIRECT: it would not be this engine any more */
    bool no_dsync;     /* cannot write with O_DSYNC or O_SYNC */
    bool no_append;
    bool outside_kernel; /* paths are looked up on the mount, but data does not pass the kernel's page cache */
    /* Opens; the caller closes *file. 0 or a negative errno. */
    int (*open)(const struct engine_open *how, struct engine_file **file);
    /* Moves exactly `bytes` between buffer and offset, however many system calls that takes. 0; -ENODATA when
     * the file ends before; -EINTR when a signal came (the worker then looks whether it shall stop and else
     * calls again); else the system's error. Neither allocates nor locks. */
    int (*read)(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset);
    int (*write)(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset);
    /* Both NULL where only one request is in flight at a time. submit: begins; 0 or a negative errno (then it is not in
     * flight). reap: waits until at least one has ended; how many were put into done, or a negative errno (-EINTR as above). */
    int (*submit)(struct engine_file *file, struct engine_io *io);
    int (*reap)(struct engine_file *file, struct engine_io **done, unsigned room);
    /* Returns when the data is where the file system keeps it (fsync). 0 or a negative errno. */
    int (*flush)(struct engine_file *file);
    /* Closes and releases *file, also when it returns an error. 0 or a negative errno. */
    int (*close)(struct engine_file *file);
};

extern const struct engine engine_sync, engine_vectored, engine_aio, engine_mmap, engine_stdio, engine_calf;

/* The engine with that name, or NULL. */
const struct engine *engine_find(const char *name);

/* The names of all engines, separated by commas. */
const char *engine_names(void);

/* The flags of open(2) for `how`. */
int engine_open_flags(const struct engine_open *how);

/* open(2) with these flags: the descriptor or a negative errno. Blocks. */
int engine_open_fd(const struct engine_open *how);

#endif
