/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of this process that chunkservers on the same machine read: the data of writes lies in it and is not copied for the
 * message. One piece for all mounts and threads, so that a connection needs to give it only once, whoever writes over it, and a server maps it
 * once for all connections. It is sealed and has its whole size from the beginning; pages come as they are used.
 *
 * In it lie a room for each thread, with a buffer where a FUSE worker receives a request's data (fuse_device.c) and a place for data that lies
 * elsewhere, and the segments of delayed writes (write_behind.c). Delayed writes also hold buffers in which large requests were received,
 * and then the thread receives the next one in another. What a server was told to read there stays as it is until it has
 * answered, or its connection is closed.
 *
 * When its thread ends, the room goes to a later one: FUSE workers come and go by the dozen under load. Any thread.
 */
#ifndef CALF_WRITE_MEMORY_H
#define CALF_WRITE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire_schema.h"

enum {
    WRITE_MEMORY_ROOMS = 64, /* of threads; more than that write over the socket */
    WRITE_MEMORY_HELD = 32,  /* buffers that delayed writes hold, at most */
    WRITE_MEMORY_SEGMENT_BYTES = 256 * 1024,
    WRITE_MEMORY_SEGMENTS = 128,
    WRITE_MEMORY_BYTES = (2 * WRITE_MEMORY_ROOMS + WRITE_MEMORY_HELD) * WIRE_IO_LIMIT +
                         WRITE_MEMORY_SEGMENTS * WRITE_MEMORY_SEGMENT_BYTES,
};

/* A thread's. */
struct write_memory {
    uint8_t *received; /* WIRE_IO_LIMIT bytes, page-aligned; what somebody holds of it may be read, no more */
    uint8_t *copied;   /* likewise, the thread's alone */
};

/* From now on there is some. Before that, and where the system gives none, or none is left, what follows gives NULL. */
void write_memory_enable(void);

/* The calling thread's, until it ends. */
const struct write_memory *write_memory_get(void);

/* The same, with `received` free to be written to: another one than before, if somebody holds that. */
const struct write_memory *write_memory_receive(void);

/* If the data lies in what the calling thread has received: keeps it as it is until write_memory_drop, to be called once for each hold by any
 * thread with a pointer into the data. False: it lies elsewhere, or too much is held. */
bool write_memory_hold(const void *data);
void write_memory_drop(const void *data);

/* WRITE_MEMORY_SEGMENT_BYTES, page-aligned, with any content; the caller's until it is given back. */
uint8_t *write_memory_take_segment(void);

/* Its pages go back to the system. */
void write_memory_give_segment(uint8_t *segment);

/* Where in the memory the data lies as a whole; -1: it does not. */
int64_t write_memory_place(const void *data, size_t bytes);

/* WRITE_MEMORY_BYTES of it, for a server; stays this file's. -1: there is none. */
int write_memory_fd(void);

#endif
