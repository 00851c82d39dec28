/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes of one inode: a short list, in the order they were set. Pure; one thread.
 */
#ifndef CALF_XATTRS_H
#define CALF_XATTRS_H

#include "common/wire.h"

struct xattr {
    struct xattr *next;
    uint32_t value_length;
    uint8_t name_length;
    uint8_t data[]; /* name, then value */
};

static inline struct wire_bytes xattr_name(const struct xattr *xattr)
{
    return wire_bytes_of(xattr->data, xattr->name_length);
}

static inline struct wire_bytes xattr_value(const struct xattr *xattr)
{
    return wire_bytes_of(xattr->data + xattr->name_length, xattr->value_length);
}

struct xattr *xattrs_find(struct xattr *first, struct wire_bytes name);

/* Sets or replaces. WIRE_OK; WIRE_EXISTS and WIRE_NO_ATTRIBUTE for the flags of setxattr(2); WIRE_NO_SPACE when all
 * names or all values together would be more than 64 KiB of names or 1 MiB of values. */
uint16_t xattrs_set(struct xattr **first, struct wire_bytes name, struct wire_bytes value, uint32_t flags)
    __attribute__((warn_unused_result));

/* WIRE_OK or WIRE_NO_ATTRIBUTE. */
uint16_t xattrs_remove(struct xattr **first, struct wire_bytes name) __attribute__((warn_unused_result));

/* All names, each with its NUL, into names[WIRE_XATTR_LIMIT]; the bytes used. */
uint32_t xattrs_list(const struct xattr *first, uint8_t *names);

void xattrs_free(struct xattr **first);

#endif
