/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "common/check.h"
#include "master/image.h"
#include "master/image_format.h"
#include "master/xattrs.h"

enum { IMAGE_FORMAT = 2, COOKIE_BITS = 56 };

void image_load_begin(struct image_loader *loader, struct core *core)
{
    *core = (struct core){0};
    *loader = (struct image_loader){.core = core};
}

static bool load_meta(struct core *core, struct image_in *in)
{
    uint32_t format = image_get_u32(in);
    core->cluster = image_get_u64(in);
    core->chunk_bytes = image_get_u32(in);
    core->epoch = image_get_u64(in);
    core->names.next_ino = image_get_u64(in);
    chunk_table_init(&core->chunks);
    core->chunks.next_id = image_get_u64(in);
    uint32_t gaps = image_get_u32(in);
    if (format != IMAGE_FORMAT || in->failed || gaps > (size_t)(in->end - in->at) / 16 || core->chunk_bytes == 0 ||
        core->chunk_bytes % WIRE_BLOCK_BYTES)
        return false;
    core->chunks.gaps = check_alloc(malloc((gaps + 1) * sizeof *core->chunks.gaps));
    core->chunks.gap_count = gaps;
    for (uint32_t i = 0; i < gaps; i++) {
        core->chunks.gaps[i].first = image_get_u64(in);
        core->chunks.gaps[i].end = image_get_u64(in);
    }
    return true;
}

static bool load_server(struct core *core, struct image_in *in)
{
    uint64_t node = image_get_u64(in);
    if (!in->failed && node == 0 && core->servers.count) {
        core->servers.list[core->servers.count - 1]->draining = true;
        return true;
    }
    if (in->failed || node == 0 || core->servers.count >= SERVERS_LIMIT)
        return false;
    (void)servers_add(&core->servers, node);
    return true;
}

/* ---- names ---- */

static bool load_xattrs(struct inode *inode, struct image_in *in)
{
    for (uint32_t left = image_get_u32(in); left && !in->failed; left--) {
        struct wire_bytes name = image_get_bytes(in), value = image_get_bytes(in);
        if (in->failed || name.length > WIRE_NAME_LIMIT ||
            xattrs_set(&inode->xattrs, name, value, 0) != WIRE_OK)
            return false;
    }
    return !in->failed;
}

static bool load_inode(struct core *core, struct image_in *in)
{
    inode_id ino = image_get_u64(in);
    uint32_t mode = image_get_u32(in);
    if (in->failed || ino == 0 || ino >= core->names.next_ino || namespace_find(&core->names, ino))
        return false;
    struct inode *inode = namespace_make(&core->names, ino, mode, 0);
    inode->uid = image_get_u32(in);
    inode->gid = image_get_u32(in);
    inode->size = image_get_u64(in);
    inode->atime = (int64_t)image_get_u64(in);
    inode->mtime = (int64_t)image_get_u64(in);
    inode->ctime = (int64_t)image_get_u64(in);
    inode->change = image_get_u64(in);
    inode->size_epoch = image_get_u32(in);
    inode->goal = image_get_u8(in);
    if (S_ISLNK(mode)) {
        struct wire_bytes target = image_get_bytes(in);
        if (in->failed || target.length != inode->size)
            return false;
        inode->target = check_alloc(malloc(target.length + 1u));
        memcpy(inode->target, target.data, target.length);
    } else if (S_ISBLK(mode) || S_ISCHR(mode)) {
        inode->rdev = image_get_u32(in);
    }
    if (ino == ROOT_INODE) {
        core->names.root = inode;
        if (!inode_is_dir(inode))
            return false;
        inode->dir.parent = inode;
    } else if (inode_is_dir(inode)) {
        inode->nlink = 0; /* until its entry comes: it may be a removed one that is open */
    }
    return load_xattrs(inode, in);
}

/* nlink of a directory: 2 with its entry, and one more for each directory in it. Those may come first. */
static bool load_entry(struct core *core, struct image_in *in)
{
    uint8_t kind = image_get_u8(in);
    struct inode *dir = namespace_find(&core->names, image_get_u64(in));
    if (in->failed || !dir || !inode_is_dir(dir))
        return false;
    if (kind == 0)
        return true;
    if (kind == 2) {
        uint64_t next = image_get_u64(in);
        if (in->failed || next < dir->dir.entries->next_cookie)
            return false;
        dir->dir.entries->next_cookie = next;
        return true;
    }
    uint64_t cookie = image_get_u64(in);
    struct inode *inode = namespace_find(&core->names, image_get_u64(in));
    struct wire_bytes name = image_get_bytes(in);
    if (kind != 1 || in->failed || !inode || inode == core->names.root || name.length == 0 ||
        name.length > WIRE_NAME_LIMIT || cookie < dir->dir.entries->next_cookie || cookie >> COOKIE_BITS)
        return false;
    if (inode_is_dir(inode)) {
        if (inode->dir.parent)
            return false;
        inode->nlink += 2;
    }
    namespace_link(dir, name, inode, cookie);
    return true;
}

/* ---- chunks and sessions ---- */

