/* SPDX-License-Identifier: Apache-2.0 */
#include "master/namespace.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "master/chunk_table.h"
#include "master/xattrs.h"

void namespace_init(struct namespace *names, int64_t time_ns)
{
    *names = (struct namespace){.next_ino = ROOT_INODE};
    names->root = namespace_make(names, ROOT_INODE, S_IFDIR | 0755, time_ns);
    names->root->dir.parent = names->root;
    names->root->goal = 1;
}

static void free_inode(struct inode *inode)
{
    xattrs_free(&inode->xattrs);
    if (inode_is_dir(inode)) {
        directory_fini(inode->dir.entries);
        free(inode->dir.entries);
    } else if (S_ISLNK(inode->mode)) {
        free(inode->target);
    } else if (inode_is_file(inode) && inode->file.chunk_room) {
        free(inode->file.chunks);
    }
    free(inode);
}

void namespace_fini(struct namespace *names)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(&names->inodes, &walk); node;
         node = id_table_next(&names->inodes, &walk))
        free_inode((struct inode *)node);
    id_table_fini(&names->inodes);
    *names = (struct namespace){0};
}

struct inode *namespace_find(const struct namespace *names, inode_id ino)
{
    return (struct inode *)id_table_find(&names->inodes, ino);
}

struct inode *namespace_make(struct namespace *names, inode_id ino, uint32_t mode, int64_t time_ns)
{
    struct inode *inode = check_alloc(calloc(1, sizeof *inode));
    inode->node.id = ino ? ino : names->next_ino;
    inode->mode = mode;
    inode->atime = inode->mtime = inode->ctime = time_ns;
    inode->change = 1;
    if (inode_is_dir(inode)) {
        inode->dir.entries = check_alloc(malloc(sizeof *inode->dir.entries));
        directory_init(inode->dir.entries);
        inode->nlink = 2;
        names->directories++;
    }
    id_table_add(&names->inodes, &inode->node);
    if (inode->node.id >= names->next_ino)
        names->next_ino = inode->node.id + 1;
    return inode;
}

void namespace_free(struct namespace *names, struct inode *inode)
{
    CHECK(!inode_is_file(inode) || inode->file.chunk_count == 0);
    if (inode_is_dir(inode)) {
        CHECK(inode->dir.entries->count == 0);
        names->directories--;
    }
    CHECK(id_table_remove(&names->inodes, inode->node.id) == &inode->node);
    free_inode(inode);
}

void inode_attr(const struct inode *inode, struct wire_attr *attr)
{
    *attr = (struct wire_attr){
        .ino = inode->node.id,
        .mode = inode->mode,
        .nlink = inode->nlink,
        .uid = inode->uid,
        .gid = inode->gid,
        .rdev = S_ISBLK(inode->mode) || S_ISCHR(inode->mode) ? inode->rdev : 0,
        .size = inode_is_dir(inode) ? inode->dir.entries->count : inode->size,
        .used_bytes = inode_is_file(inode) ? inode->file.blocks * WIRE_BLOCK_BYTES : 0,
        .atime = inode->atime,
        .mtime = inode->mtime,
        .ctime = inode->ctime,
        .change = inode->change,
        .size_epoch = inode->size_epoch,
        .goal = inode->goal,
        .xattrs = inode->xattrs != NULL,
    };
}

void namespace_link(struct inode *dir, struct wire_bytes name, struct inode *inode, uint64_t cookie)
{
    (void)directory_add(dir->dir.entries, name, inode, cookie);
    if (inode_is_dir(inode)) {
        inode->dir.parent = dir;
        dir->nlink++;
    } else {
        inode->nlink++;
    }
}

void namespace_unlink(struct inode *dir, struct entry *entry)
{
    struct inode *inode = entry->inode;
    directory_remove(dir->dir.entries, entry);
    if (inode_is_dir(inode)) {
        inode->dir.parent = NULL;
        dir->nlink--;
    } else {
        inode->nlink--;
    }
}

bool namespace_is_above(const struct inode *inode, const struct inode *dir)
{
    while (dir && dir != inode && dir->dir.parent != dir)
        dir = dir->dir.parent;
    return dir == inode;
}

/* ---- chunks of a file ---- */

struct chunk **inode_chunks(struct inode *inode)
{
    return inode->file.chunk_room ? inode->file.chunks : &inode->file.only;
}

uint32_t inode_chunk_position(const struct inode *inode, uint32_t index)
{
    struct chunk **chunks = inode_chunks((struct inode *)(uintptr_t)inode);
    uint32_t low = 0, high = inode->file.chunk_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (chunks[middle]->index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct chunk *inode_find_chunk(struct inode *inode, uint32_t index)
{
    uint32_t position = inode_chunk_position(inode, index);
    if (position == inode->file.chunk_count)
        return NULL;
    struct chunk *chunk = inode_chunks(inode)[position];
    return chunk->index == index ? chunk : NULL;
}

void inode_add_chunk(struct inode *inode, struct chunk *chunk)
{
    uint32_t position = inode_chunk_position(inode, chunk->index), count = inode->file.chunk_count;
    chunk->owner = inode;
    inode->file.blocks += chunk->blocks;
    if (count == 0 && inode->file.chunk_room == 0) {
        inode->file.only = chunk;
        inode->file.chunk_count = 1;
        return;
    }
    if (count >= inode->file.chunk_room) {
        bool inside = inode->file.chunk_room == 0;
        uint32_t room = inside ? 4 : inode->file.chunk_room + inode->file.chunk_room / 2;
        struct chunk *only = inode->file.only;
        inode->file.chunks =
            check_alloc(realloc(inside ? NULL : inode->file.chunks, room * sizeof *inode->file.chunks));
        inode->file.chunk_room = room;
        if (inside)
            inode->file.chunks[0] = only;
    }
    struct chunk **at = inode->file.chunks + position;
    memmove(at + 1, at, (count - position) * sizeof *at);
    *at = chunk;
    inode->file.chunk_count++;
}

void inode_remove_chunk(struct inode *inode, const struct chunk *chunk)
{
    uint32_t position = inode_chunk_position(inode, chunk->index);
    struct chunk **chunks = inode_chunks(inode);
    CHECK(position < inode->file.chunk_count && chunks[position] == chunk);
    inode->file.chunk_count--;
    inode->file.blocks -= chunk->blocks;
    memmove(chunks + position, chunks + position + 1, (inode->file.chunk_count - position) * sizeof *chunks);
    if (inode->file.chunk_count == 0 && inode->file.chunk_room) {
        free(inode->file.chunks);
        inode->file.chunks = NULL;
        inode->file.chunk_room = 0;
    }
}

void inode_set_blocks(struct chunk *chunk, uint32_t blocks)
{
    chunk->owner->file.blocks += blocks;
    chunk->owner->file.blocks -= chunk->blocks;
    chunk->blocks = blocks;
}
