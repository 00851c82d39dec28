/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/own_address.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/scope.h"

/* Connecting a datagram socket only looks the route up. */
static int find(const struct addrinfo *peer, struct address *own)
{
    SCOPE_CLOSE int fd = socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    if (fd < 0 || connect(fd, peer->ai_addr, peer->ai_addrlen) < 0 ||
        getsockname(fd, (struct sockaddr *)&name, &length) < 0)
        return -errno;
    return getnameinfo((struct sockaddr *)&name, length, own->host, sizeof own->host, NULL, 0, NI_NUMERICHOST) == 0
               ? 0
               : -EHOSTUNREACH;
}

int own_address_towards(const struct address *peer, struct address *own)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
    char port[8];
    (void)snprintf(port, sizeof port, "%u", (unsigned)peer->port);
    if (getaddrinfo(peer->host, port, &hints, &found) != 0 || !found)
        return -EHOSTUNREACH;
    int rc = find(found, own);
    freeaddrinfo(found);
    return rc;
}
