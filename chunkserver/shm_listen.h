/* SPDX-License-Identifier: Apache-2.0
 *
 * The Unix socket through which clients on this machine, or in a container that has the same directory, come to share memory with this
 * chunkserver: DIR/<server id>.sock. Who may reach the directory may connect, as with a port of this machine.
 */
#ifndef CALF_SHM_LISTEN_H
#define CALF_SHM_LISTEN_H

#include <stdint.h>

#include "chunkserver/data_service.h"

/* directory: at most SHARED_MEMORY_DIRECTORY_LIMIT characters. Makes the socket and serves on it; the line that says so, or why not, has been logged. 0; -EADDRINUSE: another process serves there;
 * -errno. */
int shm_listen_start(const char *directory, uint32_t server_id, struct data_service *service);

#endif
