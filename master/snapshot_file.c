/* SPDX-License-Identifier: Apache-2.0
 *
 * The file: a header, pieces (each a small header and its data, unaligned), a trailer. The checksum at the end
 * is the chain of XXH3 over all before it, in steps of CHUNK_BYTES, so that writing and checking need one
 * buffer only.
 */
#include "master/snapshot_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/checksum.h"
#include "common/log.h"
#include "common/scope.h"

#define PREFIX "snapshot."
#define DAMAGED_NAME PREFIX "damaged"
#define MAGIC UINT64_C(0x70616e73666c6163)     /* "calfsnap" */
#define END_MAGIC UINT64_C(0x646e6573666c6163) /* "calfsend" */

enum { FORMAT = 1, DIGITS = 20, NAME_BYTES = 40, CHUNK_BYTES = 1 << 20, KEPT = 2 };

struct file_header {
    uint64_t magic;
    uint32_t format;
    uint32_t reserved;
    uint64_t index;
};

struct piece_header {
    uint32_t bytes;
    uint16_t section;
} __attribute__((packed));

struct trailer {
    uint64_t magic;
    uint64_t pieces;
    uint64_t checksum;
};

/* ---- names ---- */

static const char *file_name(uint64_t index, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, PREFIX "%0*" PRIu64, DIGITS, index);
    return name;
}

/* True for "snapshot.<digits>" with *rest what follows. */
static bool parse_name(const char *name, uint64_t *index, const char **rest)
{
    const char *digits = name + strlen(PREFIX);
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strspn(digits, "0123456789") != DIGITS)
        return false;
    errno = 0;
    *index = strtoull(digits, NULL, 10);
    *rest = digits + DIGITS;
    return errno == 0;
}

struct listing {
    uint64_t *indexes; /* the newest first */
    size_t count;
};

static int newest_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* Lists the snapshots in the directory; removes unfinished ones if `clean`. indexes is the caller's even after
 * an error. */
static int list(int dir_fd, bool clean, struct listing *listing)
{
    *listing = (struct listing){NULL, 0};
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int error = errno;
        if (fd >= 0)
            (void)close(fd);
        return -error;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        uint64_t index;
        const char *rest;
        if (!parse_name(entry->d_name, &index, &rest))
            continue;
        if (rest[0] == '\0') {
            size_t bytes = (listing->count + 1) * sizeof *listing->indexes;
            listing->indexes = check_alloc(realloc(listing->indexes, bytes));
            listing->indexes[listing->count++] = index;
        } else if (clean && strcmp(rest, ".tmp") == 0) {
            (void)unlinkat(dir_fd, entry->d_name, 0);
        }
    }
    (void)closedir(dir);
    if (listing->count)
        qsort(listing->indexes, listing->count, sizeof *listing->indexes, newest_first);
    return 0;
}

/* ---- writing ---- */

struct snapshot_writer {
    int dir_fd, fd;
    uint64_t index, pieces, checksum;
    int error;
    size_t used;
    uint8_t buffer[CHUNK_BYTES];
};

static void temporary_name(uint64_t index, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, PREFIX "%0*" PRIu64 ".tmp", DIGITS, index);
}

static void destroy(struct snapshot_writer *writer)
{
    if (writer->fd >= 0)
        (void)close(writer->fd);
    (void)close(writer->dir_fd);
    free(writer);
}

static void write_out(struct snapshot_writer *writer, const uint8_t *data, size_t bytes)
{
    while (bytes && writer->error == 0) {
        ssize_t n = write(writer->fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            writer->error = -errno;
            return;
        }
        data += n;
        bytes -= (size_t)n;
    }
}

static void flush(struct snapshot_writer *writer)
{
    writer->checksum = checksum_chain(writer->checksum, writer->buffer, writer->used);
    write_out(writer, writer->buffer, writer->used);
    writer->used = 0;
}

static void put_raw(struct snapshot_writer *writer, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    while (bytes) {
        if (writer->used == CHUNK_BYTES)
            flush(writer);
        size_t n = bytes < CHUNK_BYTES - writer->used ? bytes : CHUNK_BYTES - writer->used;
        memcpy(writer->buffer + writer->used, at, n);
        writer->used += n;
        at += n;
        bytes -= n;
    }
}

int snapshot_begin(const char *dir, uint64_t index, struct snapshot_writer **writer)
{
    char name[NAME_BYTES];
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    struct snapshot_writer *w = check_alloc(malloc(sizeof *w));
    w->dir_fd = dir_fd;
    w->index = index;
    w->pieces = w->checksum = 0;
    w->error = 0;
    w->used = 0;
    temporary_name(index, name);
    w->fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (w->fd < 0) {
        int error = errno;
        destroy(w);
        return -error;
    }
    struct file_header header = {.magic = MAGIC, .format = FORMAT, .index = index};
    put_raw(w, &header, sizeof header);
    *writer = w;
    return 0;
}

