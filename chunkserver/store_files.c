/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/store_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "chunkserver/store_aio.h"
#include "chunkserver/store_identity.h"
#include "common/check.h"
#include "common/log.h"
#include "common/units.h"

static void files_destroy(struct store *store)
{
    struct files_store *f = (struct files_store *)store;
    store_files_index_fini(f);
    store_files_intents_close(f);
    (void)pthread_mutex_destroy(&f->create_lock);
    (void)pthread_mutex_destroy(&f->table_lock);
    (void)pthread_mutex_destroy(&f->open_lock);
    (void)pthread_mutex_destroy(&f->free_lock);
    int fds[] = {f->chunks, f->free, f->quarantine, f->directory};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    free(f->free_files);
    free(f->path);
    free(f);
}

static void take_geometry(struct files_store *f)
{
    f->geometry = f->store.identity.geometry;
    f->data_offset = chunk_format_data_offset(&f->geometry);
    f->table_pages = chunk_format_table_bytes(&f->geometry) / CHUNK_FORMAT_PAGE;
}

static int files_adopt(struct store *store, uint64_t cluster, const struct store_geometry *geometry)
{
    struct files_store *f = (struct files_store *)store;
    struct store_identity identity = store->identity;
    if (chunk_format_check_geometry(geometry) < 0 || cluster == 0)
        return -EINVAL;
    identity.cluster = cluster;
    identity.geometry = *geometry;
    int rc = store_identity_save(f->directory, &identity);
    if (rc < 0)
        return rc;
    store->identity = identity;
    take_geometry(f);
    store->ready = true;
    return 0;
}

static void files_usage(struct store *store, struct store_usage *usage)
{
    const struct files_store *f = (struct files_store *)store;
    *usage = (struct store_usage){.total_bytes = f->limit_pages * CHUNK_FORMAT_PAGE,
                                  .used_bytes = f->used * CHUNK_FORMAT_PAGE,
                                  .chunks = f->count};
}

static bool any_chunk(const struct files_chunk *chunk)
{
    return chunk->state != FILES_GONE;
}

static int64_t files_list(struct store *store, struct store_report **reports)
{
    struct files_store *f = (struct files_store *)store;
    struct store_report *list = NULL;
    size_t total = 0;
    for (unsigned shard = 0; shard < FILES_SHARDS; shard++) {
        size_t room = (size_t)f->shards[shard].count + 64; /* what comes in while it runs is not missed: the master knows */
        struct files_chunk **found = check_alloc(calloc(room, sizeof(struct files_chunk *)));
        size_t count = store_files_collect(f, shard, any_chunk, found, room);
        list = check_alloc(realloc(list, (total + count + 1) * sizeof *list));
        for (size_t i = 0; i < count; i++) {
            struct files_chunk *c = found[i];
            (void)pthread_rwlock_rdlock(&c->lock);
            if (c->state != FILES_GONE)
                list[total++] = (struct store_report){
                    c->id, c->version, c->state == FILES_QUARANTINED || store_files_is_damaged(f, c)};
            store_files_leave(c);
        }
        free(found);
    }
    *reports = list;
    return (int64_t)total;
}

static const struct store_ops files_ops = {
    .destroy = files_destroy,
    .adopt = files_adopt,
    .read = store_files_read,
    .share = store_files_share,
    .write = store_files_write,
    .check_header = store_files_check_header,
    .map = store_files_read_map,
    .set_version = store_files_set_version,
    .remove = store_files_delete,
    .copy_begin = store_files_copy_begin,
    .copy_write = store_files_copy_write,
    .copy_end = store_files_copy_end,
    .list = files_list,
    .usage = files_usage,
    .prefault = store_files_prefault,
};

/* ---- opening ---- */

