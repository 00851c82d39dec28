/* SPDX-License-Identifier: Apache-2.0 */
#include "client/admin_check.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/admin_files.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"

enum { READ_BYTES = 1 << 20, BLOCK_BYTES = 4096, PATIENCE_S = 5 };

/* O_DIRECT has its limits on alignment, and not every file system has it. */
static int open_to_read(const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, flags | O_DIRECT);
    if (fd < 0 && errno == EINVAL)
        fd = open(path, flags);
    if (fd >= 0)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* counts where O_DIRECT was refused */
    return fd;
}

/* A read of READ_BYTES at offset failed: the first block in it that does. A server that is away lets each read
 * wait for long; then the offset is left as it is. */
static uint64_t narrow(int fd, void *buffer, uint64_t offset, int64_t took_ns)
{
    for (uint64_t at = offset; took_ns < PATIENCE_S * NS_PER_S && at < offset + READ_BYTES; at += BLOCK_BYTES)
        if (pread(fd, buffer, BLOCK_BYTES, (off_t)at) < 0)
            return at;
    return offset;
}

/* 0, or a positive errno with *offset where it happened. *offset is how much was read otherwise. */
static int read_wholly(const char *path, void *buffer, uint64_t *offset)
{
    *offset = 0;
    SCOPE_CLOSE int fd = open_to_read(path);
    if (fd < 0)
        return errno;
    for (;;) {
        int64_t start = clock_mono_ns();
        ssize_t n = pread(fd, buffer, READ_BYTES, (off_t)*offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int error = errno;
            *offset = narrow(fd, buffer, *offset, clock_mono_ns() - start);
            return error;
        }
        if (n == 0)
            return 0;
        *offset += (uint64_t)n;
    }
}

static void read_file(const FTSENT *entry, void *buffer, const struct admin_check_calls *calls,
                      struct admin_check_result *result)
{
    uint64_t offset = 0;
    int error = read_wholly(entry->fts_accpath, buffer, &offset);
    result->files++;
    result->bytes += offset;
    if (error && error != ENOENT) {
        calls->failed(calls->context, entry->fts_path, offset, error);
        result->failed++;
    }
    if (calls->file)
        calls->file(calls->context, entry->fts_path);
}

int admin_check_walk(const char *path, const struct admin_check_calls *calls, struct admin_check_result *result)
{
    char *paths[] = {realpath(path, NULL), NULL};
    void *buffer = NULL;
    *result = (struct admin_check_result){0, 0, 0};
    if (!paths[0])
        return -errno;
    CHECK(posix_memalign(&buffer, BLOCK_BYTES, READ_BYTES) == 0);
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    int rc = walk ? 0 : -errno;
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_F && S_ISREG(entry->fts_statp->st_mode)) {
            read_file(entry, buffer, calls, result);
        } else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
            if (entry->fts_errno == ENOENT)
                continue; /* removed meanwhile: nothing to check */
            calls->failed(calls->context, entry->fts_path, 0, entry->fts_errno);
            result->failed++;
        }
    }
    if (walk)
        (void)fts_close(walk);
    free(buffer);
    free(paths[0]);
    return rc;
}

struct report {
    const struct admin *admin;
    json_t *failures, *bad; /* NULL: lines of text at once */
    uint64_t copies, bad_count;
};

/* JSON is UTF-8; a name need not be. */
static json_t *json_path(const char *path)
{
    json_t *value = json_string(path);
    if (value)
        return value;
    SCOPE_FREE char *ascii = check_alloc(strdup(path));
    for (char *at = ascii; *at; at++)
        if (!isascii((unsigned char)*at))
            *at = '?';
    return json_string(ascii);
}

