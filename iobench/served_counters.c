/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/served_counters.h"

#include <string.h>
#include <sys/xattr.h>

#include "iobench/json_scan.h"

enum { TEXT_LIMIT = 16384 };

static const struct {
    const char *name;
    size_t offset;
    bool needed;
} numbers[] = {
    {"read_bytes", offsetof(struct served_counters, read_bytes), true},
    {"read_requests", offsetof(struct served_counters, read_requests), true},
    {"write_bytes", offsetof(struct served_counters, write_bytes), true},
    {"write_requests", offsetof(struct served_counters, write_requests), true},
    {"servers", offsetof(struct served_counters, servers), false},
    {"write_copies", offsetof(struct served_counters, write_copies), false},
};

enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

/* Reads the member's value if it is one of the numbers; false if it is none. */
static bool take_number(struct json_scan *scan, const char *key, struct served_counters *counters, unsigned *seen)
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (strcmp(key, numbers[i].name) != 0)
            continue;
        if (json_scan_u64(scan, INT64_MAX, (uint64_t *)((char *)counters + numbers[i].offset)))
            *seen |= 1u << i;
        return true;
    }
    return false;
}

void served_counters_parse(const char *text, size_t bytes, struct served_counters *counters)
{
    struct served_counters read = {.write_copies = 1};
    struct json_scan scan;
    unsigned seen = 0;
    char key[32];
    memset(counters, 0, sizeof *counters);
    json_scan_init(&scan, text, bytes);
    (void)json_scan_object(&scan);
    while (json_scan_member(&scan, key, sizeof key)) {
        if (strcmp(key, "journal") == 0)
            (void)json_scan_text(&scan, read.journal_mode, sizeof read.journal_mode);
        else if (strcmp(key, "binary_sha256") == 0)
            (void)json_scan_text(&scan, read.binary_hash, sizeof read.binary_hash);
        else if (strcmp(key, "transport") == 0)
            (void)json_scan_text(&scan, read.transport, sizeof read.transport);
        else if (strcmp(key, "fuse") == 0)
            (void)json_scan_text(&scan, read.fuse, sizeof read.fuse);
        else if (!take_number(&scan, key, &read, &seen))
            (void)json_scan_skip(&scan);
    }
    for (unsigned i = 0; i < NUMBERS; i++)
        if (numbers[i].needed && !(seen & 1u << i))
            return;
    if (!json_scan_end(&scan) || scan.failed || read.write_copies == 0)
        return;
    *counters = read;
    counters->known = true;
}

void served_counters_read(const char *mount_root, struct served_counters *counters)
{
    char text[TEXT_LIMIT];
    ssize_t bytes = getxattr(mount_root, SERVED_COUNTERS_ATTRIBUTE, text, sizeof text);
    served_counters_parse(text, bytes > 0 ? (size_t)bytes : 0, counters);
}

static uint64_t since(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

void served_counters_between(const struct served_counters *before, const struct served_counters *after, struct sample *sample)
{
    sample->served_read_bytes = since(before->read_bytes, after->read_bytes);
    sample->served_read_requests = since(before->read_requests, after->read_requests);
    sample->served_write_bytes = since(before->write_bytes, after->write_bytes);
    sample->served_write_requests = since(before->write_requests, after->write_requests);
    sample->served_known = true;
}
