/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints docs/protocol.md from the wire schema (`make protocol`), so that the document cannot say anything else
 * than the code. The same schema gives the same bytes.
 */
#include <stdio.h>
#include <string.h>

#include "common/wire.h"

/* ---- fields ---- */

/* "u32", "bytes, at most 255", "list of at most 1024 [dirent](#record-dirent)" */
static void print_kind(const char *kind, const char *limit_name, unsigned long limit)
{
    if (strncmp(kind, "list_", 5) == 0)
        printf("list of at most %lu [%s](#record-%s)", limit, kind + 5, kind + 5);
    else if (strncmp(kind, "rec_", 4) == 0)
        printf("[%s](#record-%s)", kind + 4, kind + 4);
    else if (limit)
        printf("%s, at most %lu", kind, limit);
    else
        printf("%s", kind);
    if (limit && strncmp(limit_name, "WIRE_", 5) == 0)
        printf(" (`%s`)", limit_name);
}

static const char *table_title; /* printed before the first field; NULL when it has been */

static void print_field(const char *kind, const char *name, const char *limit_name, unsigned long limit,
                        const char *meaning)
{
    if (table_title)
        printf("%s\n| field | kind | meaning |\n|---|---|---|\n", table_title);
    table_title = NULL;
    printf("| `%s` | ", name);
    print_kind(kind, limit_name, limit);
    printf(" | %s |\n", meaning);
}

#define PRINT_FIELD(kind, name, limit, meaning) print_field(#kind, #name, #limit, (unsigned long)(limit), meaning);
#define PRINT_FIELDS(name, title, title_alone)                                                                       \
    do {                                                                                                             \
        table_title = title;                                                                                         \
        WIRE_FIELDS_##name(PRINT_FIELD)                                                                              \
        if (table_title)                                                                                             \
            puts(title_alone);                                                                                       \
    } while (0)

static void print_payload(unsigned long limit)
{
    if (limit)
        printf("\nand a payload of at most %lu bytes.\n", limit);
}

/* ---- messages ---- */

static void print_heading(unsigned number, const char *name, const char *class, const char *meaning)
{
    printf("\n### %u %s\n\n*%s*%s%s\n", number, name, class, meaning[0] ? ": " : "", meaning);
}

