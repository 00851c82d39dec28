/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/store_identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "chunkserver/chunk_format.h"
#include "common/scope.h"

static const char file_name[] = "store.id", temporary_name[] = "store.id.new";

enum { TEXT_LIMIT = 512 };

int store_identity_save(int directory, const struct store_identity *identity)
{
    char text[TEXT_LIMIT];
    int length = snprintf(text, sizeof text,
                          "calf chunk store 1\nnode %016" PRIx64 "\ncluster %016" PRIx64 "\nchunk_bytes %" PRIu32
                          "\nblock_bytes %" PRIu32 "\nend\n",
                          identity->node, identity->cluster, identity->geometry.chunk_bytes,
                          identity->geometry.block_bytes);
    SCOPE_CLOSE int fd = openat(directory, temporary_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, (size_t)length);
    if (n != length)
        return n < 0 ? -errno : -ENOSPC;
    if (fsync(fd) < 0 || renameat(directory, temporary_name, directory, file_name) < 0 || fsync(directory) < 0)
        return -errno;
    return 0;
}

static int is_empty(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return -errno;
    int empty = 1;
    const struct dirent *entry;
    while ((entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "lost+found") != 0 && strcmp(entry->d_name, temporary_name) != 0)
            empty = 0;
    (void)closedir(d);
    return empty;
}

static int make_new(int directory, struct store_identity *identity)
{
    int empty = is_empty(directory);
    if (empty <= 0)
        return empty < 0 ? empty : -ENOTEMPTY;
    *identity = (struct store_identity){0};
    while (identity->node == 0)
        if (getrandom(&identity->node, sizeof identity->node, 0) != sizeof identity->node)
            return -errno;
    return store_identity_save(directory, identity);
}

int store_identity_load(int directory, struct store_identity *identity)
{
    SCOPE_CLOSE int fd = openat(directory, file_name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? make_new(directory, identity) : -errno;
    char text[TEXT_LIMIT + 1];
    ssize_t n = read(fd, text, TEXT_LIMIT);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    *identity = (struct store_identity){0};
    int end = 0;
    int fields = sscanf(text,
                        "calf chunk store 1 node %16" SCNx64 " cluster %16" SCNx64 " chunk_bytes %10" SCNu32
                        " block_bytes %10" SCNu32 " end%n",
                        &identity->node, &identity->cluster, &identity->geometry.chunk_bytes,
                        &identity->geometry.block_bytes, &end);
    if (fields != 4 || end == 0 || identity->node == 0)
        return -EUCLEAN;
    if (identity->cluster && chunk_format_check_geometry(&identity->geometry) < 0)
        return -EUCLEAN;
    return 0;
}
