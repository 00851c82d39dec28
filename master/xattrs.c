/* SPDX-License-Identifier: Apache-2.0 */
#include "master/xattrs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/check.h"

enum { VALUES_LIMIT = 1 << 20 };

/* The link that points to the named attribute, or the last link. */
static struct xattr **find_link(struct xattr **first, struct wire_bytes name)
{
    while (*first && ((*first)->name_length != name.length || memcmp((*first)->data, name.data, name.length) != 0))
        first = &(*first)->next;
    return first;
}

struct xattr *xattrs_find(struct xattr *first, struct wire_bytes name)
{
    return *find_link(&first, name);
}

static bool has_room(const struct xattr *first, const struct xattr *without, size_t name_bytes, size_t value_bytes)
{
    size_t names = name_bytes + 1, values = value_bytes;
    for (const struct xattr *x = first; x; x = x->next) {
        if (x == without)
            continue;
        names += x->name_length + 1u;
        values += x->value_length;
    }
    return names <= WIRE_XATTR_LIMIT && values <= VALUES_LIMIT;
}

uint16_t xattrs_set(struct xattr **first, struct wire_bytes name, struct wire_bytes value, uint32_t flags)
{
    struct xattr **link = find_link(first, name), *old = *link;
    if (flags & ~(uint32_t)(XATTR_CREATE | XATTR_REPLACE) || name.length == 0)
        return WIRE_INVALID;
    if (old && flags & XATTR_CREATE)
        return WIRE_EXISTS;
    if (!old && flags & XATTR_REPLACE)
        return WIRE_NO_ATTRIBUTE;
    if (!has_room(*first, old, name.length, value.length))
        return WIRE_NO_SPACE;
    struct xattr *made = check_alloc(malloc(sizeof *made + name.length + value.length));
    made->next = old ? old->next : NULL;
    made->name_length = (uint8_t)name.length;
    made->value_length = value.length;
    memcpy(made->data, name.data, name.length);
    if (value.length)
        memcpy(made->data + name.length, value.data, value.length);
    *link = made;
    free(old);
    return WIRE_OK;
}

uint16_t xattrs_remove(struct xattr **first, struct wire_bytes name)
{
    struct xattr **link = find_link(first, name), *old = *link;
    if (!old)
        return WIRE_NO_ATTRIBUTE;
    *link = old->next;
    free(old);
    return WIRE_OK;
}

uint32_t xattrs_list(const struct xattr *first, uint8_t *names)
{
    uint32_t used = 0;
    for (; first; first = first->next) {
        CHECK(used + first->name_length + 1u <= WIRE_XATTR_LIMIT);
        memcpy(names + used, first->data, first->name_length);
        used += first->name_length;
        names[used++] = 0;
    }
    return used;
}

void xattrs_free(struct xattr **first)
{
    while (*first) {
        struct xattr *gone = *first;
        *first = gone->next;
        free(gone);
    }
}
