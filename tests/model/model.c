/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static const struct {
    const char *name;
    unsigned weight;
} kinds[] = {
#define KIND_NAME(name, weight) {#name, weight},
    MODEL_KINDS(KIND_NAME)};

const char *model_kind_name(uint8_t kind)
{
    return kinds[kind].name;
}

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Places where things go wrong: at, just before and just after multiples of a block, a small chunk and a large request. */
static uint32_t draw_place(uint64_t *state)
{
    static const uint32_t units[] = {4096, 65536, 131072, 512};
    uint64_t dice = next(state);
    if (dice % 3 == 0)
        return (uint32_t)(next(state) % MODEL_FILE_LIMIT);
    uint32_t unit = units[dice / 3 % 4];
    uint32_t place = (uint32_t)(next(state) % (MODEL_FILE_LIMIT / unit)) * unit;
    uint32_t shift = (uint32_t)(next(state) % 5);
    return shift == 3 && place ? place - 1 : shift == 4 ? place + 1 : place;
}

static uint32_t draw_length(uint64_t *state)
{
    static const uint32_t limits[] = {1, 100, 4096, 5000, 20000, 140000};
    uint64_t dice = next(state);
    uint32_t length = (uint32_t)(1 + next(state) % limits[dice % 6]);
    return dice % 7 == 0 ? (length + 4095) & ~4095u : length;
}

struct model_op model_draw(uint64_t seed, uint64_t number)
{
    uint64_t state = seed * UINT64_C(0x2545f4914f6cdd1d) + number * UINT64_C(0xda942042e4dd58b5);
    unsigned total = 0;
    struct model_op op = {0};
    for (unsigned i = 0; i < MODEL_KIND_COUNT; i++)
        total += kinds[i].weight;
    unsigned dice = (unsigned)(next(&state) % total);
    while (dice >= kinds[op.kind].weight)
        dice -= kinds[op.kind++].weight;
    op.a = (uint8_t)(next(&state) % MODEL_NAMES);
    op.b = (uint8_t)(next(&state) % MODEL_NAMES);
    op.mount = (uint8_t)(next(&state) & 1);
    op.offset = draw_place(&state);
    op.length = draw_length(&state);
    op.fill = (uint32_t)next(&state);
    if (op.kind == MODEL_write_direct || op.kind == MODEL_read_direct) {
        op.offset &= ~511u;
        op.length = (op.length + 511) & ~511u;
    }
    if (op.length > MODEL_FILE_LIMIT - op.offset)
        op.length = MODEL_FILE_LIMIT - op.offset;
    return op;
}

struct model_file *model_find(struct model *model, uint8_t name, bool make)
{
    if (!model->names[name] && make) {
        struct model_file *file = check_alloc(calloc(1, sizeof *file));
        file->data = check_alloc(calloc(1, MODEL_FILE_LIMIT));
        file->links = 1;
        model->names[name] = file;
    }
    return model->names[name];
}

void model_fill(struct model_file *file, const struct model_op *op, uint32_t offset)
{
    for (uint32_t i = 0; i < op->length; i++)
        file->data[offset + i] = model_byte(op->fill, i);
    if (op->length && offset + op->length > file->size)
        file->size = offset + op->length;
}

void model_zero(struct model_file *file, uint32_t offset, uint32_t length, bool extend)
{
    memset(file->data + offset, 0, length);
    if (extend && offset + length > file->size)
        file->size = offset + length;
}

void model_truncate(struct model_file *file, uint32_t size)
{
    if (size < file->size)
        memset(file->data + size, 0, file->size - size);
    file->size = size;
}

void model_put(struct model_file *file)
{
    if (file->links == 0 && file->opens == 0) {
        free(file->data);
        free(file);
    }
}

void model_unlink(struct model *model, uint8_t name)
{
    struct model_file *file = model->names[name];
    if (!file)
        return;
    model->names[name] = NULL;
    file->links--;
    model_put(file);
}

void model_fini(struct model *model)
{
    for (uint8_t i = 0; i < MODEL_NAMES; i++)
        model_unlink(model, i);
}
