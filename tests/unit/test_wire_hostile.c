/* SPDX-License-Identifier: Apache-2.0
 *
 * What a hostile peer can send: every type of the schema is written by an encoder of the test's own, which
 * knows where each length and count stands, then cut at every byte and given lengths that lie. The encoder
 * shares nothing with wire.c but the schema.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire.h"

enum { BODY_ROOM = 64 << 20, LENGTHS_LIMIT = 128, TEXT_BYTES = 3, RECORDS = 2 };

/* A place in the body where a length or a count stands. */
struct length_at {
    size_t offset;
    uint32_t value, limit;
    bool of_list; /* of the records' bytes: it has no limit of its own, and must match the records */
};

struct emit {
    uint8_t *body;
    size_t used;
    struct length_at lengths[LENGTHS_LIMIT];
    unsigned count;
    int extended; /* which length is to be `to` instead of short; -1: none. Records inside a list are not extended. */
    bool over;    /* to its limit and one more, else to its limit */
    unsigned depth;
    uint64_t random;
};

static void emit_raw(struct emit *e, const void *data, size_t bytes)
{
    assert_true(e->used + bytes <= BODY_ROOM);
    memcpy(e->body + e->used, data, bytes);
    e->used += bytes;
}

static void emit_number(struct emit *e, size_t bytes)
{
    e->random = e->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t value = e->random >> 8;
    emit_raw(e, &value, bytes);
}

/* Notes a length, and says how much is to be written: `usual`, or up to its limit if it is the extended one. */
static uint32_t emit_length(struct emit *e, uint32_t usual, uint32_t limit)
{
    uint32_t value = usual < limit ? usual : limit;
    if (e->depth == 0) {
        assert_true(e->count < LENGTHS_LIMIT);
        if ((int)e->count == e->extended)
            value = e->over ? limit + 1 : limit;
    }
    if (e->count < LENGTHS_LIMIT)
        e->lengths[e->count++] = (struct length_at){e->used, value, limit, false};
    emit_raw(e, &value, sizeof value);
    return value;
}

#define EMIT_NUMBER_KIND(kind, bytes)                                                                                \
    static inline void emit_##kind(struct emit *e, uint32_t limit)                                                   \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        emit_number(e, bytes);                                                                                       \
    }
EMIT_NUMBER_KIND(u8, 1)
EMIT_NUMBER_KIND(u16, 2)
EMIT_NUMBER_KIND(u32, 4)
EMIT_NUMBER_KIND(u64, 8)
EMIT_NUMBER_KIND(i64, 8)

static void emit_bytes(struct emit *e, uint32_t limit)
{
    uint32_t length = emit_length(e, TEXT_BYTES, limit);
    for (uint32_t i = 0; i < length; i++)
        emit_raw(e, "x", 1);
}

static void emit_str(struct emit *e, uint32_t limit)
{
    emit_bytes(e, limit);
}

/* Begins a list: its count, and room for its length, which is noted too. Returns how many records are to follow. */
static uint32_t begin_list(struct emit *e, uint32_t limit, size_t *length_offset, unsigned *length_number)
{
    uint32_t records = emit_length(e, RECORDS, limit), zero = 0;
    *length_offset = e->used;
    *length_number = e->count;
    if (e->count < LENGTHS_LIMIT)
        e->lengths[e->count++] = (struct length_at){e->used, 0, 0, true};
    emit_raw(e, &zero, sizeof zero);
    e->depth++;
    return records;
}

static void end_list(struct emit *e, size_t length_offset, unsigned length_number)
{
    uint32_t length = (uint32_t)(e->used - length_offset - sizeof length);
    memcpy(e->body + length_offset, &length, sizeof length);
    if (length_number < LENGTHS_LIMIT)
        e->lengths[length_number].value = length;
    e->depth--;
}

#define EMIT_FIELD(kind, name, limit, meaning) emit_##kind(e, limit);
#define EMIT_FIELDS(name)                                                                                            \
    static void emit_fields_##name(struct emit *e)                                                                   \
    {                                                                                                                \
        (void)e;                                                                                                     \
        WIRE_FIELDS_##name(EMIT_FIELD)                                                                               \
    }
