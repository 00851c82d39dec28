/* SPDX-License-Identifier: Apache-2.0 */
#include "master/data_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"
#include "master/image.h"
#include "master/snapshot_file.h"
#include "master/snapshot_task.h"

/* A master that was killed just now may not be gone yet. */
#define LOCK_WAIT_NS (2 * NS_PER_S)
#define LOCK_STEP_NS (20 * NS_PER_MS)

/* A new directory's own name is lost with the power, and all in it, until the directory above is on the disk. One that may not be
 * read cannot be synced by us. */
static int sync_above(int dir_fd)
{
    SCOPE_CLOSE int above = openat(dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0)
        return errno == EACCES ? 0 : -errno;
    return fsync(above) < 0 && errno != EINVAL ? -errno : 0;
}

int data_directory_lock(const char *dir, bool create, int *fd)
{
    if (create && mkdir(dir, 0700) < 0 && errno != EEXIST)
        return -errno;
    SCOPE_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    int rc = create ? sync_above(dir_fd) : 0; /* also if it is there: a start before this one may have made it and been killed */
    if (rc < 0)
        return rc;
    int lock = openat(dir_fd, "master.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0)
        return -errno;
    int64_t until_ns = clock_mono_ns() + LOCK_WAIT_NS;
    while (flock(lock, LOCK_EX | LOCK_NB) < 0) {
        rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
        if (rc != -EBUSY || clock_mono_ns() >= until_ns) {
            (void)close(lock);
            return rc;
        }
        clock_sleep_ns(LOCK_STEP_NS);
    }
    *fd = lock;
    return 0;
}

bool data_directory_has_cluster(const char *dir)
{
    bool found = false;
    DIR *listing = opendir(dir);
    if (!listing)
        return false;
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
        const char *name = entry->d_name;
        size_t length = strlen(name);
        bool temporary = length > 4 && strcmp(name + length - 4, ".tmp") == 0;
        if ((strncmp(name, "snapshot.", 9) == 0 && !temporary) ||
            (strncmp(name, "journal.", 8) == 0 && strcmp(name, "journal.lock") != 0))
            found = true;
    }
    (void)closedir(listing);
    return found;
}

bool data_directory_is_empty(const char *dir)
{
    static const char *const ours[] = {".", "..", "master.lock", "lost+found"};
    bool empty = true;
    DIR *listing = opendir(dir);
    if (!listing)
        return false;
    for (struct dirent *entry = readdir(listing); entry && empty; entry = readdir(listing)) {
        bool known = false;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            known = known || strcmp(entry->d_name, ours[i]) == 0;
        empty = known;
    }
    (void)closedir(listing);
    return empty;
}

int data_directory_init(const char *dir, uint32_t chunk_bytes)
{
    struct core core;
    uint64_t cluster = 0;
    while (cluster == 0)
        if (getrandom(&cluster, sizeof cluster, 0) != sizeof cluster)
            return -errno;
    core_init(&core, cluster, chunk_bytes, clock_wall_ns());
    int rc = snapshot_task_write(&core, dir, 0);
    core_fini(&core);
    if (rc == 0)
        log_info("%s: new cluster %016llx, chunks of %u bytes", dir, (unsigned long long)cluster, chunk_bytes);
    return rc;
}

/* ---- opening ---- */

struct replay {
    struct core *core;
    uint8_t *reply;
    uint64_t records;
    char trouble[200];
};

/* What was done once must be possible again; else the journal is not this state's. */
static int replay_record(void *context, const struct journal_record *record)
{
    struct replay *replay = context;
    union wire_any value;
    struct wire_out reply = wire_out_on(replay->reply, WIRE_BODY_LIMIT);
    struct core_change change = {
        .type = record->type,
        .session = record->session,
        .slot = record->slot,
        .sequence = record->sequence,
        .time_ns = record->time_ns,
        .value = &value,
        .body = record->body,
        .body_bytes = record->body_bytes,
    };
    const char *name = wire_type_name(record->type);
    replay->records++;
    uint16_t status = WIRE_BAD_MESSAGE;
    if (wire_get_any(record->type, record->body, record->body_bytes, &value) == 0)
        status = core_apply(replay->core, &change, &reply);
    if (status == WIRE_OK)
        return 0;
    (void)snprintf(replay->trouble, sizeof replay->trouble, "record %llu after the snapshot (%s) cannot be done: %s",
                   (unsigned long long)replay->records, name ? name : "unknown", wire_status_text(status));
    return -EUCLEAN;
}