int snapshot_put(struct snapshot_writer *writer, uint16_t section, const void *data, size_t bytes)
{
    CHECK(bytes <= SNAPSHOT_PIECE_LIMIT);
    struct piece_header header = {.bytes = (uint32_t)bytes, .section = section};
    put_raw(writer, &header, sizeof header);
    put_raw(writer, data, bytes);
    writer->pieces++;
    return writer->error;
}

void snapshot_abandon(struct snapshot_writer *writer)
{
    char name[NAME_BYTES];
    if (!writer)
        return;
    temporary_name(writer->index, name);
    (void)unlinkat(writer->dir_fd, name, 0);
    destroy(writer);
}

/* Removes all but the newest KEPT. What cannot be removed is left for the next time. */
static void remove_old(int dir_fd)
{
    struct listing listing;
    char name[NAME_BYTES];
    int rc = list(dir_fd, false, &listing);
    for (size_t i = KEPT; rc == 0 && i < listing.count; i++)
        (void)unlinkat(dir_fd, file_name(listing.indexes[i], name), 0);
    free(listing.indexes);
}

int snapshot_finish(struct snapshot_writer *writer)
{
    char name[NAME_BYTES], temporary[NAME_BYTES];
    struct trailer trailer = {.magic = END_MAGIC, .pieces = writer->pieces};
    put_raw(writer, &trailer, offsetof(struct trailer, checksum));
    flush(writer);
    write_out(writer, (const uint8_t *)&writer->checksum, sizeof writer->checksum);
    temporary_name(writer->index, temporary);
    int rc = writer->error;
    if (rc == 0 && fsync(writer->fd) < 0)
        rc = -errno;
    if (rc == 0 && renameat(writer->dir_fd, temporary, writer->dir_fd, file_name(writer->index, name)) < 0)
        rc = -errno;
    if (rc < 0) {
        snapshot_abandon(writer);
        return rc;
    }
    rc = fsync(writer->dir_fd) < 0 ? -errno : 0;
    if (rc == 0)
        remove_old(writer->dir_fd);
    destroy(writer);
    return rc;
}

/* ---- reading ---- */

struct reader {
    int fd;
    uint64_t left; /* bytes before the checksum that are not in the buffer yet */
    uint64_t checksum;
    uint8_t buffer[CHUNK_BYTES];
    size_t start, end;
};