#define EMIT_RECORD(name, meaning)                                                                                   \
    EMIT_FIELDS(name)                                                                                                \
    static inline void emit_rec_##name(struct emit *e, uint32_t limit)                                               \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        emit_fields_##name(e);                                                                                       \
    }                                                                                                                \
    static inline void emit_list_##name(struct emit *e, uint32_t limit)                                              \
    {                                                                                                                \
        size_t offset;                                                                                               \
        unsigned number;                                                                                             \
        for (uint32_t n = begin_list(e, limit, &offset, &number); n; n--)                                            \
            emit_fields_##name(e);                                                                                   \
        end_list(e, offset, number);                                                                                 \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
WIRE_RECORDS(EMIT_RECORD)
#pragma GCC diagnostic pop

#define EMIT_MESSAGE(name, number, class, payload, reply_payload, meaning) EMIT_FIELDS(name) EMIT_FIELDS(name##_reply)
WIRE_MESSAGES(EMIT_MESSAGE)
#define EMIT_JOURNAL(name, number, meaning) EMIT_FIELDS(name)
WIRE_JOURNAL_RECORDS(EMIT_JOURNAL)

struct type_row {
    uint16_t type;
    void (*emit)(struct emit *e);
};

static const struct type_row types[] = {
#define TYPE_ROW(name, number, class, payload, reply_payload, meaning)                                               \
    {number, emit_fields_##name}, {number | WIRE_REPLY, emit_fields_##name##_reply},
#define TYPE_JOURNAL_ROW(name, number, meaning) {number, emit_fields_##name},
    WIRE_MESSAGES(TYPE_ROW) WIRE_JOURNAL_RECORDS(TYPE_JOURNAL_ROW)};

enum { TYPES = sizeof types / sizeof *types };

static void emit_type(struct emit *e, const struct type_row *row, int extended, bool over)
{
    e->used = 0;
    e->count = 0;
    e->extended = extended;
    e->over = over;
    e->depth = 0;
    e->random = row->type;
    row->emit(e);
}

/* Decodes a copy that ends where its memory ends, so that a sanitizer sees each step beyond. */
static int decode(const struct type_row *row, const uint8_t *body, size_t bytes)
{
    union wire_any value;
    uint8_t *exact = malloc(bytes ? bytes : 1);
    assert_non_null(exact);
    if (bytes)
        memcpy(exact, body, bytes);
    int rc = wire_get_any(row->type, exact, bytes, &value);
    free(exact);
    return rc;
}

static void expect(const struct type_row *row, const struct emit *e, size_t bytes, int expected, const char *what)
{
    int rc = decode(row, e->body, bytes);
    if (rc != expected)
        fail_msg("%s, %s: %d instead of %d", wire_type_name(row->type), what, rc, expected);
}

static int set_up(void **state)
{
    struct emit *e = calloc(1, sizeof *e);
    if (!e || !(e->body = malloc(BODY_ROOM)))
        return -1;
    *state = e;
    return 0;
}

static int tear_down(void **state)
{
    struct emit *e = *state;
    free(e->body);
    free(e);
    return 0;
}

static void the_encoders_agree(void **state)
{
    struct emit *e = *state;
    uint8_t *again = malloc(WIRE_BODY_LIMIT);
    for (int i = 0; i < TYPES; i++) {
        union wire_any value;
        emit_type(e, &types[i], -1, false);
        assert_int_equal(wire_get_any(types[i].type, e->body, e->used, &value), 0);
        struct wire_out out = wire_out_on(again, WIRE_BODY_LIMIT);
        assert_int_equal(wire_put_any(types[i].type, &out, &value), 0);
        assert_int_equal(out.used, e->used);
        assert_memory_equal(again, e->body, e->used);
    }
    free(again);
}

static void cut_at_every_byte(void **state)
{
    struct emit *e = *state;
    for (int i = 0; i < TYPES; i++) {
        emit_type(e, &types[i], -1, false);
        for (size_t cut = 0; cut < e->used; cut++)
            expect(&types[i], e, cut, -EBADMSG, "cut");
        e->body[e->used] = 0;
        expect(&types[i], e, e->used + 1, -EBADMSG, "one byte too many");
    }
}

/* With nothing behind it, a length says more than there is, or less than there is, or more than its limit. */
static void every_length_lies(void **state)
{
    struct emit *e = *state;
    for (int i = 0; i < TYPES; i++) {
        emit_type(e, &types[i], -1, false);
        for (unsigned k = 0; k < e->count; k++) {
            const struct length_at *length = &e->lengths[k];
            uint32_t rest = (uint32_t)(e->used - length->offset - 4);
            const uint32_t lies[] = {UINT32_MAX, UINT32_MAX - 3, 0x80000000u, 0x7fffffffu, WIRE_BODY_LIMIT + 1,
                                     length->limit + 1 > rest ? length->limit + 1 : UINT32_MAX, rest + 1,
                                     length->of_list ? length->value + 1 : UINT32_MAX,
                                     length->of_list ? length->value - 1 : UINT32_MAX};
            for (size_t l = 0; l < sizeof lies / sizeof *lies; l++) {
                memcpy(e->body + length->offset, &lies[l], 4);
                expect(&types[i], e, e->used, -EBADMSG, "a length that lies");
            }
            memcpy(e->body + length->offset, &length->value, 4);
        }
        expect(&types[i], e, e->used, 0, "as it was");
    }
}

/* With all of it there: the limit itself is allowed, one more is not. */
static void every_limit_is_exact(void **state)
{
    struct emit *e = *state;
    unsigned tried = 0;
    for (int i = 0; i < TYPES; i++) {
        emit_type(e, &types[i], -1, false);
        unsigned count = e->count;
        for (unsigned k = 0; k < count; k++) {
            emit_type(e, &types[i], (int)k, false);
            if (e->lengths[k].of_list || e->lengths[k].value != e->lengths[k].limit)
                continue; /* inside a list; the lists' records are tried where they stand alone */
            expect(&types[i], e, e->used, 0, "a length at its limit");
            emit_type(e, &types[i], (int)k, true);
            expect(&types[i], e, e->used, -EBADMSG, "a length above its limit");
            tried++;
        }
    }
    assert_true(tried > TYPES / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_encoders_agree),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(every_length_lies),
        cmocka_unit_test(every_limit_is_exact),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