static void report_failure(void *context, const char *path, uint64_t offset, int error)
{
    struct report *report = context;
    if (report->failures) {
        json_t *failure = json_pack("{s:o, s:I, s:s}", "path", json_path(path), "offset", (json_int_t)offset,
                                    "error", strerror(error));
        (void)json_array_append_new(report->failures, failure);
    } else {
        fprintf(report->admin->out, "%s: offset %" PRIu64 ": %s\n", path, offset, strerror(error));
        (void)fflush(report->admin->out);
    }
}

/* ---- copies ---- */

static void report_copy(struct report *report, const char *path, json_t *copy)
{
    const char *state = "unknown", *host = "";
    json_int_t index = 0, server = 0, port = 0;
    char text[ADDRESS_TEXT];
    struct address address = {.port = 0};
    (void)json_unpack(copy, "{s:I, s?I, s?s, s?I, s?s}", "index", &index, "server", &server, "host", &host, "port", &port,
                      "state", &state);
    report->copies++;
    if (strcmp(state, "valid") == 0 || strcmp(state, "pending") == 0)
        return;
    report->bad_count++;
    (void)snprintf(address.host, sizeof address.host, "%s", host);
    address.port = (uint16_t)port;
    if (report->bad)
        (void)json_array_append_new(report->bad, json_pack("{s:o, s:I, s:I, s:s, s:I, s:s}", "path", json_path(path), "chunk",
                                                           index, "server", server, "host", host, "port", port, "state",
                                                           state));
    else
        fprintf(report->admin->out, "%s: chunk %" JSON_INTEGER_FORMAT ": the copy on chunkserver %" JSON_INTEGER_FORMAT
                " at %s is %s\n", path, index, server, units_format_address(&address, text),
                strcmp(state, "away") == 0 ? "out of reach" : state);
}

/* Has the mount read every copy of every chunk. What cannot be asked is no finding: the file itself was read. */
static void check_copies(void *context, const char *path)
{
    struct report *report = context;
    struct stat st;
    int status = ADMIN_DONE;
    json_t *chunks = stat(path, &st) == 0 ? admin_files_chunks(path, &status) : NULL, *element, *copy;
    json_int_t last = -1;
    size_t i, k;
    json_array_foreach(chunks, i, element)
    {
        json_int_t index = json_integer_value(json_object_get(element, "index"));
        json_t *copies = index != last ? admin_files_verify(path, index) : NULL;
        last = index;
        json_array_foreach(copies, k, copy) report_copy(report, path, copy);
        json_decref(copies);
    }
    json_decref(chunks);
}

static void print_summary(const struct admin *admin, struct report *report, const struct admin_check_result *result)
{
    char text[UNITS_TEXT];
    if (admin->json) {
        json_t *all = json_pack("{s:I, s:I, s:I, s:o, s:o}", "files", (json_int_t)result->files, "bytes",
                                (json_int_t)result->bytes, "copies", (json_int_t)report->copies, "failed",
                                report->failures, "bad_copies", report->bad);
        (void)json_dumpf(all, admin->out, JSON_INDENT(2));
        fputc('\n', admin->out);
        json_decref(all);
    } else {
        fprintf(admin->out, "%" PRIu64 " files, %s read, %" PRIu64 " failed; %" PRIu64 " copies of chunks, %" PRIu64
                " bad\n", result->files, units_format_bytes(result->bytes, text), result->failed, report->copies,
                report->bad_count);
    }
}

int admin_check_run(const struct admin *admin, char **arguments)
{
    struct report report = {admin, admin->json ? json_array() : NULL, admin->json ? json_array() : NULL, 0, 0};
    const struct admin_check_calls calls = {&report, report_failure, check_copies};
    struct admin_check_result result;
    int status = ADMIN_DONE;
    if (admin_files_goal(arguments[0], &status) == 0)
        return status;
    int rc = admin_check_walk(arguments[0], &calls, &result);
    if (rc < 0)
        return admin_complain(ADMIN_FAILED, "%s: %s", arguments[0], strerror(-rc));
    print_summary(admin, &report, &result);
    return result.failed || report.bad_count ? ADMIN_FAILED : ADMIN_DONE;
}
