/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/machine_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/wire_schema_bench.h"
#include "iobench/result_json.h"

_Static_assert((int)MACHINE_WIRE_HISTOGRAM <= (int)WIRE_BENCH_HISTOGRAM_LIMIT, "a histogram fits its field");

/* The writer wants a file; this one is memory. */
char *machine_wire_text(const struct result *r, size_t *bytes)
{
    SCOPE_CLOSE int fd = memfd_create("result", MFD_CLOEXEC);
    struct stat status;
    if (fd < 0 || result_json_write(r, fd) < 0 || fstat(fd, &status) < 0)
        return NULL;
    *bytes = (size_t)status.st_size;
    char *text = malloc(*bytes + 1);
    if (text && pread(fd, text, *bytes, 0) == (ssize_t)*bytes)
        return text;
    free(text);
    return NULL;
}

int machine_wire_result(const void *text, size_t bytes, struct result *r, char why[MACHINE_WIRE_WHY])
{
    return result_json_read(text, bytes, r, why, MACHINE_WIRE_WHY);
}

static size_t put(uint8_t *packed, size_t at, uint64_t value)
{
    memcpy(packed + at, &value, sizeof value);
    return at + sizeof value;
}

static uint64_t get(const uint8_t *packed, size_t at)
{
    uint64_t value;
    memcpy(&value, packed + at, sizeof value);
    return value;
}

size_t machine_wire_pack(const struct histogram *h, uint8_t packed[MACHINE_WIRE_HISTOGRAM])
{
    size_t at = put(packed, 0, h->count);
    at = put(packed, at, h->sum_ns);
    at = put(packed, at, h->min_ns);
    at = put(packed, at, h->max_ns);
    for (uint64_t slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
        if (h->slots[slot] == 0)
            continue;
        at = put(packed, at, slot);
        at = put(packed, at, h->slots[slot]);
    }
    return at;
}

int machine_wire_unpack(const uint8_t *packed, size_t bytes, struct histogram *h)
{
    histogram_init(h);
    if (bytes < 32 || bytes % 16 != 0)
        return -EINVAL;
    uint64_t count = 0;
    for (size_t at = 32; at < bytes; at += 16) {
        uint64_t slot = get(packed, at), in_slot = get(packed, at + 8);
        if (slot >= HISTOGRAM_SLOTS || h->slots[slot] != 0 || in_slot > INT64_MAX - count)
            return -EINVAL;
        h->slots[slot] = in_slot;
        count += in_slot;
    }
    h->count = get(packed, 0);
    h->sum_ns = get(packed, 8);
    h->min_ns = get(packed, 16);
    h->max_ns = get(packed, 24);
    return h->count == count ? 0 : -EINVAL;
}