static int load_snapshot(struct master *master, uint64_t *index, char why[DATA_DIRECTORY_WHY])
{
    struct image_loader loader;
    image_load_begin(&loader, &master->core);
    int rc = snapshot_load(master->dir, image_load_take, &loader, index, why, DATA_DIRECTORY_WHY);
    if (rc == 0)
        rc = image_load_end(&loader);
    else if (rc == -ENOENT)
        (void)snprintf(why, DATA_DIRECTORY_WHY, "%s holds no cluster; `calf-master --data DIR --init` makes one",
                       master->dir);
    if (rc == -EUCLEAN && why[0] == '\0')
        (void)snprintf(why, DATA_DIRECTORY_WHY, "%s: the snapshot's content makes no sense", master->dir);
    return rc;
}

static int open_journal(struct master *master, uint64_t index, char why[DATA_DIRECTORY_WHY])
{
    struct replay replay = {.core = &master->core, .reply = check_alloc(malloc(WIRE_BODY_LIMIT))};
    int64_t began_ns = clock_mono_ns();
    int rc = journal_open(master->dir, master->sync, index, replay_record, &replay, why, DATA_DIRECTORY_WHY,
                          &master->journal);
    free(replay.reply);
    if (rc < 0 && replay.trouble[0])
        (void)snprintf(why, DATA_DIRECTORY_WHY, "%s: %s", master->dir, replay.trouble);
    if (rc == 0)
        log_info("%s: snapshot up to record %llu and %llu records after it, in %.3f s", master->dir,
                 (unsigned long long)index, (unsigned long long)replay.records,
                 (double)(clock_mono_ns() - began_ns) / (double)NS_PER_S);
    return rc;
}

/* Each change that the core does goes to the journal. In mode always it is on the disk before its reply, all but what only gives
 * something back: lost with the power, it comes back with the end of its session. A length counts even where nobody asked
 * for a sync: the next truncate or append of its file builds upon it, and an fsync after that says nothing of what was below. So
 * does an open: it keeps a file that is unlinked later. */
static void append_record(void *context, const struct core_change *change)
{
    struct master *master = context;
    struct journal_record record = {
        .type = change->type,
        .session = change->session,
        .slot = change->slot,
        .sequence = change->sequence,
        .time_ns = change->time_ns,
        .body = change->body,
        .body_bytes = change->body_bytes,
    };
    journal_append(master->journal, &record);
    master->changed = true;
    switch (change->type) {
    case WIRE_TYPE_publish: {
        const struct wire_publish *publish = &change->value->publish;
        master->need_sync |= publish->sync || publish->length > 0 || publish->mtime != 0;
        break;
    }
    case WIRE_TYPE_lock_set:
        master->need_sync |= change->value->lock_set.type != WIRE_LOCK_NONE;
        break;
    case WIRE_TYPE_release:
    case WIRE_TYPE_releases:
        break;
    default:
        master->need_sync = true;
    }
}

static int begin_reign(struct master *master)
{
    union wire_any record = {.j_epoch = {.epoch = master->core.epoch + 1}};
    master->core.record = append_record;
    master->core.record_context = master;
    CHECK(core_decide(&master->core, WIRE_TYPE_j_epoch, &record, clock_wall_ns()) == WIRE_OK);
    master->changed = master->need_sync = false;
    return journal_commit(master->journal, true);
}

/* When the snapshot that was loaded was written, by the wall clock. */
static int64_t snapshot_time_ns(const char *dir, uint64_t index)
{
    char path[4096];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/snapshot.%020llu", dir, (unsigned long long)index);
    return stat(path, &st) < 0 ? clock_wall_ns() : (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
}

int data_directory_open(struct master *master, char why[DATA_DIRECTORY_WHY])
{
    uint64_t index = 0;
    why[0] = '\0';
    int rc = load_snapshot(master, &index, why);
    if (rc == 0)
        rc = open_journal(master, index, why);
    if (rc == 0)
        rc = begin_reign(master);
    if (rc < 0) {
        if (why[0] == '\0')
            (void)snprintf(why, DATA_DIRECTORY_WHY, "%s: %s", master->dir, strerror(-rc));
        journal_close(master->journal);
        master->journal = NULL;
        core_fini(&master->core);
        return rc;
    }
    master->snapshot_index = index;
    master->snapshot_ns = snapshot_time_ns(master->dir, index);
    return 0;
}
