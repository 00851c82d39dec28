/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as people write them: sizes with k, m, g, t (powers of 1024), host:port, and sizes printed back.
 * Pure functions; none blocks.
 */
#ifndef CALF_UNITS_H
#define CALF_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { HOST_LIMIT = 255 };

struct address {
    char host[HOST_LIMIT + 1];
    uint16_t port;
};

/* "4096", "64k", "1m", "2G", "1MiB" -> bytes. -EINVAL: not such a text; -ERANGE: does not fit 63 bits. */
int units_parse_size(const char *text, uint64_t *bytes) __attribute__((warn_unused_result));

/* A whole decimal number from min to max. -EINVAL or -ERANGE. */
int units_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
    __attribute__((warn_unused_result));

/* "HOST:PORT", "[::1]:9", ":9" (host empty: any address), port 0 allowed (the kernel picks). -EINVAL. */
int units_parse_address(const char *text, struct address *address) __attribute__((warn_unused_result));

enum { UNITS_TEXT = 32, ADDRESS_TEXT = HOST_LIMIT + 10 };

/* Exact sizes short: 4096 -> "4k", 1048576 -> "1024k" (the benchmark custom: k up to 4096k, then m, g). */
const char *units_format_size(uint64_t bytes, char text[UNITS_TEXT]);

/* For people, three digits: 1536 -> "1.50 KiB". */
const char *units_format_bytes(uint64_t bytes, char text[UNITS_TEXT]);

/* "host:port", with brackets around a host that holds a colon. */
const char *units_format_address(const struct address *address, char text[ADDRESS_TEXT]);

#endif
