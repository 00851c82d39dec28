/* SPDX-License-Identifier: Apache-2.0 */
#include "common/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

/* ---- one field: put_KIND(out, value, limit), get_KIND(in, value, limit) ---- */

struct wire_in {
    const uint8_t *at, *end;
    bool failed;
};

static void put_raw(struct wire_out *out, const void *data, size_t bytes)
{
    if (out->failed || bytes > out->room - out->used) {
        out->failed = true;
        return;
    }
    if (bytes)
        memcpy(out->data + out->used, data, bytes);
    out->used += bytes;
}

static void get_raw(struct wire_in *in, void *data, size_t bytes)
{
    if (in->failed || bytes > (size_t)(in->end - in->at)) {
        in->failed = true;
        memset(data, 0, bytes);
        return;
    }
    memcpy(data, in->at, bytes);
    in->at += bytes;
}

#define WIRE_NUMBER_KIND(kind, type)                                                                                 \
    static inline void put_##kind(struct wire_out *out, const type *value, uint32_t limit)                           \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        put_raw(out, value, sizeof *value);                                                                          \
    }                                                                                                                \
    static inline void get_##kind(struct wire_in *in, type *value, uint32_t limit)                                   \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        get_raw(in, value, sizeof *value);                                                                           \
    }
WIRE_NUMBER_KIND(u8, uint8_t)
WIRE_NUMBER_KIND(u16, uint16_t)
WIRE_NUMBER_KIND(u32, uint32_t)
WIRE_NUMBER_KIND(u64, uint64_t)
WIRE_NUMBER_KIND(i64, int64_t)

static void put_bytes(struct wire_out *out, const struct wire_bytes *value, uint32_t limit)
{
    if (value->length > limit)
        out->failed = true;
    put_raw(out, &value->length, sizeof value->length);
    put_raw(out, value->data, value->length);
}

static void get_bytes(struct wire_in *in, struct wire_bytes *value, uint32_t limit)
{
    uint32_t length;
    get_raw(in, &length, sizeof length);
    if (in->failed || length > limit || length > (size_t)(in->end - in->at)) {
        in->failed = true;
        *value = (struct wire_bytes){NULL, 0};
        return;
    }
    *value = (struct wire_bytes){in->at, length};
    in->at += length;
}

static void put_str(struct wire_out *out, const struct wire_bytes *value, uint32_t limit)
{
    if (value->length && memchr(value->data, 0, value->length))
        out->failed = true;
    put_bytes(out, value, limit);
}

static void get_str(struct wire_in *in, struct wire_bytes *value, uint32_t limit)
{
    get_bytes(in, value, limit);
    if (value->length && memchr(value->data, 0, value->length))
        in->failed = true;
}

static void put_list(struct wire_out *out, const struct wire_list *list, uint32_t limit)
{
    if (list->count > limit)
        out->failed = true;
    put_raw(out, &list->count, sizeof list->count);
    put_raw(out, &list->length, sizeof list->length);
    put_raw(out, list->data, list->length);
}

/* Takes the list's bytes off `in`; *inside then reads the records. */
static bool get_list(struct wire_in *in, struct wire_list *list, uint32_t limit, struct wire_in *inside)
{
    get_raw(in, &list->count, sizeof list->count);
    get_raw(in, &list->length, sizeof list->length);
    list->data = in->at;
    if (in->failed || list->count > limit || list->length > (size_t)(in->end - in->at)) {
        in->failed = true;
        *list = (struct wire_list){NULL, 0, 0};
        return false;
    }
    in->at += list->length;
    *inside = (struct wire_in){list->data, list->data + list->length, false};
    return true;
}

/* ---- all fields of a structure ---- */

#define WIRE_PUT_FIELD(kind, name, limit, meaning) put_##kind(out, &value->name, limit);
#define WIRE_GET_FIELD(kind, name, limit, meaning) get_##kind(in, &value->name, limit);
#define WIRE_FIELDS_FUNCTIONS(name)                                                                                  \
    static void put_fields_##name(struct wire_out *out, const struct wire_##name *value)                             \
    {                                                                                                                \
        (void)out;                                                                                                   \
        (void)value;                                                                                                 \
        WIRE_FIELDS_##name(WIRE_PUT_FIELD)                                                                           \
    }                                                                                                                \
    static void get_fields_##name(struct wire_in *in, struct wire_##name *value)                                     \
    {                                                                                                                \
        (void)in;                                                                                                    \
        (void)value;                                                                                                 \
        WIRE_FIELDS_##name(WIRE_GET_FIELD)                                                                           \
    }                                                                                                                \
    void wire_put_##name(struct wire_out *out, const struct wire_##name *value)                                      \
    {                                                                                                                \
        put_fields_##name(out, value);                                                                               \
    }                                                                                                                \
    int wire_get_##name(const void *body, size_t bytes, struct wire_##name *value)                                   \
    {                                                                                                                \
        const uint8_t *at = (const uint8_t *)body;                                                                   \
        struct wire_in in = {at, bytes ? at + bytes : at, false};                                                    \
        get_fields_##name(&in, value);                                                                               \
        return in.failed || in.at != in.end ? -EBADMSG : 0;                                                          \
    }

