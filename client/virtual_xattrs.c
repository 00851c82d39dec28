/* SPDX-License-Identifier: Apache-2.0 */
#include "client/virtual_xattrs.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/chunk_verify.h"
#include "client/fs_calls.h"
#include "client/fs_state.h"
#include "common/check.h"
#include "common/log.h"
#include "common/sha256.h"
#include "common/units.h"

#define PREFIX "user.calf."
#define COUNTERS PREFIX "counters"
#define GOAL PREFIX "goal"
#define CHUNKS PREFIX "chunks"
#define VERIFY PREFIX "verify"

enum { ROOT = 1, PAGE_BYTES = 48 * 1024 };

bool virtual_xattrs_has(const char *name)
{
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0;
}

/* ---- what the cluster served ---- */

static char own_sha256[SHA256_TEXT];

static void hash_own_program(void)
{
    int rc = sha256_of_file("/proc/self/exe", own_sha256);
    if (rc < 0)
        log_warning("cannot hash this program: %s", strerror(-rc));
}

struct served {
    struct wire_counters sum;
    unsigned servers, by_memory;
};

/* The servers that the master knows to be there, with their live counters; one that does not answer counts as of its last
 * report. */
static void add_server(struct fs *fs, const struct wire_server_state *state, struct served *served)
{
    struct wire_counters live = state->counters;
    struct chunk_server *server = chunk_connections_server(fs->connections, &state->server);
    if (!state->connected)
        return;
    struct wire_counters asked;
    if (server && chunk_connections_counters(server, &asked) == 0)
        live = asked;
    served->servers++;
    served->by_memory += server && chunk_connections_shares_memory(server);
    served->sum.read_bytes += live.read_bytes;
    served->sum.read_requests += live.read_requests;
    served->sum.write_bytes += live.write_bytes;
    served->sum.write_requests += live.write_requests;
}

/* How this mount reaches them. */
static const char *transport_of(const struct served *served)
{
    if (served->by_memory == 0)
        return "tcp";
    return served->by_memory == served->servers ? "shm" : "shm and tcp";
}

static int print_counters(struct fs *fs, uint64_t ino, FILE *out)
{
    static pthread_once_t hashed = PTHREAD_ONCE_INIT;
    struct wire_attr root;
    struct master_call call;
    struct served served = {0};
    union wire_any request = {.getattr = {0}}; /* the message has no fields */
    if (ino != ROOT)
        return -ENODATA;
    int rc = fs_getattr(fs, ROOT, &root);
    if (rc == 0)
        rc = fs_calls_make(fs, WIRE_TYPE_server_list, &request, &call);
    if (rc < 0)
        return rc;
    struct wire_server_state state;
    while (wire_next_server_state(&call.reply.server_list_reply.servers, &state))
        add_server(fs, &state, &served);
    master_session_finish(fs->session, &call);
    (void)pthread_once(&hashed, hash_own_program);
    fprintf(out,
            "{\"read_bytes\": %llu, \"read_requests\": %llu, \"write_bytes\": %llu, \"write_requests\": %llu, "
            "\"servers\": %u, \"write_copies\": %u, \"journal\": \"%s\", \"transport\": \"%s\", \"fuse\": \"%s\", "
            "\"binary_sha256\": \"%s\", \"client_pid\": %ld}",
            (unsigned long long)served.sum.read_bytes, (unsigned long long)served.sum.read_requests,
            (unsigned long long)served.sum.write_bytes, (unsigned long long)served.sum.write_requests, served.servers,
            root.goal, master_session_welcome(fs->session)->journal, transport_of(&served), fs->requests,
            own_sha256, (long)getpid());
    return 0;
}

/* ---- copies ---- */

static int print_goal(struct fs *fs, uint64_t ino, FILE *out)
{
    struct wire_attr attr;
    int rc = fs_getattr(fs, ino, &attr);
    if (rc == 0)
        fprintf(out, "%u", attr.goal);
    return rc;
}

static const char *state_name(uint8_t state)
{
    switch (state) {
    case WIRE_COPY_VALID:
        return "valid";
    case WIRE_COPY_AWAY:
        return "away";
    case WIRE_COPY_DAMAGED:
        return "damaged";
    case WIRE_COPY_PENDING:
        return "pending";
    }
    return "unknown";
}

/* A host comes from a chunkserver's command line; what would need escaping in JSON is no host. */
static void print_host(struct wire_bytes host, FILE *out)
{
    for (uint32_t i = 0; i < host.length; i++)
        (void)fputc(isalnum(host.data[i]) || strchr("-._:/[]%", host.data[i]) ? host.data[i] : '?', out);
}

