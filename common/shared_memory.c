/* SPDX-License-Identifier: Apache-2.0 */
#include "common/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/scope.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, PAGE_BYTES = 4096 };

bool shared_memory_directory(const char *program, const char *directory, char full[SHARED_MEMORY_DIRECTORY_LIMIT + 1])
{
    struct stat st;
    SCOPE_FREE char *path = realpath(directory, NULL);
    const char *why = NULL;
    if (!path || stat(path, &st) < 0)
        why = strerror(errno);
    else if (!S_ISDIR(st.st_mode))
        why = strerror(ENOTDIR);
    else if (strlen(path) > SHARED_MEMORY_DIRECTORY_LIMIT)
        why = "the name is too long for a socket in it";
    else
        memcpy(full, path, strlen(path) + 1);
    if (why)
        fprintf(stderr, "%s: --shm %s: %s\n", program, directory, why);
    return !why;
}

void shared_memory_socket(const char *directory, uint32_t server_id, struct address *address)
{
    *address = (struct address){.port = 0};
    (void)snprintf(address->host, sizeof address->host, "%.*s/%" PRIu32 ".sock", SHARED_MEMORY_DIRECTORY_LIMIT, directory,
                   server_id);
}

int shared_memory_create(size_t bytes, void **map)
{
    SCOPE_CLOSE int fd = memfd_create("calf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return -errno;
    *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*map == MAP_FAILED)
        return -errno;
    int made = fd;
    fd = -1;
    return made;
}

int shared_memory_map(int fd, size_t bytes, const void **map)
{
    struct stat st;
    struct statfs system;
    int seals = fcntl(fd, F_GET_SEALS);
    /* Huge pages would be sealed too, but a fault on them can fail. */
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size != (off_t)bytes || bytes == 0 ||
        bytes % PAGE_BYTES || fstatfs(fd, &system) < 0 || system.f_type != TMPFS_MAGIC)
        return -EINVAL;
    void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    *map = mapped;
    return 0;
}
