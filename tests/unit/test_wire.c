/* SPDX-License-Identifier: Apache-2.0
 *
 * Every type of the schema goes through the same tests: filled with small values and with everything at its limit,
 * encoded, decoded, cut at every byte, made longer, and bent in every place.
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

enum { ARENA_BYTES = 4 << 20 };

/* ---- filling a value of any type ---- */

struct filler {
    uint64_t next;      /* the next number */
    bool at_limit;      /* texts and lists as long as the schema allows, numbers all ones */
    uint8_t *arena;     /* texts and encoded lists live here */
    size_t used;
};

static uint64_t fill_number(struct filler *filler)
{
    filler->next = filler->next * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return filler->at_limit ? UINT64_MAX : filler->next;
}

#define FILL_NUMBER_KIND(kind, type)                                                                                 \
    static void fill_##kind(struct filler *filler, type *value, uint32_t limit)                                      \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        *value = (type)fill_number(filler);                                                                          \
    }
FILL_NUMBER_KIND(u8, uint8_t)
FILL_NUMBER_KIND(u16, uint16_t)
FILL_NUMBER_KIND(u32, uint32_t)
FILL_NUMBER_KIND(u64, uint64_t)
FILL_NUMBER_KIND(i64, int64_t)

static void fill_text(struct filler *filler, struct wire_bytes *value, uint32_t limit, uint8_t low)
{
    uint32_t length = filler->at_limit ? limit : (uint32_t)(fill_number(filler) >> 32) % (limit < 9 ? limit + 1 : 9);
    assert_true(filler->used + length <= ARENA_BYTES);
    uint8_t *at = filler->arena + filler->used;
    for (uint32_t i = 0; i < length; i++)
        at[i] = (uint8_t)(low + i % 26);
    *value = wire_bytes_of(at, length);
    filler->used += length;
}

static void fill_bytes(struct filler *filler, struct wire_bytes *value, uint32_t limit)
{
    fill_text(filler, value, limit, 0);
}

static void fill_str(struct filler *filler, struct wire_bytes *value, uint32_t limit)
{
    fill_text(filler, value, limit, 'a');
}

#define FILL_FIELD(kind, name, limit, meaning) fill_##kind(filler, &value->name, limit);
#define FILL_FIELDS(name)                                                                                            \
    static void fill_fields_##name(struct filler *filler, struct wire_##name *value)                                 \
    {                                                                                                                \
        (void)filler;                                                                                                \
        (void)value;                                                                                                 \
        WIRE_FIELDS_##name(FILL_FIELD)                                                                               \
    }
