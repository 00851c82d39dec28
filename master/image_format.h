/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and texts in the pieces of an image. Reading checks against the end of the piece.
 */
#ifndef CALF_IMAGE_FORMAT_H
#define CALF_IMAGE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire.h"

/* In a record's inode number: a lock of a program, not an append lock. */
#define IMAGE_FILE_LOCK (UINT64_C(1) << 63)

struct image_in {
    const uint8_t *at, *end;
    bool failed;
};

static inline void image_get(struct image_in *in, void *value, size_t bytes)
{
    if (in->failed || bytes > (size_t)(in->end - in->at)) {
        in->failed = true;
        memset(value, 0, bytes);
        return;
    }
    memcpy(value, in->at, bytes);
    in->at += bytes;
}

#define IMAGE_NUMBER(name, type)                                                                                     \
    static inline type image_get_##name(struct image_in *in)                                                         \
    {                                                                                                                \
        type value;                                                                                                  \
        image_get(in, &value, sizeof value);                                                                         \
        return value;                                                                                                \
    }
IMAGE_NUMBER(u8, uint8_t)
IMAGE_NUMBER(u16, uint16_t)
IMAGE_NUMBER(u32, uint32_t)
IMAGE_NUMBER(u64, uint64_t)

/* Points into the piece. */
static inline struct wire_bytes image_get_bytes(struct image_in *in)
{
    uint32_t length = image_get_u32(in);
    if (in->failed || length > (size_t)(in->end - in->at)) {
        in->failed = true;
        return (struct wire_bytes){NULL, 0};
    }
    struct wire_bytes bytes = {in->at, length};
    in->at += length;
    return bytes;
}

static inline bool image_is_more(const struct image_in *in)
{
    return !in->failed && in->at < in->end;
}

#endif
