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

struct engine_file; /* an open file; each engine has its own kind */

struct engine_open {
    const char *path;
    bool create; /* a new file: created where it is missing, cut to nothing where it is not */
    bool write;
    bool direct; /* O_DIRECT: buffers, offsets and sizes are then aligned as the file system wants them */
};

struct engine {
    const char *name;
    const char *about; /* one line for --help */
    /* Opens; the caller closes *file. 0 or a negative errno. */
    int (*open)(const struct engine_open *how, struct engine_file **file);
    /* Moves exactly `bytes` between buffer and offset, however many system calls that takes. 0; -ENODATA when
     * the file ends before; -EINTR when a signal came (the worker then looks whether it shall stop and else
     * calls again); else the system's error. Neither allocates nor locks. */
    int (*read)(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset);
    int (*write)(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset);
    /* Returns when the data is where the file system keeps it (fsync). 0 or a negative errno. */
    int (*flush)(struct engine_file *file);
    /* Closes and releases *file, also when it returns an error. 0 or a negative errno. */
    int (*close)(struct engine_file *file);
};

extern const struct engine engine_sync;

/* The engine with that name, or NULL. */
const struct engine *engine_find(const char *name);

/* The names of all engines, separated by commas. */
const char *engine_names(void);

#endif
