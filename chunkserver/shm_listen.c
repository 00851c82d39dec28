/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/shm_listen.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/shared_memory.h"
#include "common/stream.h"

enum { CONNECT_MS = 1000 };

/* A socket that a process left behind refuses; one that answers belongs to somebody. */
static bool is_served(const struct address *address)
{
    struct stream stream;
    if (stream_connect(address, CONNECT_MS, &stream) < 0)
        return false;
    stream_close(&stream);
    return true;
}

static int listen_at(const struct address *address, int *fd)
{
    if (is_served(address))
        return -EADDRINUSE;
    int rc = stream_listen(address, fd, NULL);
    if (rc < 0)
        return rc;
    /* Clients may be other users, as in a container without capabilities; the directory says who gets this far. */
    if (chmod(address->host, 0666) == 0)
        return 0;
    rc = -errno;
    (void)close(*fd);
    return rc;
}

int shm_listen_start(const char *directory, uint32_t server_id, struct data_service *service)
{
    struct address address;
    int fd;
    shared_memory_socket(directory, server_id, &address);
    int rc = listen_at(&address, &fd);
    if (rc < 0) {
        log_error("no shared memory at %s: %s; clients use TCP", address.host, strerror(-rc));
        return rc;
    }
    data_service_serve_local(service, fd);
    log_info("shares memory at %s", address.host);
    return 0;
}