/* The records' own texts go to the arena first, the encoded list after them, so that nothing comes between. */
#define FILL_RECORD(name, meaning)                                                                                   \
    FILL_FIELDS(name)                                                                                                \
    static void fill_rec_##name(struct filler *filler, struct wire_##name *value, uint32_t limit)                    \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        fill_fields_##name(filler, value);                                                                           \
    }                                                                                                                \
    static void fill_list_##name(struct filler *filler, struct wire_list *list, uint32_t limit)                      \
    {                                                                                                                \
        uint32_t count = filler->at_limit ? limit : limit < 3 ? limit : 3;                                           \
        struct wire_##name *records = calloc(count + 1, sizeof *records);                                            \
        assert_non_null(records);                                                                                    \
        for (uint32_t i = 0; i < count; i++)                                                                         \
            fill_fields_##name(filler, &records[i]);                                                                 \
        struct wire_out room = wire_out_on(filler->arena + filler->used, ARENA_BYTES - filler->used);                \
        *list = (struct wire_list){NULL, 0, 0};                                                                      \
        for (uint32_t i = 0; i < count; i++)                                                                         \
            assert_true(wire_append_##name(&room, list, &records[i]));                                               \
        filler->used += room.used;                                                                                   \
        free(records);                                                                                               \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
WIRE_RECORDS(FILL_RECORD)
#pragma GCC diagnostic pop

#define FILL_MESSAGE(name, number, class, payload, reply_payload, meaning) FILL_FIELDS(name) FILL_FIELDS(name##_reply)
WIRE_MESSAGES(FILL_MESSAGE)
#define FILL_JOURNAL(name, number, meaning) FILL_FIELDS(name)
WIRE_JOURNAL_RECORDS(FILL_JOURNAL)

static void fill_any(struct filler *filler, uint16_t type, union wire_any *value)
{
    memset(value, 0, sizeof *value);
    filler->used = 0;
    switch (type) {
#define FILL_CASE(name, number, class, payload, reply_payload, meaning)                                              \
    case number:                                                                                                     \
        fill_fields_##name(filler, &value->name);                                                                    \
        return;                                                                                                      \
    case number | WIRE_REPLY:                                                                                        \
        fill_fields_##name##_reply(filler, &value->name##_reply);                                                    \
        return;
#define FILL_JOURNAL_CASE(name, number, meaning)                                                                     \
    case number:                                                                                                     \
        fill_fields_##name(filler, &value->name);                                                                    \
        return;
        WIRE_MESSAGES(FILL_CASE)
        WIRE_JOURNAL_RECORDS(FILL_JOURNAL_CASE)
    }
    fail_msg("no such type: %u", type);
}

static const uint16_t all_types[] = {
#define TYPE_ROW(name, number, class, payload, reply_payload, meaning) number, number | WIRE_REPLY,
#define TYPE_JOURNAL_ROW(name, number, meaning) number,
    WIRE_MESSAGES(TYPE_ROW) WIRE_JOURNAL_RECORDS(TYPE_JOURNAL_ROW)};

#define FOR_EACH_TYPE(type) for (size_t type##_at = 0; type##_at < sizeof all_types / sizeof *all_types; type##_at++)

struct fixture {
    struct filler filler;
    uint8_t *body, *again; /* WIRE_BODY_LIMIT each */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->filler.arena = malloc(ARENA_BYTES);
    f->body = malloc(WIRE_BODY_LIMIT);
    f->again = malloc(WIRE_BODY_LIMIT);
    *state = f;
    return f->filler.arena && f->body && f->again ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    free(f->filler.arena);
    free(f->body);
    free(f->again);
    free(f);
    return 0;
}

static size_t encode(struct fixture *f, uint16_t type, bool at_limit, union wire_any *value)
{
    f->filler.at_limit = at_limit;
    fill_any(&f->filler, type, value);
    struct wire_out out = wire_out_on(f->body, WIRE_BODY_LIMIT);
    int rc = wire_put_any(type, &out, value);
    if (rc < 0)
        fail_msg("%s does not fit a frame: its limits add up to more than WIRE_BODY_LIMIT", wire_type_name(type));
    return out.used;
}

/* ---- the tests ---- */

static void check_round_trip(struct fixture *f, uint16_t type, bool at_limit)
{
    union wire_any value, decoded;
    size_t bytes = encode(f, type, at_limit, &value);
    memset(&decoded, 0xee, sizeof decoded);
    assert_int_equal(wire_get_any(type, f->body, bytes, &decoded), 0);
    struct wire_out again = wire_out_on(f->again, WIRE_BODY_LIMIT);
    assert_int_equal(wire_put_any(type, &again, &decoded), 0);
    assert_int_equal(again.used, bytes);
    assert_memory_equal(f->again, f->body, bytes);
    /* Encoding into less room than needed fails and writes nothing beyond. */
    if (bytes) {
        uint8_t *tight = malloc(bytes);
        assert_non_null(tight);
        struct wire_out less = wire_out_on(tight, bytes - 1);
        assert_int_equal(wire_put_any(type, &less, &value), -EMSGSIZE);
        assert_true(less.failed);
        free(tight);
    }
}

static void everything_comes_back_as_it_was(void **state)
{
    FOR_EACH_TYPE(type)
        check_round_trip(*state, all_types[type_at], false);
}

static void everything_at_its_limit_fits_a_frame(void **state)
{
    FOR_EACH_TYPE(type)
        check_round_trip(*state, all_types[type_at], true);
}

/* The body lies at the end of its memory, so that the address sanitizer sees any step beyond. */
static int decode_copy(uint16_t type, const uint8_t *body, size_t bytes)
{
    union wire_any decoded;
    uint8_t *exact = malloc(bytes ? bytes : 1);
    assert_non_null(exact);
    memcpy(exact, body, bytes);
    int rc = wire_get_any(type, exact, bytes, &decoded);
    if (rc == 0) {
        char text[2000];
        wire_show(type, &decoded, text, sizeof text);
    }
    free(exact);
    return rc;
}

static void cut_anywhere_is_refused(void **state)
{
    struct fixture *f = *state;
    FOR_EACH_TYPE(type) {
        union wire_any value;
        size_t bytes = encode(f, all_types[type_at], false, &value);
        for (size_t cut = 0; cut < bytes; cut++)
            assert_int_equal(decode_copy(all_types[type_at], f->body, cut), -EBADMSG);
        f->body[bytes] = 0;
        assert_int_equal(decode_copy(all_types[type_at], f->body, bytes + 1), -EBADMSG);
    }
}

static void lengths_that_lie_are_harmless(void **state)
{
    static const uint32_t lies[] = {0, 1, 255, 256, 65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    struct fixture *f = *state;
    FOR_EACH_TYPE(type) {
        union wire_any value;
        size_t bytes = encode(f, all_types[type_at], false, &value);
        for (size_t at = 0; at + 4 <= bytes; at++) {
            uint8_t kept[4];
            memcpy(kept, f->body + at, 4);
            for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
                memcpy(f->body + at, &lies[i], 4);
                int rc = decode_copy(all_types[type_at], f->body, bytes);
                assert_true(rc == 0 || rc == -EBADMSG);
            }
            memcpy(f->body + at, kept, 4);
        }
    }
}

static void limits_hold_when_encoding_and_decoding(void **state)
{
    (void)state;
    static uint8_t text[WIRE_NAME_LIMIT + 1];
    uint8_t body[512];
    memset(text, 'n', sizeof text);
    struct wire_lookup lookup = {.parent = 1, .name = wire_bytes_of(text, WIRE_NAME_LIMIT)}, decoded;
    struct wire_out out = wire_out_on(body, sizeof body);
    wire_put_lookup(&out, &lookup);
    assert_false(out.failed);
    assert_int_equal(wire_get_lookup(body, out.used, &decoded), 0);

    lookup.name.length++;
    out = wire_out_on(body, sizeof body);
    wire_put_lookup(&out, &lookup);
    assert_true(out.failed);

    /* The same by hand, as a hostile peer would send it. */
    uint32_t length = WIRE_NAME_LIMIT + 1;
    memset(body, 'n', sizeof body);
    memcpy(body + 8, &length, 4);
    assert_int_equal(wire_get_lookup(body, 12 + length, &decoded), -EBADMSG);
    length = WIRE_NAME_LIMIT;
    memcpy(body + 8, &length, 4);
    assert_int_equal(wire_get_lookup(body, 12 + length, &decoded), 0);
}

static void a_text_has_no_nul(void **state)
{
    (void)state;
    uint8_t body[64];
    struct wire_lookup lookup = {.parent = 1, .name = wire_bytes_of("a\0b", 3)}, decoded;
    struct wire_out out = wire_out_on(body, sizeof body);
    wire_put_lookup(&out, &lookup);
    assert_true(out.failed);

    lookup.name = wire_text("abc");
    out = wire_out_on(body, sizeof body);
    wire_put_lookup(&out, &lookup);
    assert_false(out.failed);
    body[13] = 0;
    assert_int_equal(wire_get_lookup(body, out.used, &decoded), -EBADMSG);
}

/* The format itself: a change here is a change of WIRE_PROTOCOL. */
static void the_bytes_on_the_wire(void **state)
{
    (void)state;
    uint8_t body[64];
    struct wire_lookup lookup = {.parent = 0x0102030405060708, .name = wire_text("ab")};
    struct wire_out out = wire_out_on(body, sizeof body);
    wire_put_lookup(&out, &lookup);
    static const uint8_t expected[] = {8, 7, 6, 5, 4, 3, 2, 1, 2, 0, 0, 0, 'a', 'b'};
    assert_int_equal(out.used, sizeof expected);
    assert_memory_equal(body, expected, sizeof expected);

    struct wire_header header = {.body_bytes = 0x010203, .payload_bytes = 0x10, .type = WIRE_TYPE_chunk_write,
                                 .status = 5, .sequence = 0xa0b0c0d0};
    uint8_t head[WIRE_HEADER_BYTES];
    static const uint8_t expected_head[] = {3, 2, 1, 0, 16, 0, 0, 0, WIRE_TYPE_chunk_write, 0, 5, 0, 0xd0, 0xc0, 0xb0, 0xa0};
    wire_put_header(head, &header);
    assert_memory_equal(head, expected_head, sizeof expected_head);
}

static void headers_are_checked(void **state)
{
    (void)state;
    uint8_t head[WIRE_HEADER_BYTES];
    struct wire_header in, out;
    memset(&in, 0, sizeof in);
    in.type = WIRE_TYPE_chunk_write;
    in.body_bytes = WIRE_BODY_LIMIT;
    in.payload_bytes = WIRE_PAYLOAD_LIMIT;
    in.sequence = 9;
    wire_put_header(head, &in);
    memset(&out, 0, sizeof out);
    assert_int_equal(wire_get_header(head, &out), 0);
    assert_memory_equal(&in, &out, sizeof in);

    in.body_bytes++;
    wire_put_header(head, &in);
    assert_int_equal(wire_get_header(head, &out), -EBADMSG);
    in.body_bytes--;
    in.payload_bytes++;
    wire_put_header(head, &in);
    assert_int_equal(wire_get_header(head, &out), -EBADMSG);

    in.payload_bytes = 1;
    in.type = WIRE_TYPE_lookup; /* has no payload */
    wire_put_header(head, &in);
    assert_int_equal(wire_get_header(head, &out), -EBADMSG);
    in.payload_bytes = 0;
    static const uint16_t wrong[] = {0, 79, 127, 128, 0x7fff, 0x8000, 0xffff, WIRE_TYPE_j_session};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        in.type = wrong[i];
        wire_put_header(head, &in);
        assert_int_equal(wire_get_header(head, &out), -EBADMSG);
    }
}

/* The mark of a master that serves one client stands in replies only. */
static void a_reply_can_say_alone(void **state)
{
    (void)state;
    uint8_t head[WIRE_HEADER_BYTES];
    struct wire_header in = {.type = WIRE_TYPE_getattr | WIRE_REPLY, .alone = true}, out;
    wire_put_header(head, &in);
    assert_int_equal(wire_get_header(head, &out), 0);
    assert_int_equal(out.type, WIRE_TYPE_getattr | WIRE_REPLY);
    assert_true(out.alone);
    in.alone = false;
    wire_put_header(head, &in);
    assert_int_equal(wire_get_header(head, &out), 0);
    assert_false(out.alone);
    in = (struct wire_header){.type = WIRE_TYPE_getattr, .alone = true};
    wire_put_header(head, &in);
    assert_int_equal(wire_get_header(head, &out), -EBADMSG);
}

static void unknown_types_are_refused(void **state)
{
    (void)state;
    union wire_any value;
    uint8_t body[8] = {0};
    struct wire_out out = wire_out_on(body, sizeof body);
    static const uint16_t wrong[] = {0, 127, 0x7fff, 0x8000, 0xffff, WIRE_TYPE_j_session | WIRE_REPLY};
    memset(&value, 0, sizeof value);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(wire_get_any(wrong[i], body, 0, &value), -EBADMSG);
        assert_int_equal(wire_put_any(wrong[i], &out, &value), -EBADMSG);
        assert_null(wire_type_name(wrong[i]));
    }
}

