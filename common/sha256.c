/* SPDX-License-Identifier: Apache-2.0 */
#include "common/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <unistd.h>

#include "common/scope.h"

int sha256_of_file(const char *path, char hex[SHA256_TEXT])
{
    hex[0] = '\0';
    SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    mbedtls_sha256_context context;
    mbedtls_sha256_init(&context);
    (void)mbedtls_sha256_starts_ret(&context, 0);
    unsigned char piece[16384], digest[32];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        (void)mbedtls_sha256_update_ret(&context, piece, (size_t)n);
    int error = n < 0 ? errno : 0;
    (void)mbedtls_sha256_finish_ret(&context, digest);
    mbedtls_sha256_free(&context);
    for (unsigned i = 0; !error && i < sizeof digest; i++)
        (void)snprintf(hex + (size_t)2 * i, 3, "%02x", digest[i]);
    return -error;
}