static bool load_chunk(struct core *core, struct image_in *in)
{
    chunk_id id = image_get_u64(in);
    struct inode *inode = namespace_find(&core->names, image_get_u64(in));
    uint32_t index = image_get_u32(in), version = image_get_u32(in);
    uint8_t bits = image_get_u8(in);
    uint32_t blocks = image_get_u32(in);
    uint8_t count = image_get_u8(in);
    uint16_t servers[WIRE_COPIES_LIMIT];
    if (in->failed || id == 0 || id >= core->chunks.next_id || chunk_table_find(&core->chunks, id) || !inode ||
        !inode_is_file(inode) || inode_find_chunk(inode, index) || count > WIRE_COPIES_LIMIT ||
        blocks > core->chunk_bytes / WIRE_BLOCK_BYTES)
        return false;
    for (uint8_t i = 0; i < count; i++) {
        servers[i] = (uint16_t)image_get_u32(in);
        if (!servers_find(&core->servers, servers[i]))
            return false;
    }
    struct chunk *chunk = chunk_table_add(&core->chunks, id);
    chunk->index = index;
    chunk->version = version;
    chunk->bits = bits;
    chunk->blocks = blocks;
    chunk_set_copies(chunk, servers, count);
    inode_add_chunk(inode, chunk);
    if (image_get_u8(in)) {
        chunk_table_unsettle(&core->chunks, chunk, image_get_u32(in));
        chunk->activity->oldest_version = image_get_u32(in);
    }
    return !in->failed;
}

static bool load_slots(struct session *session, struct image_in *in)
{
    for (uint32_t left = image_get_u32(in); left && !in->failed; left--) {
        uint32_t number = image_get_u32(in), sequence = image_get_u32(in), type = image_get_u32(in);
        struct wire_bytes reply = image_get_bytes(in);
        if (in->failed || number >= SESSION_SLOTS_LIMIT)
            return false;
        slot_save(session_slot(session, number), (uint16_t)type, sequence, reply.data, reply.length);
    }
    return !in->failed;
}

static bool load_session(struct core *core, struct image_in *in)
{
    session_id id = image_get_u64(in);
    bool exclusive = image_get_u8(in) != 0;
    struct wire_bytes name = image_get_bytes(in);
    if (in->failed || id == 0 || sessions_find(&core->sessions, id))
        return false;
    struct session *session = sessions_add(&core->sessions, id, exclusive, name);
    if (!load_slots(session, in))
        return false;
    for (uint32_t left = image_get_u32(in); left && !in->failed; left--) {
        struct inode *inode = namespace_find(&core->names, image_get_u64(in));
        uint32_t count = image_get_u32(in);
        if (in->failed || !inode || count == 0)
            return false;
        session_open(session, inode);
        ((struct open_count *)id_table_find(&session->opens, inode->node.id))->count = count;
        inode->opens += count - 1;
    }
    for (uint32_t left = image_get_u32(in); left && !in->failed; left--) {
        struct chunk *chunk = chunk_table_find(&core->chunks, image_get_u64(in));
        if (in->failed || !chunk)
            return false;
        session_add_lease(session, chunk);
    }
    return !in->failed;
}

static bool load_file_lock(struct core *core, inode_id ino, session_id session, struct image_in *in)
{
    struct file_lock lock = {.session = session, .owner = image_get_u64(in)};
    lock.start = image_get_u64(in);
    lock.end = image_get_u64(in);
    lock.pid = image_get_u32(in);
    lock.type = image_get_u8(in);
    lock.flock = image_get_u8(in) != 0;
    if (in->failed || !namespace_find(&core->names, ino) || !sessions_find(&core->sessions, session) ||
        lock.start > lock.end || (lock.type != WIRE_LOCK_READ && lock.type != WIRE_LOCK_WRITE))
        return false;
    file_locks_restore(&core->locks, ino, &lock);
    return true;
}

static bool load_lock(struct core *core, struct image_in *in)
{
    inode_id ino = image_get_u64(in);
    session_id session = image_get_u64(in);
    if (ino & IMAGE_FILE_LOCK)
        return load_file_lock(core, ino & ~IMAGE_FILE_LOCK, session, in);
    if (in->failed || !sessions_find(&core->sessions, session) || sessions_append_holder(&core->sessions, ino))
        return false;
    sessions_append_take(&core->sessions, ino, session);
    return true;
}

static bool load_removed(struct core *core, struct image_in *in)
{
    inode_id ino = image_get_u64(in);
    int64_t time_ns = (int64_t)image_get_u64(in);
    uint32_t blocks = image_get_u32(in);
    return !in->failed && blocks <= REMOVED_FILES_FILE_BLOCKS && removed_files_restore(core, ino, time_ns, (uint16_t)blocks);
}

/* ---- all sections ---- */

int image_load_take(void *context, uint16_t section, const void *data, size_t bytes)
{
    static bool (*const load[])(struct core *, struct image_in *) = {
        [IMAGE_META] = load_meta,       [IMAGE_SERVERS] = load_server, [IMAGE_INODES] = load_inode,
        [IMAGE_ENTRIES] = load_entry,   [IMAGE_CHUNKS] = load_chunk,   [IMAGE_SESSIONS] = load_session,
        [IMAGE_LOCKS] = load_lock,      [IMAGE_REMOVED] = load_removed,
    };
    struct image_loader *loader = context;
    if (section < loader->section || section > IMAGE_END || (loader->section == 0) != (section == IMAGE_META))
        return -EUCLEAN;
    if (section > IMAGE_INODES && !loader->core->names.root)
        return -EUCLEAN;
    loader->section = section;
    if (section == IMAGE_END || bytes == 0)
        return 0;
    struct image_in in = {data, (const uint8_t *)data + bytes, false};
    while (image_is_more(&in))
        if (!load[section](loader->core, &in) || (section == IMAGE_META && image_is_more(&in)))
            return -EUCLEAN; /* the numbers of the state are there once */
    return in.failed ? -EUCLEAN : 0;
}

int image_load_end(struct image_loader *loader)
{
    return loader->section == IMAGE_END ? 0 : -EUCLEAN;
}
