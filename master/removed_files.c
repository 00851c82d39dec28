/* SPDX-License-Identifier: Apache-2.0 */
#include "master/removed_files.h"

#include "common/check.h"
#include "common/clock.h"
#include "master/core.h"
#include "master/core_apply.h"

static void forget_oldest(struct core *core)
{
    struct removed_files *removed = &core->removed;
    struct inode *inode = namespace_find(&core->names, removed->files[removed->first].ino);
    CHECK(inode && inode->kept_blocks <= removed->blocks);
    removed->first = (removed->first + 1) % REMOVED_FILES_LIMIT;
    removed->count--;
    removed->blocks -= inode->kept_blocks;
    inode->kept_blocks = 0;
    inode->kept = false;
    core_let_go(core, inode);
}

static void add(struct core *core, struct inode *inode, uint16_t blocks, int64_t time_ns)
{
    struct removed_files *removed = &core->removed;
    while (removed->count == REMOVED_FILES_LIMIT || removed->blocks + blocks > REMOVED_FILES_BLOCKS)
        forget_oldest(core);
    removed->files[(removed->first + removed->count++) % REMOVED_FILES_LIMIT] =
        (struct removed_file){inode->node.id, time_ns};
    removed->blocks += blocks;
    inode->kept = true;
    inode->kept_blocks = blocks;
}

void removed_files_keep(struct core *core, struct inode *inode, int64_t time_ns)
{
    if (inode_is_file(inode) && !inode->nlink && !inode->kept && inode->file.blocks <= REMOVED_FILES_FILE_BLOCKS)
        add(core, inode, (uint16_t)inode->file.blocks, time_ns);
}

bool removed_files_restore(struct core *core, inode_id ino, int64_t time_ns, uint16_t blocks)
{
    struct inode *inode = namespace_find(&core->names, ino);
    if (!inode || !inode_is_file(inode) || inode->nlink || inode->kept || core->removed.count == REMOVED_FILES_LIMIT ||
        core->removed.blocks + blocks > REMOVED_FILES_BLOCKS)
        return false;
    add(core, inode, blocks, time_ns);
    return true;
}

uint16_t core_apply_j_forget(struct core *core, const struct core_change *change, const struct wire_j_forget *record)
{
    (void)change;
    if (record->count == 0 || record->count > core->removed.count)
        return WIRE_INVALID;
    for (uint32_t i = 0; i < record->count; i++)
        forget_oldest(core);
    return WIRE_OK;
}

/* Then what is kept is missed by somebody. */
static bool is_room_scarce(const struct core *core)
{
    for (uint32_t i = 0; i < core->servers.count; i++) {
        const struct server *server = core->servers.list[i];
        if (server->connected && server_free_bytes(server) < server->total_bytes / 8)
            return true;
    }
    return false;
}

void removed_files_tick(struct core *core, int64_t wall_ns)
{
    const struct removed_files *removed = &core->removed;
    bool scarce = removed->count && is_room_scarce(core);
    union wire_any record = {.j_forget = {.count = 0}};
    for (; record.j_forget.count < removed->count; record.j_forget.count++) {
        int64_t came_ns = removed->files[(removed->first + record.j_forget.count) % REMOVED_FILES_LIMIT].time_ns;
        if (!scarce && came_ns <= wall_ns && wall_ns - came_ns < REMOVED_FILES_KEPT_NS) /* else the clock was set back */
            break;
    }
    if (record.j_forget.count)
        CHECK(core_decide(core, WIRE_TYPE_j_forget, &record, wall_ns) == WIRE_OK);
}
