/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/byte_out.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t byte_out_hash_add(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void flush(struct byte_out *out)
{
    out->hash = byte_out_hash_add(out->hash, out->buffer, out->used);
    for (size_t done = 0; done < out->used && out->error == 0;) {
        ssize_t n = write(out->fd, out->buffer + done, out->used - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            out->error = -errno;
    }
    out->used = 0;
}

void byte_out_init(struct byte_out *out, int fd)
{
    out->fd = fd;
    out->error = 0;
    out->hash = BYTE_OUT_HASH_START;
    out->used = 0;
}

int byte_out_finish(struct byte_out *out)
{
    flush(out);
    return out->error;
}

uint64_t byte_out_hash(struct byte_out *out)
{
    flush(out);
    return out->hash;
}

void byte_out_bytes(struct byte_out *out, const char *bytes, size_t count)
{
    while (count > 0) {
        if (out->used == sizeof out->buffer)
            flush(out);
        size_t part = sizeof out->buffer - out->used;
        if (part > count)
            part = count;
        memcpy(out->buffer + out->used, bytes, part);
        out->used += part;
        bytes += part;
        count -= part;
    }
}

void byte_out_text(struct byte_out *out, const char *text)
{
    byte_out_bytes(out, text, strlen(text));
}

void byte_out_u64(struct byte_out *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    byte_out_bytes(out, digits + at, sizeof digits - at);
}

void byte_out_i64(struct byte_out *out, int64_t value)
{
    if (value < 0)
        byte_out_bytes(out, "-", 1);
    byte_out_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static bool continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t byte_out_utf8_length(const unsigned char *text, size_t left)
{
    if (left == 0)
        return 0;
    unsigned char c = text[0];
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return left >= 2 && continues(text[1]) ? 2 : 0;
    if (c >= 0xe0 && c <= 0xef) {
        if (left < 3 || !continues(text[1]) || !continues(text[2]))
            return 0;
        bool overlong = c == 0xe0 && text[1] < 0xa0;
        bool surrogate = c == 0xed && text[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        if (left < 4 || !continues(text[1]) || !continues(text[2]) || !continues(text[3]))
            return 0;
        bool overlong = c == 0xf0 && text[1] < 0x90;
        bool beyond = c == 0xf4 && text[1] >= 0x90;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

void byte_out_json_string(struct byte_out *out, const char *text)
{
    size_t left = strlen(text);
    byte_out_bytes(out, "\"", 1);
    while (left > 0) {
        size_t length = byte_out_utf8_length((const unsigned char *)text, left);
        unsigned char c = (unsigned char)*text;
        if (length == 0) {
            byte_out_text(out, "\\ufffd");
            length = 1;
        } else if (c < 0x20) {
            char escape[8];
            (void)snprintf(escape, sizeof escape, "\\u%04x", c);
            byte_out_text(out, escape);
        } else {
            if (c == '"' || c == '\\')
                byte_out_bytes(out, "\\", 1);
            byte_out_bytes(out, text, length);
        }
        text += length;
        left -= length;
    }
    byte_out_bytes(out, "\"", 1);
}

void byte_out_csv_field(struct byte_out *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        byte_out_text(out, text);
        return;
    }
    byte_out_bytes(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"')
            byte_out_bytes(out, "\"", 1);
        byte_out_bytes(out, text, 1);
    }
    byte_out_bytes(out, "\"", 1);
}
