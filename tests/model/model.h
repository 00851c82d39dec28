/* SPDX-License-Identifier: Apache-2.0
 *
 * What a directory with a few files must hold after a list of operations, in memory: the reference that a file system is
 * compared with. Operations depend on nothing but their own numbers, so that any part of a list is a list too: that is what
 * makes shrinking possible.
 */
#ifndef CALF_MODEL_H
#define CALF_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_NAMES = 5, MODEL_FILE_LIMIT = 400 << 10, MODEL_WHY = 400 };

/* X(name, weight): how often the operation is drawn. */
#define MODEL_KINDS(X)                                                                                                \
    X(write, 14)                                                                                                     \
    X(write_over, 4) /* and then once more, from a little before it */                                               \
    X(write_direct, 6)                                                                                               \
    X(append, 8)                                                                                                     \
    X(read, 12)                                                                                                      \
    X(read_direct, 5)                                                                                                \
    X(truncate, 8)                                                                                                   \
    X(rewrite, 3) /* open with O_TRUNC, then write */                                                                \
    X(mmap_write, 5)                                                                                                 \
    X(mmap_read, 4)                                                                                                  \
    X(allocate, 2)                                                                                                   \
    X(allocate_keep, 2)                                                                                              \
    X(punch, 4)                                                                                                      \
    X(zero, 3)                                                                                                       \
    X(copy_range, 4)                                                                                                 \
    X(holes, 3) /* SEEK_HOLE and SEEK_DATA: what is called a hole holds zeros */                                     \
    X(rename, 4)                                                                                                     \
    X(exchange, 2)                                                                                                   \
    X(link, 2)                                                                                                       \
    X(unlink, 3)                                                                                                     \
    X(sync, 3)                                                                                                       \
    X(close, 6) /* the descriptor that is kept open */                                                               \
    X(forget, 3) /* the page cache of the file */                                                                    \
    X(list, 2)

enum model_kind {
#define MODEL_KIND_ROW(name, weight) MODEL_##name,
    MODEL_KINDS(MODEL_KIND_ROW) MODEL_KIND_COUNT
};

struct model_op {
    uint8_t kind; /* enum model_kind */
    uint8_t a, b; /* names */
    uint8_t mount;
    uint32_t offset, length; /* bytes */
    uint32_t fill;           /* what the data is made of */
};

struct model_file {
    uint8_t *data; /* MODEL_FILE_LIMIT bytes, zero above size */
    uint32_t size;
    unsigned links;
    unsigned opens;
};

struct model {
    struct model_file *names[MODEL_NAMES]; /* NULL: there is none */
};

/* Operation `number` of the list that seed stands for. */
struct model_op model_draw(uint64_t seed, uint64_t number);

const char *model_kind_name(uint8_t kind);

/* Byte `offset` of data made of `fill`. */
static inline uint8_t model_byte(uint32_t fill, uint32_t offset)
{
    uint32_t mixed = (fill ^ offset / 7) * UINT32_C(2654435761);
    return (uint8_t)(mixed >> 24 | 1); /* never zero, so that lost data shows */
}

/* The file of a name, made if `make`; NULL if there is none. */
struct model_file *model_find(struct model *model, uint8_t name, bool make);
void model_fill(struct model_file *file, const struct model_op *op, uint32_t offset);
void model_zero(struct model_file *file, uint32_t offset, uint32_t length, bool extend);
void model_truncate(struct model_file *file, uint32_t size);

/* Whoever holds it lets go: a name, or a descriptor. */
void model_unlink(struct model *model, uint8_t name);
void model_put(struct model_file *file);
void model_fini(struct model *model);

#endif
