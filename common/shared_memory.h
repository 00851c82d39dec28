/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that two processes have mapped, made by one and given to the other as a descriptor. Its size is sealed, so neither of them can take
 * pages away from under the other's mapping, and the receiver maps it for reading only. What it reads there may change
 * while it looks: whoever needs to be sure of it copies first and checks then.
 * Any thread; nothing blocks.
 */
#ifndef CALF_SHARED_MEMORY_H
#define CALF_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/units.h"

/* Longest name of a directory for the sockets of chunkservers that share memory: Unix sockets have short names. */
enum { SHARED_MEMORY_DIRECTORY_LIMIT = 90 };

/* Whether a --shm DIR can be used: an existing directory whose absolute name, written to `full`, is no longer than that. If not,
 * one line on stderr says why. */
bool shared_memory_directory(const char *program, const char *directory, char full[SHARED_MEMORY_DIRECTORY_LIMIT + 1]);

/* The socket of the chunkserver with that id, as an address for stream.h. directory is no longer than that. */
void shared_memory_socket(const char *directory, uint32_t server_id, struct address *address);

/* WIRE_MEMORY_READS: what a client has read of a chunkserver without asking it, since it shares this. */
struct shared_reads {
    _Atomic uint64_t bytes, requests;
};

/* Zeroed memory of a whole number of pages: *map is the caller's for munmap(2), the descriptor that is returned for
 * close(2), which may come at once after it was sent. -errno. */
int shared_memory_create(size_t bytes, void **map) __attribute__((warn_unused_result));

/* Maps what another process made. *map is the caller's for munmap(2); fd stays the caller's. -EINVAL: it is not of that size, or
 * not sealed, or no such memory at all; -errno. */
int shared_memory_map(int fd, size_t bytes, const void **map) __attribute__((warn_unused_result));

#endif