#define PRINT_MESSAGE(name, number, class, payload, reply_payload, meaning)                                          \
    print_heading(number, #name, #class, meaning);                                                                   \
    PRINT_FIELDS(name, "\nRequest:\n", "\nRequest: no fields");                                                      \
    print_payload(payload);                                                                                          \
    PRINT_FIELDS(name##_reply, "\nReply:\n", "\nReply: no fields");                                                  \
    print_payload(reply_payload);

static void print_messages(void)
{
    puts("\n## First on every stream connection");
    WIRE_COMMON_MESSAGES(PRINT_MESSAGE)
    puts("\n## Client to master (stream)");
    WIRE_MASTER_MESSAGES(PRINT_MESSAGE)
}

static void print_other_messages(void)
{
    puts("\n## Client, or chunkserver, to chunkserver (stream)");
    WIRE_CHUNK_MESSAGES(PRINT_MESSAGE)
    puts("\n## Control plane: chunkserver to master, administration to master (nng request and reply)");
    WIRE_CONTROL_MESSAGES(PRINT_MESSAGE)
    puts("\n## iobench sweep to iobench worker (nng request and reply)");
    WIRE_BENCH_MESSAGES(PRINT_MESSAGE)
}

static void print_records(void)
{
#define PRINT_RECORD(name, meaning)                                                                                  \
    printf("\n### Record %s\n\n%s\n", #name, meaning);                                                               \
    PRINT_FIELDS(name, "", "");
    puts("\n## Records inside messages");
    WIRE_RECORDS(PRINT_RECORD)
}

static void print_journal_records(void)
{
#define PRINT_JOURNAL(name, number, meaning)                                                                         \
    print_heading(number, #name, "journal only", meaning);                                                           \
    PRINT_FIELDS(name, "", "");
    puts("\n## Records of the journal without a message of their own\n\n"
         "They never cross a connection. Requests of class change stand in the journal as they came; how records are\n"
         "grouped and guarded in the files is in `master/journal_format.h`.");
    WIRE_JOURNAL_RECORDS(PRINT_JOURNAL)
}

static void print_statuses(void)
{
#define PRINT_STATUS(name, number, error, text)                                                                      \
    printf("| %u | %s | %s | %s |\n", (unsigned)(number), #name, #error, text);
    puts("\n## Statuses\n\n"
         "In the header of every reply. The errno is what a program at the mount sees, unless the client knows better.\n\n"
         "| number | name | errno | meaning |\n|---|---|---|---|");
    WIRE_STATUSES(PRINT_STATUS)
}

/* ---- numbers inside the fields ---- */

#define PRINT_NUMBER(name) printf("| `%s` | %u |\n", #name, (unsigned)(name));

static void print_numbers(void)
{
    puts("\n## Numbers inside the fields\n\n| name | value |\n|---|---|");
    PRINT_NUMBER(WIRE_ROLE_CLIENT)
    PRINT_NUMBER(WIRE_ROLE_CHUNKSERVER)
    PRINT_NUMBER(WIRE_ROLE_ADMIN)
    PRINT_NUMBER(WIRE_ROLE_MASTER)
    PRINT_NUMBER(WIRE_SET_MODE)
    PRINT_NUMBER(WIRE_SET_UID)
    PRINT_NUMBER(WIRE_SET_GID)
    PRINT_NUMBER(WIRE_SET_SIZE)
    PRINT_NUMBER(WIRE_SET_ATIME)
    PRINT_NUMBER(WIRE_SET_MTIME)
    PRINT_NUMBER(WIRE_SET_ATIME_NOW)
    PRINT_NUMBER(WIRE_SET_MTIME_NOW)
    PRINT_NUMBER(WIRE_SET_KILL_SUID)
    PRINT_NUMBER(WIRE_OPEN_TRUNCATE)
    PRINT_NUMBER(WIRE_OPEN_EXCLUSIVE)
    PRINT_NUMBER(WIRE_WRITE_CREATE)
    PRINT_NUMBER(WIRE_WRITE_ZERO)
    PRINT_NUMBER(WIRE_ACTION_SET_VERSION)
    PRINT_NUMBER(WIRE_ACTION_DELETE)
    PRINT_NUMBER(WIRE_ACTION_COPY)
    PRINT_NUMBER(WIRE_COPY_VALID)
    PRINT_NUMBER(WIRE_COPY_AWAY)
    PRINT_NUMBER(WIRE_COPY_DAMAGED)
    PRINT_NUMBER(WIRE_COPY_PENDING)
    PRINT_NUMBER(WIRE_KEEP_ALL)
}

static void print_introduction(void)
{
    printf("# The calf protocol, version %u\n\n", (unsigned)WIRE_PROTOCOL);
    puts("Made from `common/wire_schema.h` by `make protocol`; `make lint` complains when it is stale. Do not edit.\n\n"
         "## Frames\n\n"
         "Every request and every reply is a frame: a header, a body, and for data a payload. Numbers are little-endian\n"
         "and packed.\n\n"
         "| bytes | header field | meaning |\n|---|---|---|\n"
         "| 0 to 3 | `body_bytes` | length of the body |\n"
         "| 4 to 7 | `payload_bytes` | length of the payload |\n"
         "| 8 and 9 | `type` | number of the message; 0x8000 is added in its reply |\n"
         "| 10 and 11 | `status` | 0 in requests; how it went in replies. With another status than OK the body is empty, but "
         "chunk_write's |\n"
         "| 12 to 15 | `sequence` | of the request; its reply repeats it |");
    printf("\nA body has at most %u bytes. What is longer than a limit, what is shorter than its lengths say, and what\n"
           "leaves bytes over, is malformed: the connection that sent it is closed. On a connection one request is outstanding at a time.\n\n",
           (unsigned)WIRE_BODY_LIMIT);
    puts("Kinds of fields:\n\n"
         "- `u8 u16 u32 u64 i64`: numbers of that many bits. Times are nanoseconds since 1970.\n"
         "- `bytes`: a u32 length and that many bytes. `str`: the same, without a NUL.\n"
         "- a record: its fields, one after the other.\n"
         "- a list: u32 number of records, u32 length of them in bytes, the records.\n\n"
         "Classes of messages: a *query* changes nothing. A *change* stands in the master's journal before it is answered, and is\n"
         "done once when repeated with the same sequence on the same slot of a session. A *derived* change stands there as\n"
         "records of another type, which hold what was decided; doing it twice is the same as doing it once.");
}

int main(void)
{
    print_introduction();
    print_messages();
    print_other_messages();
    print_records();
    print_journal_records();
    print_statuses();
    print_numbers();
    return fflush(stdout) == 0 ? 0 : 1;
}