#define WIRE_RECORD_FUNCTIONS(name, meaning)                                                                         \
    WIRE_FIELDS_FUNCTIONS(name)                                                                                      \
    static inline void put_rec_##name(struct wire_out *out, const struct wire_##name *value, uint32_t limit)         \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        put_fields_##name(out, value);                                                                               \
    }                                                                                                                \
    static inline void get_rec_##name(struct wire_in *in, struct wire_##name *value, uint32_t limit)                 \
    {                                                                                                                \
        (void)limit;                                                                                                 \
        get_fields_##name(in, value);                                                                                \
    }                                                                                                                \
    static inline void put_list_##name(struct wire_out *out, const struct wire_list *list, uint32_t limit)           \
    {                                                                                                                \
        put_list(out, list, limit);                                                                                  \
    }                                                                                                                \
    static inline void get_list_##name(struct wire_in *in, struct wire_list *list, uint32_t limit)                   \
    {                                                                                                                \
        struct wire_in inside;                                                                                       \
        struct wire_##name record;                                                                                   \
        if (!get_list(in, list, limit, &inside))                                                                     \
            return;                                                                                                  \
        for (uint32_t i = 0; i < list->count && !inside.failed; i++)                                                 \
            get_fields_##name(&inside, &record);                                                                     \
        if (inside.failed || inside.at != inside.end)                                                                \
            in->failed = true;                                                                                       \
    }                                                                                                                \
    bool wire_append_##name(struct wire_out *room, struct wire_list *list, const struct wire_##name *value)          \
    {                                                                                                                \
        size_t before = room->used;                                                                                  \
        put_fields_##name(room, value);                                                                              \
        if (room->failed) {                                                                                          \
            room->failed = false;                                                                                    \
            room->used = before;                                                                                     \
            return false;                                                                                            \
        }                                                                                                            \
        if (list->count == 0)                                                                                        \
            *list = (struct wire_list){room->data + before, 0, 0};                                                   \
        list->length += (uint32_t)(room->used - before);                                                             \
        list->count++;                                                                                               \
        return true;                                                                                                 \
    }                                                                                                                \
    bool wire_next_##name(struct wire_list *list, struct wire_##name *value)                                         \
    {                                                                                                                \
        if (list->count == 0)                                                                                        \
            return false;                                                                                            \
        struct wire_in in = {list->data, list->data + list->length, false};                                          \
        get_fields_##name(&in, value);                                                                               \
        if (in.failed)                                                                                               \
            return false;                                                                                            \
        list->length -= (uint32_t)(in.at - list->data);                                                              \
        list->data = in.at;                                                                                          \
        list->count--;                                                                                               \
        return true;                                                                                                 \
    }

/* Not every record stands both alone and in a list. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
WIRE_RECORDS(WIRE_RECORD_FUNCTIONS)
#pragma GCC diagnostic pop

#define WIRE_MESSAGE_FUNCTIONS(name, number, class, payload, reply_payload, meaning)                                 \
    WIRE_FIELDS_FUNCTIONS(name)                                                                                      \
    WIRE_FIELDS_FUNCTIONS(name##_reply)
WIRE_MESSAGES(WIRE_MESSAGE_FUNCTIONS)
#define WIRE_JOURNAL_FUNCTIONS(name, number, meaning) WIRE_FIELDS_FUNCTIONS(name)
WIRE_JOURNAL_RECORDS(WIRE_JOURNAL_FUNCTIONS)

/* ---- any type ---- */

int wire_get_any(uint16_t type, const void *body, size_t bytes, union wire_any *value)
{
    switch (type) {
#define WIRE_GET_CASE(name, number, class, payload, reply_payload, meaning)                                          \
    case number:                                                                                                     \
        return wire_get_##name(body, bytes, &value->name);                                                           \
    case number | WIRE_REPLY:                                                                                        \
        return wire_get_##name##_reply(body, bytes, &value->name##_reply);
#define WIRE_GET_JOURNAL_CASE(name, number, meaning)                                                                 \
    case number:                                                                                                     \
        return wire_get_##name(body, bytes, &value->name);
        WIRE_MESSAGES(WIRE_GET_CASE)
        WIRE_JOURNAL_RECORDS(WIRE_GET_JOURNAL_CASE)
    }
    return -EBADMSG;
}

