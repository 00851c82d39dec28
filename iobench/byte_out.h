/* SPDX-License-Identifier: Apache-2.0
 *
 * A buffered writer to a file descriptor for machine formats: numbers and texts without printf, since a result can hold
 * 100,000 samples. It keeps the FNV-1a hash of all that went through it. The first error sticks; byte_out_finish tells
 * it. Blocks when the buffer is full. Not thread-safe.
 */
#ifndef CALF_IOBENCH_BYTE_OUT_H
#define CALF_IOBENCH_BYTE_OUT_H

#include <stddef.h>
#include <stdint.h>

struct byte_out {
    int fd;
    int error; /* 0 or negative errno */
    uint64_t hash; /* FNV-1a, 64 bits, of the bytes that left the buffer */
    size_t used;
    char buffer[1 << 16];
};

/* Starts writing to fd, which stays the caller's. */
void byte_out_init(struct byte_out *out, int fd);

/* Writes the rest. 0 or the negative errno of the first write that failed. */
int byte_out_finish(struct byte_out *out) __attribute__((warn_unused_result));

/* The hash of everything written so far. */
uint64_t byte_out_hash(struct byte_out *out);

void byte_out_bytes(struct byte_out *out, const char *bytes, size_t count);
void byte_out_text(struct byte_out *out, const char *text);
void byte_out_u64(struct byte_out *out, uint64_t value);
void byte_out_i64(struct byte_out *out, int64_t value);

/* The text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so that the file parses whatever
 * a file name held. */
void byte_out_json_string(struct byte_out *out, const char *text);

/* The text as a CSV field, quoted where RFC 4180 asks for it. */
void byte_out_csv_field(struct byte_out *out, const char *text);

/* Length in bytes of the valid UTF-8 sequence at text (at most left bytes), 0 if there is none. */
size_t byte_out_utf8_length(const unsigned char *text, size_t left);

/* FNV-1a continued over count bytes; start with BYTE_OUT_HASH_START. */
#define BYTE_OUT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t byte_out_hash_add(uint64_t hash, const char *bytes, size_t count);

#endif
