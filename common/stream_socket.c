/* SPDX-License-Identifier: Apache-2.0
 *
 * How streams come to be: addresses, listening, connecting, accepting.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/stream.h"

enum { BACKLOG = 512 };

struct place {
    struct sockaddr_storage address;
    socklen_t length;
};

static int find(const struct address *address, bool to_listen, struct place *place)
{
    if (address->host[0] == '/') {
        struct sockaddr_un unix_address = {.sun_family = AF_UNIX};
        if (strlen(address->host) >= sizeof unix_address.sun_path)
            return -ENAMETOOLONG;
        strcpy(unix_address.sun_path, address->host);
        memcpy(&place->address, &unix_address, sizeof unix_address);
        place->length = sizeof unix_address;
        return 0;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0)};
    struct addrinfo *found = NULL;
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)address->port);
    bool any = address->host[0] == '\0';
    if (any && to_listen)
        hints.ai_family = AF_INET;
    if (getaddrinfo(any ? NULL : address->host, port, &hints, &found) != 0 || !found)
        return -EHOSTUNREACH;
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->length = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

/* Small frames must not wait for acknowledgements of earlier ones. */
static void set_no_delay(int fd)
{
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails on Unix sockets, which need it not */
}

static int bound_address(int fd, const struct address *asked, struct address *bound)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    *bound = *asked;
    if (getsockname(fd, (struct sockaddr *)&name, &length) < 0)
        return -errno;
    if (name.ss_family == AF_INET)
        bound->port = ntohs(((struct sockaddr_in *)&name)->sin_port);
    else if (name.ss_family == AF_INET6)
        bound->port = ntohs(((struct sockaddr_in6 *)&name)->sin6_port);
    return 0;
}

int stream_listen(const struct address *address, int *fd, struct address *bound)
{
    struct place place;
    int rc = find(address, true, &place);
    if (rc < 0)
        return rc;
    SCOPE_CLOSE int s = socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return -errno;
    int one = 1;
    (void)setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (place.address.ss_family == AF_UNIX)
        (void)unlink(address->host);
    if (bind(s, (struct sockaddr *)&place.address, place.length) < 0 || listen(s, BACKLOG) < 0)
        return -errno;
    rc = bound ? bound_address(s, address, bound) : 0;
    if (rc < 0)
        return rc;
    *fd = s;
    s = -1;
    return 0;
}

int stream_accept(int listen_fd, struct stream *stream)
{
    int fd;
    do {
        fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0)
        return -errno;
    set_no_delay(fd);
    stream_init(stream, fd);
    return 0;
}

int stream_set_timeout(struct stream *stream, int timeout_ms)
{
    struct timeval t = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    if (setsockopt(stream->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) < 0 ||
        setsockopt(stream->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t) < 0)
        return -errno;
    stream->timeout_ms = timeout_ms;
    return 0;
}

/* SO_SNDTIMEO bounds connect(2), which then fails with EINPROGRESS. */
int stream_connect(const struct address *address, int timeout_ms, struct stream *stream)
{
    struct place place;
    int rc = find(address, false, &place);
    if (rc < 0)
        return rc;
    int fd = socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    set_no_delay(fd);
    stream_init(stream, fd);
    rc = stream_set_timeout(stream, timeout_ms);
    if (rc == 0 && connect(fd, (struct sockaddr *)&place.address, place.length) < 0)
        rc = errno == EINPROGRESS || errno == EAGAIN ? -ETIMEDOUT : errno == EINTR ? -EAGAIN : -errno;
    if (rc < 0)
        stream_close(stream);
    return rc;
}
