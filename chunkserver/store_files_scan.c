/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking stock at the start: what chunks there are, what they use, what a kill interrupted. Runs before anybody else
 * uses the store. Nothing that might be a chunk is deleted: what is damaged moves aside and is reported.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

/* Calls `each` for the names in a directory but "." and "..", as they were when it started: `each` may move files. */
static int for_each(struct files_store *f, int directory, const char *path,
                    int (*each)(struct files_store *f, const char *folder, const char *name))
{
    int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return -errno;
    char(*names)[FILES_NAME_LIMIT] = NULL;
    size_t count = 0, room = 0;
    const struct dirent *entry;
    while ((entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        if (count == room) {
            room = room ? 2 * room : 64;
            names = check_alloc(realloc(names, room * sizeof *names));
        }
        (void)snprintf(names[count++], sizeof *names, "%.*s", FILES_NAME_LIMIT - 1, entry->d_name);
    }
    (void)closedir(d);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = each(f, path, names[i]);
    free(names);
    return rc;
}

static bool parse_id(const char *name, chunk_id *id)
{
    char again[FILES_NAME_LIMIT], *end;
    *id = strtoull(name, &end, 16);
    (void)snprintf(again, sizeof again, "%016" PRIx64, *id);
    return strcmp(again, name) == 0;
}

/* ---- chunks ---- */

static void add_quarantined(struct files_store *f, chunk_id id, uint64_t blocks)
{
    struct files_chunk *chunk = store_files_chunk_create(id);
    chunk->state = FILES_QUARANTINED;
    chunk->pages = (uint32_t)(blocks * 512 / CHUNK_FORMAT_PAGE);
    chunk->used = chunk->pages;
    f->pages += chunk->pages;
    f->used += chunk->used;
    store_files_insert(f, chunk);
    store_files_chunk_release(chunk);
    if (f->watch.damaged)
        f->watch.damaged(f->watch.context, id, 0);
}

static int quarantine(struct files_store *f, chunk_id id, int fd, const char *reason)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    char from[FILES_NAME_LIMIT], to[FILES_NAME_LIMIT];
    store_files_name(id, from);
    (void)snprintf(to, sizeof to, "%016" PRIx64, id);
    log_error("%s/chunks/%s moves to quarantine: %s", f->path, from, reason);
    /* An older file of the same chunk is kept too. */
    for (unsigned n = 1; faccessat(f->quarantine, to, F_OK, 0) == 0; n++)
        (void)snprintf(to, sizeof to, "%016" PRIx64 ".%u", id, n);
    if (renameat(f->chunks, from, f->quarantine, to) < 0)
        return -errno;
    add_quarantined(f, id, (uint64_t)st.st_blocks);
    return 0;
}

/* Reads header and table of an open file, which becomes the chunk's. 1: it is not a good one, see *reason; fd is the
 * caller's still. id NULL: whatever the header says. */
static int read_file(struct files_store *f, struct files_chunk *chunk, int fd, const chunk_id *id, const char **reason)
{
    struct stat st;
    struct chunk_page page;
    if (fstat(fd, &st) < 0)
        return -errno;
    *reason = "its size is not that of a chunk file";
    if (!S_ISREG(st.st_mode) || st.st_size != (off_t)f->data_offset + (off_t)f->geometry.chunk_bytes)
        return 1;
    int rc = store_files_pread(fd, &page, sizeof page, 0);
    if (rc < 0)
        return rc;
    if (chunk_format_check(&page, id ? *id : page.id, &f->geometry, reason) < 0)
        return 1;
    chunk->version = (uint32_t)page.version;
    chunk->table_pages = (uint32_t)page.table_pages;
    return store_files_load(f, chunk, fd);
}

/* Pages of the file that its table knows of, and what of them holds something. */
static void count_pages(struct files_store *f, struct files_chunk *chunk)
{
    uint32_t fixed = 1 + (uint32_t)__builtin_popcount(chunk->table_pages), stale = 0, data = 0;
    for (uint32_t page = 0; page < f->table_pages; page++) {
        const uint64_t *entries = chunk->table[page];
        for (uint32_t i = 0; entries && i < CHUNK_FORMAT_PAGE_ENTRIES; i++) {
            stale += entries[i] == CHECKSUM_STALE;
            data += entries[i] >= CHECKSUM_FIRST;
        }
    }
    chunk->pages = fixed + stale + data;
    chunk->used = fixed + data;
}