static void lists_are_walked_and_built(void **state)
{
    (void)state;
    enum { LEASE_BYTES = 14 };
    uint8_t room_bytes[8 * LEASE_BYTES + 3];
    struct wire_out room = wire_out_on(room_bytes, sizeof room_bytes);
    struct wire_list list = {NULL, 0, 0};
    struct wire_released_lease lease = {.index = 1, .written = 1}, got;
    uint32_t count = 0;
    while (wire_append_released_lease(&room, &list, &lease))
        count++, lease.index++;
    assert_int_equal(count, sizeof room_bytes / LEASE_BYTES);
    assert_false(room.failed); /* what did not fit was not appended, the rest stands */
    assert_int_equal(list.count, count);
    struct wire_list rest = list;
    for (uint32_t i = 1; i <= count; i++) {
        assert_true(wire_next_released_lease(&rest, &got));
        assert_int_equal(got.index, i);
    }
    assert_false(wire_next_released_lease(&rest, &got));
    rest = list;
    rest.length -= 1; /* never trusted, even where a decoder has seen it */
    uint32_t walked = 0;
    while (wire_next_released_lease(&rest, &got))
        walked++;
    assert_int_equal(walked, count - 1);
}

static void everything_can_be_shown(void **state)
{
    struct fixture *f = *state;
    char text[4096];
    FOR_EACH_TYPE(type) {
        uint16_t number = all_types[type_at];
        union wire_any value;
        (void)encode(f, number, true, &value);
        size_t full = 0;
        for (size_t room = 1; room <= sizeof text; room = room < 300 ? room + 7 : room * 2) {
            memset(text, 0x7e, sizeof text);
            wire_show(number, &value, text, room);
            size_t length = strnlen(text, room);
            assert_true(length < room);
            if (room < sizeof text)
                assert_int_equal(text[room], 0x7e);
            full = length;
        }
        wire_show(number, &value, text, sizeof text);
        assert_true(full > 0);
        assert_ptr_equal(strstr(text, wire_type_name(number)), text);
        assert_null(strchr(text, '\n'));
    }
    struct wire_lookup lookup = {.parent = 1, .name = wire_text("a \"b\"\n")};
    union wire_any any = {.lookup = lookup};
    wire_show(WIRE_TYPE_lookup, &any, text, sizeof text);
    assert_string_equal(text, "lookup parent=1 name=\"a \\x22b\\x22\\x0a\"");
    wire_show(9999, &any, text, sizeof text);
    assert_non_null(strstr(text, "9999"));
}