/* Each open chunk takes a descriptor, two on a disk; connections need some too. */
static uint32_t default_open_limit(bool durable)
{
    enum { FEW = 64, MANY = 65536 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return FEW;
    uint64_t half = limit.rlim_cur / (durable ? 4 : 2);
    return half < FEW ? FEW : half > MANY ? MANY : (uint32_t)half;
}

static int open_folder(struct files_store *f, const char *name, int *fd)
{
    if (mkdirat(f->directory, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    *fd = openat(f->directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *fd < 0 ? -errno : 0;
}

/* A file system without O_DIRECT is found now and not with the first chunk. */
static int check_direct(const struct files_store *f)
{
    if (!f->durable)
        return 0;
    int fd = store_aio_open(f->intents_fd);
    if (fd == -EINVAL)
        log_error("store %s: its file system has no O_DIRECT: choose another directory, or the other --store-kind", f->path);
    if (fd < 0)
        return fd;
    (void)close(fd);
    return 0;
}

static int lock_directory(struct files_store *f)
{
    f->directory = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->directory < 0) {
        int rc = -errno;
        log_error("store %s: %s%s", f->path, strerror(errno), rc == -ENOENT ? " (make the directory first)" : "");
        return rc;
    }
    if (flock(f->directory, LOCK_EX | LOCK_NB) < 0) {
        log_error("store %s: another chunkserver uses it", f->path);
        return -EBUSY;
    }
    return 0;
}

static int load(struct files_store *f)
{
    int rc = store_identity_load(f->directory, &f->store.identity);
    if (rc == -ENOTEMPTY)
        log_error("store %s: holds files but no store.id, so it is no chunk store (give an empty directory)", f->path);
    else if (rc == -EUCLEAN)
        log_error("store %s: its store.id is damaged; it is left as it is", f->path);
    if (rc == -ENOTEMPTY || rc == -EUCLEAN)
        return rc;
    if (rc == 0)
        rc = open_folder(f, "chunks", &f->chunks);
    if (rc == 0)
        rc = open_folder(f, "free", &f->free);
    if (rc == 0)
        rc = open_folder(f, "quarantine", &f->quarantine);
    if (rc == 0)
        rc = store_files_settle_names(f, f->directory);
    if (rc == 0)
        rc = store_files_intents_open(f);
    if (rc == 0)
        rc = check_direct(f);
    if (rc == 0 && f->store.identity.cluster) {
        take_geometry(f);
        rc = store_files_scan(f);
        f->store.ready = rc == 0;
    }
    if (rc < 0)
        log_error("store %s: %s", f->path, strerror(-rc));
    return rc;
}

static void say_what_is_there(const struct files_store *f)
{
    struct statvfs fs;
    char used[UNITS_TEXT], total[UNITS_TEXT], there[UNITS_TEXT];
    uint64_t limit = f->limit_pages * CHUNK_FORMAT_PAGE;
    log_info("store %s: node %016" PRIx64 ", %" PRIu64 " chunks, %s of %s used, %zu files to reuse", f->path,
             f->store.identity.node, (uint64_t)f->count, units_format_bytes(f->used * CHUNK_FORMAT_PAGE, used),
             units_format_bytes(limit, total), f->free_count);
    if (fstatvfs(f->directory, &fs) == 0 && (uint64_t)fs.f_blocks * fs.f_frsize < limit)
        log_warning("store %s: the size is %s, but its file system has only %s", f->path, total,
                    units_format_bytes((uint64_t)fs.f_blocks * fs.f_frsize, there));
}

int store_files_open(const struct store_files_options *options, struct store **store)
{
    struct files_store *f = check_alloc(calloc(1, sizeof *f));
    f->store.ops = &files_ops;
    f->watch = options->watch;
    f->path = check_alloc(strdup(options->path));
    f->limit_pages = options->size_bytes / CHUNK_FORMAT_PAGE;
    f->durable = options->durable;
    f->directory = f->chunks = f->free = f->quarantine = f->intents_fd = -1;
    (void)pthread_mutex_init(&f->create_lock, NULL);
    (void)pthread_mutex_init(&f->table_lock, NULL);
    (void)pthread_mutex_init(&f->open_lock, NULL);
    (void)pthread_mutex_init(&f->free_lock, NULL);
    store_files_index_init(f, options->open_limit ? options->open_limit : default_open_limit(f->durable));
    int rc = lock_directory(f);
    if (rc == 0)
        rc = load(f);
    if (rc < 0) {
        files_destroy(&f->store);
        return rc;
    }
    say_what_is_there(f);
    *store = &f->store;
    return 0;
}