/* A chunk whose header is good. */
static int add_chunk(struct files_store *f, struct files_chunk *chunk)
{
    count_pages(f, chunk);
    store_files_close(f, chunk, false);
    f->pages += chunk->pages;
    if (chunk->version) {
        f->used += chunk->used;
        store_files_insert(f, chunk);
        return 0;
    }
    /* Deleted, but not moved yet. */
    char from[FILES_NAME_LIMIT], to[FILES_NAME_LIMIT];
    uint64_t number = store_files_next_free(f);
    store_files_name(chunk->id, from);
    store_files_free_name(number, to);
    if (renameat(f->chunks, from, f->free, to) < 0)
        return -errno;
    store_files_put_free(f, number, chunk->pages);
    return 0;
}

static int scan_chunk(struct files_store *f, const char *folder, const char *name)
{
    chunk_id id;
    char path[FILES_NAME_LIMIT] = "";
    const char *reason;
    if (parse_id(name, &id))
        store_files_name(id, path);
    if (strncmp(path, folder, 2) != 0) {
        log_warning("%s/chunks/%s/%s is no chunk file; left alone", f->path, folder, name);
        return 0;
    }
    int fd = openat(f->chunks, path, O_RDWR | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
    struct files_chunk *chunk = store_files_chunk_create(id);
    if (rc == 0)
        rc = read_file(f, chunk, fd, &id, &reason);
    if (rc == 0) {
        fd = -1;
        rc = add_chunk(f, chunk);
    } else if (rc > 0) {
        rc = quarantine(f, id, fd, reason);
    }
    if (rc < 0)
        log_error("%s/chunks/%s: %s", f->path, path, strerror(-rc));
    if (fd >= 0)
        (void)close(fd);
    store_files_chunk_release(chunk);
    return rc;
}

static int scan_folder(struct files_store *f, const char *folder, const char *name)
{
    (void)folder;
    return for_each(f, f->chunks, name, scan_chunk);
}

/* ---- the others ---- */

/* Whatever lies in DIR/free is free; what is not a whole file is of no use. */
static int scan_free(struct files_store *f, const char *folder, const char *name)
{
    (void)folder;
    char *end;
    const char *reason;
    uint64_t number = strtoull(name, &end, 10);
    struct files_chunk *chunk = store_files_chunk_create(0);
    int fd = openat(f->free, name, O_RDWR | O_CLOEXEC);
    bool good = fd >= 0 && *end == '\0' && read_file(f, chunk, fd, NULL, &reason) == 0;
    if (good) {
        count_pages(f, chunk);
        store_files_close(f, chunk, false);
    } else if (fd >= 0) {
        (void)close(fd);
    }
    if (good) {
        f->pages += chunk->pages;
        store_files_put_free(f, number, chunk->pages);
        if (f->free_number <= number)
            f->free_number = number + 1;
    }
    store_files_chunk_release(chunk);
    return good || unlinkat(f->free, name, 0) == 0 ? 0 : -errno;
}

static int scan_quarantine(struct files_store *f, const char *folder, const char *name)
{
    (void)folder;
    chunk_id id;
    struct stat st;
    if (!parse_id(name, &id) || fstatat(f->quarantine, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    struct files_chunk *chunk = store_files_find(f, id);
    if (chunk)
        store_files_chunk_release(chunk);
    else
        add_quarantined(f, id, (uint64_t)st.st_blocks);
    return 0;
}

int store_files_scan(struct files_store *f)
{
    /* Free files first: their numbers must be known before more get one. */
    int rc = for_each(f, f->free, ".", scan_free);
    if (rc == 0)
        rc = for_each(f, f->chunks, ".", scan_folder);
    if (rc == 0)
        rc = for_each(f, f->quarantine, ".", scan_quarantine);
    return rc < 0 ? rc : store_files_intents_recover(f);
}
