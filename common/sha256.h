/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 of a file, as sha256sum prints it: it names the exact program that produced a result. The one file with mbedTLS.
 * Blocks on the file system; any thread.
 */
#ifndef CALF_SHA256_H
#define CALF_SHA256_H

enum { SHA256_TEXT = 65 };

/* 0 or a negative errno; hex is terminated, empty after an error. */
int sha256_of_file(const char *path, char hex[SHA256_TEXT]) __attribute__((warn_unused_result));

#endif
