/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/scope.h"
#include "master/image.h"
#include "master/image_format.h"
#include "master/xattrs.h"

/* A piece is handed on when it is this large; what one record can add is far below the limit of a piece. */
enum { PIECE_BYTES = 256 * 1024, IMAGE_FORMAT = 2 };

struct saver {
    const struct core *core;
    int (*put)(void *context, uint16_t section, const void *data, size_t bytes);
    void *context;
    int rc;
    uint16_t section;
    uint8_t *data;
    size_t used, room;
};

static void flush(struct saver *s)
{
    if (s->rc == 0 && s->used)
        s->rc = s->put(s->context, s->section, s->data, s->used);
    s->used = 0;
}

static void begin(struct saver *s, uint16_t section)
{
    flush(s);
    s->section = section;
}

static void add(struct saver *s, const void *data, size_t bytes)
{
    if (s->used + bytes > s->room) {
        s->room = s->used + bytes + PIECE_BYTES;
        s->data = check_alloc(realloc(s->data, s->room));
    }
    if (bytes)
        memcpy(s->data + s->used, data, bytes);
    s->used += bytes;
}

static void add_u8(struct saver *s, uint8_t value)
{
    add(s, &value, sizeof value);
}

static void add_u32(struct saver *s, uint32_t value)
{
    add(s, &value, sizeof value);
}

static void add_u64(struct saver *s, uint64_t value)
{
    add(s, &value, sizeof value);
}

static void add_bytes(struct saver *s, const void *data, size_t bytes)
{
    add_u32(s, (uint32_t)bytes);
    add(s, data, bytes);
}

/* At the end of each record. */
static void end_record(struct saver *s)
{
    if (s->used >= PIECE_BYTES)
        flush(s);
}

static void save_meta(struct saver *s)
{
    const struct core *core = s->core;
    begin(s, IMAGE_META);
    add_u32(s, IMAGE_FORMAT);
    add_u64(s, core->cluster);
    add_u32(s, core->chunk_bytes);
    add_u64(s, core->epoch);
    add_u64(s, core->names.next_ino);
    add_u64(s, core->chunks.next_id);
    add_u32(s, core->chunks.gap_count);
    for (uint32_t i = 0; i < core->chunks.gap_count; i++) {
        add_u64(s, core->chunks.gaps[i].first);
        add_u64(s, core->chunks.gaps[i].end);
    }
    begin(s, IMAGE_SERVERS);
    for (uint32_t i = 0; i < core->servers.count; i++) {
        add_u64(s, core->servers.list[i]->node);
        if (core->servers.list[i]->draining)
            add_u64(s, 0);
    }
}

static void save_inode(struct saver *s, const struct inode *inode)
{
    add_u64(s, inode->node.id);
    add_u32(s, inode->mode);
    add_u32(s, inode->uid);
    add_u32(s, inode->gid);
    add_u64(s, inode->size);
    add_u64(s, (uint64_t)inode->atime);
    add_u64(s, (uint64_t)inode->mtime);
    add_u64(s, (uint64_t)inode->ctime);
    add_u64(s, inode->change);
    add_u32(s, inode->size_epoch);
    add_u8(s, inode->goal);
    if (S_ISLNK(inode->mode))
        add_bytes(s, inode->target, inode->size);
    else if (S_ISBLK(inode->mode) || S_ISCHR(inode->mode))
        add_u32(s, inode->rdev);
    uint32_t count = 0;
    for (const struct xattr *x = inode->xattrs; x; x = x->next)
        count++;
    add_u32(s, count);
    for (const struct xattr *x = inode->xattrs; x; x = x->next) {
        add_bytes(s, xattr_name(x).data, x->name_length);
        add_bytes(s, xattr_value(x).data, x->value_length);
    }
    end_record(s);
}

/* A record for each directory, one for each entry: the kind comes first, so that a directory may go over pieces. */
static void save_entries(struct saver *s, const struct inode *inode)
{
    const struct directory *directory = inode->dir.entries;
    const struct entry *entry;
    uint32_t position = 0;
    add_u8(s, 0);
    add_u64(s, inode->node.id);
    while ((entry = directory_next(directory, &position))) {
        add_u8(s, 1);
        add_u64(s, inode->node.id);
        add_u64(s, entry->cookie);
        add_u64(s, entry->inode->node.id);
        add_bytes(s, entry->name, entry->name_length);
        end_record(s);
    }
    add_u8(s, 2);
    add_u64(s, inode->node.id);
    add_u64(s, directory->next_cookie);
    end_record(s);
}

static void save_names(struct saver *s)
{
    size_t count = s->core->names.inodes.count;
    SCOPE_FREE struct id_node **inodes = id_table_sorted(&s->core->names.inodes);
    begin(s, IMAGE_INODES);
    for (size_t i = 0; i < count; i++)
        save_inode(s, (struct inode *)inodes[i]);
    begin(s, IMAGE_ENTRIES);
    for (size_t i = 0; i < count; i++)
        if (inode_is_dir((struct inode *)inodes[i]))
            save_entries(s, (struct inode *)inodes[i]);
}

