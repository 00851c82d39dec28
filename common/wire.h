/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures, encoders, decoders and printers of everything in wire_schema.h, and the frame header.
 *
 * A frame is a 16-byte header, a body (the encoded fields) and, for data, a payload. Decoded bytes, texts and lists point
 * into the body they were decoded from and live as long as it. A decoder checks every limit of the schema, every length
 * against what is left, and that nothing is left over; it takes no memory. Pure functions; any thread.
 */
#ifndef CALF_WIRE_H
#define CALF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/wire_schema.h"
#include "common/wire_status.h"

/* bytes and str: not owned, not NUL-terminated. */
struct wire_bytes {
    const uint8_t *data;
    uint32_t length;
};

/* A list in its encoded form: walk it with wire_next_X, build it with wire_append_X. */
struct wire_list {
    const uint8_t *data;
    uint32_t length; /* bytes */
    uint32_t count;  /* records */
};

typedef uint8_t wire_t_u8;
typedef uint16_t wire_t_u16;
typedef uint32_t wire_t_u32;
typedef uint64_t wire_t_u64;
typedef int64_t wire_t_i64;
typedef struct wire_bytes wire_t_bytes;
typedef struct wire_bytes wire_t_str;

/* struct wire_X for every record, message, reply and journal record; wire_t_rec_X and wire_t_list_X name field types. */
#define WIRE_FIELD_MEMBER(kind, name, limit, meaning) wire_t_##kind name;
#define WIRE_STRUCT(name)                                                                                            \
    struct wire_##name {                                                                                             \
        WIRE_FIELDS_##name(WIRE_FIELD_MEMBER)                                                                        \
    };

#define WIRE_DEFINE_RECORD(name, meaning)                                                                            \
    typedef struct wire_list wire_t_list_##name;                                                                     \
    WIRE_STRUCT(name)                                                                                                \
    typedef struct wire_##name wire_t_rec_##name;
WIRE_RECORDS(WIRE_DEFINE_RECORD)

#define WIRE_DEFINE_MESSAGE(name, number, class, payload, reply_payload, meaning) WIRE_STRUCT(name) WIRE_STRUCT(name##_reply)
WIRE_MESSAGES(WIRE_DEFINE_MESSAGE)

#define WIRE_DEFINE_JOURNAL(name, number, meaning) WIRE_STRUCT(name)
WIRE_JOURNAL_RECORDS(WIRE_DEFINE_JOURNAL)

/* Numbers: WIRE_TYPE_lookup and so on. */
enum wire_type {
#define WIRE_TYPE_ROW(name, number, class, payload, reply_payload, meaning) WIRE_TYPE_##name = number,
#define WIRE_TYPE_JOURNAL_ROW(name, number, meaning) WIRE_TYPE_##name = number,
    WIRE_MESSAGES(WIRE_TYPE_ROW) WIRE_JOURNAL_RECORDS(WIRE_TYPE_JOURNAL_ROW) WIRE_TYPES = 128,
    WIRE_REPLY = 0x8000, /* set in the type of a reply */
    WIRE_ALONE = 0x4000, /* on the wire only, in the type of a master's reply: see header.alone */
};

/* Any request, reply or journal record. */
union wire_any {
#define WIRE_ANY_ROW(name, number, class, payload, reply_payload, meaning)                                           \
    struct wire_##name name;                                                                                         \
    struct wire_##name##_reply name##_reply;
#define WIRE_ANY_JOURNAL_ROW(name, number, meaning) struct wire_##name name;
    WIRE_MESSAGES(WIRE_ANY_ROW) WIRE_JOURNAL_RECORDS(WIRE_ANY_JOURNAL_ROW)
};

/* ---- frame header ---- */

enum { WIRE_HEADER_BYTES = 16 };

struct wire_header {
    uint32_t body_bytes;
    uint32_t payload_bytes;
    uint16_t type;     /* enum wire_type, with WIRE_REPLY in replies */
    uint16_t status;   /* enum wire_status; 0 in requests; a reply with another status has an empty body (but chunk_write's) */
    uint32_t sequence; /* of the request on its connection or slot; its reply repeats it */
    bool alone; /* in a master's reply: no other session was there or about to come, so until WIRE_ALONE_MS after the request was
                   sent nothing of what it says can be changed by anybody else */
};