static int read_all(int fd, void *into, size_t bytes)
{
    uint8_t *at = into;
    while (bytes) {
        ssize_t n = read(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EUCLEAN;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int fill(struct reader *reader)
{
    size_t n = reader->left < CHUNK_BYTES ? (size_t)reader->left : CHUNK_BYTES;
    int rc = read_all(reader->fd, reader->buffer, n);
    if (rc < 0)
        return rc;
    reader->checksum = checksum_chain(reader->checksum, reader->buffer, n);
    reader->left -= n;
    reader->start = 0;
    reader->end = n;
    return 0;
}

static int get_raw(struct reader *reader, void *into, size_t bytes)
{
    uint8_t *at = into;
    while (bytes) {
        if (reader->start == reader->end) {
            if (reader->left == 0)
                return -EUCLEAN;
            int rc = fill(reader);
            if (rc < 0)
                return rc;
        }
        size_t n = reader->end - reader->start < bytes ? reader->end - reader->start : bytes;
        memcpy(at, reader->buffer + reader->start, n);
        reader->start += n;
        at += n;
        bytes -= n;
    }
    return 0;
}

static int rewind_reader(struct reader *reader, uint64_t bytes)
{
    reader->left = bytes - sizeof(uint64_t);
    reader->checksum = 0;
    reader->start = reader->end = 0;
    return lseek(reader->fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* Reads to the end and compares with the checksum there. */
static int verify_rest(struct reader *reader)
{
    uint64_t expected;
    int rc = 0;
    while (rc == 0 && reader->left)
        rc = fill(reader);
    if (rc == 0)
        rc = read_all(reader->fd, &expected, sizeof expected);
    return rc == 0 && expected != reader->checksum ? -EUCLEAN : rc;
}

/* A whole piece; *room grows as needed. */
static int get_piece(struct reader *reader, struct piece_header *header, uint8_t **data, size_t *room)
{
    int rc = get_raw(reader, header, sizeof *header);
    if (rc < 0)
        return rc;
    if (header->bytes > SNAPSHOT_PIECE_LIMIT)
        return -EUCLEAN;
    if (header->bytes > *room) {
        *room = 2 * (size_t)header->bytes;
        *data = check_alloc(realloc(*data, *room));
    }
    return get_raw(reader, *data, header->bytes);
}

typedef int take_function(void *context, uint16_t section, const void *data, size_t bytes);

/* The second pass; the checksum has been found right. */
static int hand_over(struct reader *reader, uint64_t index, take_function *take, void *context)
{
    struct file_header header;
    uint64_t end[2] = {0, 0}, pieces = 0;
    SCOPE_FREE uint8_t *data = NULL;
    size_t room = 0;
    int rc = get_raw(reader, &header, sizeof header);
    if (rc == 0 && (header.magic != MAGIC || header.format != FORMAT || header.index != index))
        return -EPROTO;
    while (rc == 0 && reader->left + (reader->end - reader->start) > sizeof end) {
        struct piece_header piece;
        rc = get_piece(reader, &piece, &data, &room);
        if (rc == 0)
            rc = take(context, piece.section, data, piece.bytes);
        pieces++;
    }
    if (rc == 0)
        rc = get_raw(reader, end, sizeof end);
    if (rc == 0 && (end[0] != END_MAGIC || end[1] != pieces))
        return -EPROTO;
    return rc == 0 ? verify_rest(reader) : rc;
}

/* *good is set when the checksum was right. -EUCLEAN: it is not. -EPROTO: it is, but the content is not
 * understood. */
static int load_one(int dir_fd, uint64_t index, take_function *take, void *context, bool *good)
{
    char name[NAME_BYTES];
    struct stat status;
    *good = false;
    SCOPE_CLOSE int fd = openat(dir_fd, file_name(index, name), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        return -errno;
    uint64_t bytes = (uint64_t)status.st_size;
    if (bytes < sizeof(struct file_header) + sizeof(struct trailer))
        return -EUCLEAN;
    SCOPE_FREE struct reader *reader = check_alloc(malloc(sizeof *reader));
    reader->fd = fd;
    int rc = rewind_reader(reader, bytes);
    if (rc == 0)
        rc = verify_rest(reader);
    *good = rc == 0;
    if (rc == 0)
        rc = rewind_reader(reader, bytes);
    return rc == 0 ? hand_over(reader, index, take, context) : rc;
}

static int load_newest(int dir_fd, const char *dir, const struct listing *listing, take_function *take, void *context,
                       uint64_t *index, char *why, size_t why_bytes)
{
    char name[NAME_BYTES], damaged[NAME_BYTES];
    bool good;
    for (size_t i = 0; i < listing->count; i++) {
        (void)file_name(listing->indexes[i], name);
        int rc = load_one(dir_fd, listing->indexes[i], take, context, &good);
        if (rc == 0) {
            /* Out of the way, so that it is not counted as the one to fall back to; kept, for people. */
            for (size_t k = 0; k < i; k++)
                (void)renameat(dir_fd, file_name(listing->indexes[k], damaged), dir_fd, DAMAGED_NAME);
            *index = listing->indexes[i];
            return 0;
        }
        (void)snprintf(why, why_bytes, "%s/%s: %s", dir, name,
                       rc == -EUCLEAN ? "does not match its checksum"
                       : rc == -EPROTO ? "of a format of another version of this program" : strerror(-rc));
        if (rc != -EUCLEAN || good)
            return rc;
        if (i + 1 < listing->count)
            log_warning("%s: falling back to the snapshot before it", why);
    }
    return listing->count ? -EUCLEAN : -ENOENT;
}

int snapshot_load(const char *dir, take_function *take, void *context, uint64_t *index, char *why, size_t why_bytes)
{
    why[0] = '\0';
    SCOPE_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct listing listing = {NULL, 0};
    int rc = dir_fd < 0 ? -errno : list(dir_fd, true, &listing);
    if (rc < 0)
        (void)snprintf(why, why_bytes, "%s: %s", dir, strerror(-rc));
    else
        rc = load_newest(dir_fd, dir, &listing, take, context, index, why, why_bytes);
    free(listing.indexes);
    return rc;
}

int snapshot_oldest(const char *dir, uint64_t *index)
{
    SCOPE_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    struct listing listing;
    int rc = list(dir_fd, false, &listing);
    if (rc == 0 && listing.count == 0)
        rc = -ENOENT;
    if (rc == 0)
        *index = listing.indexes[listing.count - 1];
    free(listing.indexes);
    return rc;
}
