/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/wire.h"

/* What is shown of one text or list; the rest is counted. */
enum { SHOWN_BYTES = 48, SHOWN_RECORDS = 4 };

struct show {
    char *at;
    size_t room;
};

static void show_format(struct show *show, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void show_format(struct show *show, const char *format, ...)
{
    if (show->room <= 1)
        return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(show->at, show->room, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < show->room ? (size_t)n : show->room - 1;
    show->at += used;
    show->room -= used;
}

#define SHOW_NUMBER_KIND(kind, type, format, cast)                                                                   \
    static void show_##kind(struct show *show, const char *name, const type *value)                                  \
    {                                                                                                                \
        show_format(show, " %s=" format, name, (cast)*value);                                                        \
    }
SHOW_NUMBER_KIND(u8, uint8_t, "%u", unsigned)
SHOW_NUMBER_KIND(u16, uint16_t, "%u", unsigned)
SHOW_NUMBER_KIND(u32, uint32_t, "%u", unsigned)
SHOW_NUMBER_KIND(u64, uint64_t, "%llu", unsigned long long)
SHOW_NUMBER_KIND(i64, int64_t, "%lld", long long)

static void show_bytes(struct show *show, const char *name, const struct wire_bytes *value)
{
    show_format(show, " %s=%u bytes", name, value->length);
}

static void show_str(struct show *show, const char *name, const struct wire_bytes *value)
{
    show_format(show, " %s=\"", name);
    for (uint32_t i = 0; i < value->length && i < SHOWN_BYTES; i++) {
        uint8_t c = value->data[i];
        bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
        if (plain)
            show_format(show, "%c", c);
        else
            show_format(show, "\\x%02x", c);
    }
    show_format(show, "\"");
    if (value->length > SHOWN_BYTES)
        show_format(show, "+%u", value->length - SHOWN_BYTES);
}

#define SHOW_FIELD(kind, name, limit, meaning) show_##kind(show, #name, &value->name);
#define SHOW_FIELDS(name)                                                                                            \
    static void show_fields_##name(struct show *show, const struct wire_##name *value)                               \
    {                                                                                                                \
        (void)show;                                                                                                  \
        (void)value;                                                                                                 \
        WIRE_FIELDS_##name(SHOW_FIELD)                                                                               \
    }
#define SHOW_RECORD(name, meaning)                                                                                   \
    SHOW_FIELDS(name)                                                                                                \
    static void show_rec_##name(struct show *show, const char *field, const struct wire_##name *value)               \
    {                                                                                                                \
        show_format(show, " %s={", field);                                                                           \
        show_fields_##name(show, value);                                                                             \
        show_format(show, " }");                                                                                     \
    }                                                                                                                \
    static void show_list_##name(struct show *show, const char *field, const struct wire_list *list)                 \
    {                                                                                                                \
        struct wire_list rest = *list;                                                                               \
        struct wire_##name record;                                                                                   \
        show_format(show, " %s=%u[", field, list->count);                                                            \
        for (int i = 0; i < SHOWN_RECORDS && wire_next_##name(&rest, &record); i++)                                  \
            show_rec_##name(show, "", &record);                                                                      \
        show_format(show, "%s", rest.count ? " ...]" : "]");                                                              \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
WIRE_RECORDS(SHOW_RECORD)
#pragma GCC diagnostic pop

#define SHOW_MESSAGE(name, number, class, payload, reply_payload, meaning) SHOW_FIELDS(name) SHOW_FIELDS(name##_reply)
WIRE_MESSAGES(SHOW_MESSAGE)
#define SHOW_JOURNAL(name, number, meaning) SHOW_FIELDS(name)
WIRE_JOURNAL_RECORDS(SHOW_JOURNAL)

void wire_show(uint16_t type, const union wire_any *value, char *text, size_t room)
{
    struct show show = {text, room};
    text[0] = '\0';
    const char *name = wire_type_name(type);
    if (!name) {
        show_format(&show, "type %u", type);
        return;
    }
    show_format(&show, "%s", name);
    switch (type) {
#define SHOW_CASE(msg, number, class, payload, reply_payload, meaning)                                               \
    case number:                                                                                                     \
        show_fields_##msg(&show, &value->msg);                                                                       \
        break;                                                                                                       \
    case number | WIRE_REPLY:                                                                                        \
        show_fields_##msg##_reply(&show, &value->msg##_reply);                                                       \
        break;
#define SHOW_JOURNAL_CASE(msg, number, meaning)                                                                      \
    case number:                                                                                                     \
        show_fields_##msg(&show, &value->msg);                                                                       \
        break;
        WIRE_MESSAGES(SHOW_CASE)
        WIRE_JOURNAL_RECORDS(SHOW_JOURNAL_CASE)
    }
}