void wire_put_header(uint8_t out[WIRE_HEADER_BYTES], const struct wire_header *header);

/* -EBADMSG if the type is unknown or a size is above the type's limit; checked before any memory is taken. */
int wire_get_header(const uint8_t in[WIRE_HEADER_BYTES], struct wire_header *header) __attribute__((warn_unused_result));

/* ---- encoding ---- */

struct wire_out {
    uint8_t *data;
    size_t room, used;
    bool failed; /* something did not fit or broke a limit; nothing more is written */
};

static inline struct wire_out wire_out_on(void *data, size_t room)
{
    return (struct wire_out){.data = (uint8_t *)data, .room = room};
}

/* wire_put_X(out, &x): the encoded form of a record, message, reply or journal record. Check out->failed at the end. */
#define WIRE_DECLARE_PUT_GET(name)                                                                                   \
    void wire_put_##name(struct wire_out *out, const struct wire_##name *value);                                     \
    int wire_get_##name(const void *body, size_t bytes, struct wire_##name *value)                                   \
        __attribute__((warn_unused_result));

/* wire_append_X(room, list, &x): one more record at the end of room, counted in list. All records of a list are appended
 * to the same room with nothing else between. false: no room (nothing was appended).
 * wire_next_X(&list, &x): takes the first record off a decoded list (the list is consumed; copy it to keep it);
 * false at its end. */
#define WIRE_DECLARE_RECORD(name, meaning)                                                                           \
    WIRE_DECLARE_PUT_GET(name)                                                                                       \
    bool wire_append_##name(struct wire_out *room, struct wire_list *list, const struct wire_##name *value)          \
        __attribute__((warn_unused_result));                                                                         \
    bool wire_next_##name(struct wire_list *list, struct wire_##name *value);
WIRE_RECORDS(WIRE_DECLARE_RECORD)

/* wire_get_X(body, bytes, &x): 0, or -EBADMSG: short, over a limit, or bytes left over. */
#define WIRE_DECLARE_MESSAGE(name, number, class, payload, reply_payload, meaning)                                   \
    WIRE_DECLARE_PUT_GET(name)                                                                                       \
    WIRE_DECLARE_PUT_GET(name##_reply)
WIRE_MESSAGES(WIRE_DECLARE_MESSAGE)
#define WIRE_DECLARE_JOURNAL(name, number, meaning) WIRE_DECLARE_PUT_GET(name)
WIRE_JOURNAL_RECORDS(WIRE_DECLARE_JOURNAL)

/* ---- any type ---- */

/* type as in a header (with WIRE_REPLY for a reply). -EBADMSG as above, also for an unknown type. */
int wire_get_any(uint16_t type, const void *body, size_t bytes, union wire_any *value) __attribute__((warn_unused_result));
int wire_put_any(uint16_t type, struct wire_out *out, const union wire_any *value) __attribute__((warn_unused_result));

/* Encodes into `small` if it fits, else into memory of its own (the caller's, for free(), if it is not `small`); *bytes is
 * the encoded length. NULL if value breaks a limit or the type is unknown. */
uint8_t *wire_encode(uint16_t type, const union wire_any *value, uint8_t *small, size_t room, size_t *bytes)
    __attribute__((warn_unused_result));

/* "lookup parent=1 name=\"x\"": one line without newline into text, cut to fit; for logs and tests. */
void wire_show(uint16_t type, const union wire_any *value, char *text, size_t room);

/* "lookup", "lookup_reply"; NULL for an unknown type. */
const char *wire_type_name(uint16_t type);

/* ---- texts ---- */

static inline struct wire_bytes wire_bytes_of(const void *data, size_t length)
{
    return (struct wire_bytes){.data = (const uint8_t *)data, .length = (uint32_t)length};
}

struct wire_bytes wire_text(const char *text);

/* Copies a text and ends it with NUL; false if it does not fit (text is then empty). */
bool wire_copy_text(struct wire_bytes from, char *text, size_t room) __attribute__((warn_unused_result));

static inline uint64_t wire_load_u64(const uint8_t *p)
{
    uint64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is little-endian and so must the machine be");

#endif
