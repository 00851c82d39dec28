/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a thread, of which chunkservers on this machine get a descriptor: the data of its writes lies in it and is not copied for
 * the message. Two parts: the first is where a FUSE worker receives a request's data (fuse_device.c), the second for data that lies
 * elsewhere. What a server was told to read there stays as it is until it has answered, or its connection is closed.
 *
 * When its thread ends, a later one gets it (WRITE_MEMORY_SPARE_LIMIT wait for that, more are freed): FUSE workers come and go by the
 * dozen under load, and memory that is new to a server must be given to it, mapped and touched before the first write.
 * Any thread; each sees only its own.
 */
#ifndef CALF_WRITE_MEMORY_H
#define CALF_WRITE_MEMORY_H

#include <stdint.h>

#include "common/wire_schema.h"

enum { WRITE_MEMORY_BYTES = 2 * WIRE_IO_LIMIT, WRITE_MEMORY_SPARE_LIMIT = 64 };

struct write_memory {
    uint64_t number; /* never used again in this process; not 0 */
    int fd;
    uint8_t *received; /* WIRE_IO_LIMIT bytes, page-aligned */
    uint8_t *copied;   /* likewise; follows it */
    struct write_memory *next; /* of those that no thread has */
};

/* From now on there is some. Before that, and where the system gives none, write_memory_get is NULL. */
void write_memory_enable(void);

const struct write_memory *write_memory_get(void);

#endif