static void print_copy(const struct wire_chunk_copy *copy, const char *before, FILE *out)
{
    fprintf(out, "%s{\"index\": %u, \"id\": %llu, \"version\": %u", before, copy->index, (unsigned long long)copy->chunk_id,
            copy->version);
    if (copy->server.id) {
        fprintf(out, ", \"server\": %u, \"host\": \"", copy->server.id);
        print_host(copy->server.host, out);
        fprintf(out, "\", \"port\": %u, \"state\": \"%s\"", copy->server.port, state_name(copy->state));
    }
    fputs("}", out);
}

/* Where the copies of the chunks from index `first` on are, as far as one reply of the master goes. */
static int ask_for_chunks(struct fs *fs, uint64_t ino, uint32_t first, struct master_call *call)
{
    union wire_any request = {.file_chunks = {.ino = ino, .first = first}};
    struct wire_attr attr;
    int rc = fs_getattr(fs, ino, &attr);
    if (rc == 0 && !S_ISREG(attr.mode))
        rc = -ENODATA;
    return rc < 0 ? rc : fs_calls_make(fs, WIRE_TYPE_file_chunks, &request, call);
}

/* Whole chunks, from index `first` on; with `page` as many as fit well, else all. */
static int print_chunks(struct fs *fs, uint64_t ino, uint32_t first, bool page, FILE *out)
{
    const char *before = "";
    bool full = false;
    fputs("[", out);
    do {
        struct master_call call;
        int rc = ask_for_chunks(fs, ino, first, &call);
        if (rc < 0)
            return rc;
        struct wire_chunk_copy copy;
        uint32_t last = UINT32_MAX;
        while (!full && wire_next_chunk_copy(&call.reply.file_chunks_reply.copies, &copy)) {
            full = page && copy.index != last && ftell(out) > PAGE_BYTES;
            if (full)
                break;
            print_copy(&copy, before, out);
            before = ", ";
            last = copy.index;
        }
        uint32_t next = call.reply.file_chunks_reply.next;
        master_session_finish(fs->session, &call);
        full = full || next <= first || ftell(out) > WIRE_XATTR_LIMIT;
        first = next;
    } while (!full);
    fputs("]", out);
    return 0;
}

/* The copies of one chunk, each read wholly and compared with its checksums. */
static int print_verified(struct fs *fs, uint64_t ino, uint32_t index, FILE *out)
{
    struct master_call call;
    struct wire_attr attr;
    const char *before = "";
    int rc = fs_getattr(fs, ino, &attr);
    if (rc == 0)
        rc = ask_for_chunks(fs, ino, index, &call);
    if (rc < 0)
        return rc;
    struct wire_chunk_copy copy;
    fputs("[", out);
    while (wire_next_chunk_copy(&call.reply.file_chunks_reply.copies, &copy) && copy.index == index) {
        if (copy.server.id && copy.state == WIRE_COPY_VALID)
            copy.state = chunk_verify_copy(fs, &copy, attr.size);
        print_copy(&copy, before, out);
        before = ", ";
    }
    fputs("]", out);
    master_session_finish(fs->session, &call);
    return 0;
}

/* ---- all of them ---- */

/* The number behind a prefix. */
static bool has_index(const char *name, const char *prefix, uint32_t *index)
{
    uint64_t number;
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || units_parse_number(name + length, 0, UINT32_MAX - 1, &number) < 0)
        return false;
    *index = (uint32_t)number;
    return true;
}

int virtual_xattrs_get(struct fs *fs, uint64_t ino, const char *name, char **text, size_t *bytes)
{
    int rc = -ENODATA;
    uint32_t index;
    FILE *out = check_alloc(open_memstream(text, bytes));
    if (strcmp(name, COUNTERS) == 0)
        rc = print_counters(fs, ino, out);
    else if (strcmp(name, GOAL) == 0)
        rc = print_goal(fs, ino, out);
    else if (strcmp(name, CHUNKS) == 0)
        rc = print_chunks(fs, ino, 0, false, out);
    else if (has_index(name, CHUNKS ".", &index))
        rc = print_chunks(fs, ino, index, true, out);
    else if (has_index(name, VERIFY ".", &index))
        rc = print_verified(fs, ino, index, out);
    (void)fclose(out);
    if (rc < 0) {
        free(*text);
        *text = NULL;
    }
    return rc;
}

int virtual_xattrs_set(struct fs *fs, uint64_t ino, const char *name, const void *value, size_t bytes)
{
    char text[8];
    uint64_t goal;
    if (strcmp(name, GOAL) != 0)
        return -EPERM;
    if (!wire_copy_text(wire_bytes_of(value, bytes), text, sizeof text) ||
        units_parse_number(text, 1, WIRE_COPIES_LIMIT, &goal) < 0)
        return -EINVAL;
    union wire_any request = {.set_goal = {.ino = ino, .goal = (uint8_t)goal}};
    return fs_calls_plain(fs, WIRE_TYPE_set_goal, &request);
}
