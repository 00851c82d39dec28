/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const struct engine *const engines[] = {&engine_sync, &engine_vectored, &engine_aio,
                                               &engine_mmap, &engine_stdio,    &engine_calf};

const struct engine *engine_find(const char *name)
{
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    return NULL;
}

const char *engine_names(void)
{
    return "sync, vectored, libaio, mmap, stdio, calf";
}

int engine_open_flags(const struct engine_open *how)
{
    int flags = O_CLOEXEC | (!how->write ? O_RDONLY : how->read ? O_RDWR : O_WRONLY);
    flags |= (how->create ? O_CREAT : 0) | (how->create && !how->shared ? O_TRUNC : 0);
    flags |= (how->direct ? O_DIRECT : 0) | (how->append ? O_APPEND : 0);
    if (how->write)
        flags |= how->sync == SYNC_DSYNC ? O_DSYNC : how->sync == SYNC_SYNC ? O_SYNC : 0;
    return flags;
}

int engine_open_fd(const struct engine_open *how)
{
    int fd = open(how->path, engine_open_flags(how), 0600);
    return fd < 0 ? -errno : fd;
}