int wire_put_any(uint16_t type, struct wire_out *out, const union wire_any *value)
{
    switch (type) {
#define WIRE_PUT_CASE(name, number, class, payload, reply_payload, meaning)                                          \
    case number:                                                                                                     \
        put_fields_##name(out, &value->name);                                                                        \
        break;                                                                                                       \
    case number | WIRE_REPLY:                                                                                        \
        put_fields_##name##_reply(out, &value->name##_reply);                                                        \
        break;
#define WIRE_PUT_JOURNAL_CASE(name, number, meaning)                                                                 \
    case number:                                                                                                     \
        put_fields_##name(out, &value->name);                                                                        \
        break;
        WIRE_MESSAGES(WIRE_PUT_CASE)
        WIRE_JOURNAL_RECORDS(WIRE_PUT_JOURNAL_CASE)
    default:
        return -EBADMSG;
    }
    return out->failed ? -EMSGSIZE : 0;
}

uint8_t *wire_encode(uint16_t type, const union wire_any *value, uint8_t *small, size_t room, size_t *bytes)
{
    struct wire_out out = wire_out_on(small, room);
    int rc = wire_put_any(type, &out, value);
    if (rc == -EMSGSIZE) {
        out = wire_out_on(check_alloc(malloc(WIRE_BODY_LIMIT)), WIRE_BODY_LIMIT);
        rc = wire_put_any(type, &out, value);
    }
    if (rc < 0) {
        if (out.data != small)
            free(out.data);
        return NULL;
    }
    *bytes = out.used;
    return out.data;
}

const char *wire_type_name(uint16_t type)
{
    switch (type) {
#define WIRE_NAME_CASE(name, number, class, payload, reply_payload, meaning)                                         \
    case number:                                                                                                     \
        return #name;                                                                                                \
    case number | WIRE_REPLY:                                                                                        \
        return #name "_reply";
#define WIRE_NAME_JOURNAL_CASE(name, number, meaning)                                                                \
    case number:                                                                                                     \
        return #name;
        WIRE_MESSAGES(WIRE_NAME_CASE)
        WIRE_JOURNAL_RECORDS(WIRE_NAME_JOURNAL_CASE)
    }
    return NULL;
}

/* ---- frame header ---- */

/* The payload a type may carry; -1 for a type that never crosses a connection. */
static int64_t payload_limit(uint16_t type)
{
    switch (type) {
#define WIRE_LIMIT_CASE(name, number, class, payload, reply_payload, meaning)                                        \
    case number:                                                                                                     \
        return payload;                                                                                              \
    case number | WIRE_REPLY:                                                                                        \
        return reply_payload;
        WIRE_MESSAGES(WIRE_LIMIT_CASE)
    }
    return -1;
}

void wire_put_header(uint8_t out[WIRE_HEADER_BYTES], const struct wire_header *header)
{
    memcpy(out, &header->body_bytes, 4);
    memcpy(out + 4, &header->payload_bytes, 4);
    uint16_t type = header->alone ? header->type | WIRE_ALONE : header->type;
    memcpy(out + 8, &type, 2);
    memcpy(out + 10, &header->status, 2);
    memcpy(out + 12, &header->sequence, 4);
}

int wire_get_header(const uint8_t in[WIRE_HEADER_BYTES], struct wire_header *header)
{
    memcpy(&header->body_bytes, in, 4);
    memcpy(&header->payload_bytes, in + 4, 4);
    memcpy(&header->type, in + 8, 2);
    memcpy(&header->status, in + 10, 2);
    memcpy(&header->sequence, in + 12, 4);
    header->alone = header->type & WIRE_REPLY && header->type & WIRE_ALONE;
    if (header->alone)
        header->type &= (uint16_t)~WIRE_ALONE;
    int64_t limit = payload_limit(header->type);
    return header->body_bytes > WIRE_BODY_LIMIT || (int64_t)header->payload_bytes > limit ? -EBADMSG : 0;
}

/* ---- texts ---- */

struct wire_bytes wire_text(const char *text)
{
    return wire_bytes_of(text, strlen(text));
}

bool wire_copy_text(struct wire_bytes from, char *text, size_t room)
{
    text[0] = '\0';
    if (from.length >= room)
        return false;
    if (from.length)
        memcpy(text, from.data, from.length);
    text[from.length] = '\0';
    return true;
}