static void save_chunks(struct saver *s)
{
    size_t count = s->core->chunks.table.count;
    SCOPE_FREE struct id_node **chunks = id_table_sorted(&s->core->chunks.table);
    begin(s, IMAGE_CHUNKS);
    for (size_t i = 0; i < count; i++) {
        struct chunk *chunk = (struct chunk *)chunks[i];
        const struct chunk_copy *copies = chunk_copies(chunk);
        add_u64(s, chunk->node.id);
        add_u64(s, chunk->owner->node.id);
        add_u32(s, chunk->index);
        add_u32(s, chunk->version);
        add_u8(s, chunk->bits);
        add_u32(s, chunk->blocks);
        add_u8(s, chunk->copy_count);
        for (uint8_t c = 0; c < chunk->copy_count; c++)
            add_u32(s, copies[c].server);
        add_u8(s, chunk_is_unsettled(chunk));
        if (chunk_is_unsettled(chunk)) {
            add_u32(s, chunk->activity->keep_bytes);
            add_u32(s, chunk->activity->oldest_version);
        }
        end_record(s);
    }
}

static int compare_chunk_ids(const void *a, const void *b)
{
    chunk_id x = *(const chunk_id *)a, y = *(const chunk_id *)b;
    return x < y ? -1 : x > y;
}

static void save_leases(struct saver *s, const struct session *session)
{
    SCOPE_FREE chunk_id *ids = check_alloc(malloc((session->lease_count + 1) * sizeof *ids));
    uint32_t count = 0;
    for (const struct lease *lease = session->leases; lease; lease = lease->next_of_session)
        ids[count++] = lease->chunk->node.id;
    CHECK(count == session->lease_count);
    qsort(ids, count, sizeof *ids, compare_chunk_ids);
    add_u32(s, count);
    for (uint32_t i = 0; i < count; i++)
        add_u64(s, ids[i]);
}

static void save_session(struct saver *s, const struct session *session)
{
    uint32_t used = 0;
    add_u64(s, session->node.id);
    add_u8(s, session->exclusive);
    add_bytes(s, session->name, strlen(session->name));
    for (uint32_t i = 0; i < session->slot_count; i++)
        used += session->slots[i].type != 0;
    add_u32(s, used);
    for (uint32_t i = 0; i < session->slot_count; i++) {
        const struct slot *slot = &session->slots[i];
        if (slot->type == 0)
            continue;
        add_u32(s, i);
        add_u32(s, slot->sequence);
        add_u32(s, slot->type);
        add_bytes(s, slot->reply, slot->reply_bytes);
    }
    SCOPE_FREE struct id_node **opens = id_table_sorted(&session->opens);
    add_u32(s, (uint32_t)session->opens.count);
    for (size_t i = 0; i < session->opens.count; i++) {
        add_u64(s, opens[i]->id);
        add_u32(s, ((struct open_count *)opens[i])->count);
    }
    save_leases(s, session);
    end_record(s);
}

/* In the section of the append locks, told from them by a bit that no inode number has. */
static void save_file_locks(struct saver *s)
{
    const struct file_locks *locks = &s->core->locks;
    SCOPE_FREE struct id_node **files = id_table_sorted(&locks->files);
    for (size_t i = 0; i < locks->files.count; i++)
        for (const struct file_lock *lock = ((struct locked_file *)files[i])->locks; lock; lock = lock->next) {
            add_u64(s, files[i]->id | IMAGE_FILE_LOCK);
            add_u64(s, lock->session);
            add_u64(s, lock->owner);
            add_u64(s, lock->start);
            add_u64(s, lock->end);
            add_u32(s, lock->pid);
            add_u8(s, lock->type);
            add_u8(s, lock->flock);
            end_record(s);
        }
}

static void save_sessions(struct saver *s)
{
    const struct sessions *sessions = &s->core->sessions;
    SCOPE_FREE struct id_node **list = id_table_sorted(&sessions->table);
    SCOPE_FREE struct id_node **locks = id_table_sorted(&sessions->append_locks);
    begin(s, IMAGE_SESSIONS);
    for (size_t i = 0; i < sessions->table.count; i++)
        save_session(s, (struct session *)list[i]);
    begin(s, IMAGE_LOCKS);
    for (size_t i = 0; i < sessions->append_locks.count; i++) {
        add_u64(s, locks[i]->id);
        add_u64(s, ((struct append_lock *)locks[i])->session);
        end_record(s);
    }
    save_file_locks(s);
}

static void save_removed(struct saver *s)
{
    const struct removed_files *removed = &s->core->removed;
    begin(s, IMAGE_REMOVED);
    for (uint32_t i = 0; i < removed->count; i++) {
        const struct removed_file *file = &removed->files[(removed->first + i) % REMOVED_FILES_LIMIT];
        add_u64(s, file->ino);
        add_u64(s, (uint64_t)file->time_ns);
        add_u32(s, namespace_find(&s->core->names, file->ino)->kept_blocks);
        end_record(s);
    }
}

int image_save(const struct core *core, int (*put)(void *context, uint16_t section, const void *data, size_t bytes),
               void *context)
{
    struct saver s = {.core = core, .put = put, .context = context};
    save_meta(&s);
    save_names(&s);
    save_chunks(&s);
    save_sessions(&s);
    save_removed(&s);
    begin(&s, IMAGE_END);
    add_u8(&s, 1);
    flush(&s);
    free(s.data);
    return s.rc;
}