static void texts_are_copied_or_refused(void **state)
{
    (void)state;
    char text[4] = "zzz";
    assert_true(wire_copy_text(wire_text("abc"), text, sizeof text));
    assert_string_equal(text, "abc");
    assert_false(wire_copy_text(wire_text("abcd"), text, sizeof text));
    assert_string_equal(text, "");
    assert_true(wire_copy_text(wire_bytes_of(NULL, 0), text, sizeof text));
    assert_string_equal(text, "");
}

static void statuses_map_to_errno_and_back(void **state)
{
    (void)state;
#define CHECK_STATUS(name, number, error, text)                                                                      \
    assert_int_equal(wire_status_errno(number), error);                                                              \
    assert_int_equal(wire_status_from_error(-(error)), number);                                                      \
    assert_string_equal(wire_status_text(number), text);
    WIRE_STATUSES(CHECK_STATUS)
    assert_int_equal(wire_status_errno(9999), EIO);
    assert_int_equal(wire_status_from_error(-ECHILD), WIRE_IO);
    assert_non_null(wire_status_text(9999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back_as_it_was),
        cmocka_unit_test(everything_at_its_limit_fits_a_frame),
        cmocka_unit_test(cut_anywhere_is_refused),
        cmocka_unit_test(lengths_that_lie_are_harmless),
        cmocka_unit_test(limits_hold_when_encoding_and_decoding),
        cmocka_unit_test(a_text_has_no_nul),
        cmocka_unit_test(the_bytes_on_the_wire),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(a_reply_can_say_alone),
        cmocka_unit_test(unknown_types_are_refused),
        cmocka_unit_test(lists_are_walked_and_built),
        cmocka_unit_test(everything_can_be_shown),
        cmocka_unit_test(texts_are_copied_or_refused),
        cmocka_unit_test(statuses_map_to_errno_and_back),
    };
    return cmocka_run_group_tests_name("wire", tests, set_up, tear_down);
}
