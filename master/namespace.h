/* SPDX-License-Identifier: Apache-2.0
 *
 * Inodes and the tree they form. An inode lives while it has links or opens; who takes the last one away frees it
 * (core.h, since its chunks go too). Directories know their parent; other inodes may have many.
 *
 * A file's chunks stand in an array sorted by index; a file with one needs no array. About 250 bytes for a file with
 * an entry and a chunk. Pure: times come in. One thread.
 */
#ifndef CALF_NAMESPACE_H
#define CALF_NAMESPACE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/wire.h"
#include "master/directory.h"
#include "master/id_table.h"
#include "master/ids.h"

struct chunk;
struct xattr;

struct inode {
    struct id_node node;
    uint64_t size; /* published length; of a symlink: its target's */
    int64_t atime, mtime, ctime;
    uint64_t change;
    uint32_t mode, nlink, uid, gid;
    uint32_t size_epoch;
    uint32_t opens; /* by all sessions */
    struct xattr *xattrs;
    union {
        struct {
            union {
                struct chunk *only;   /* chunk_room 0 */
                struct chunk **chunks; /* by index */
            };
            uint32_t chunk_count, chunk_room;
            uint64_t blocks; /* of all its chunks */
        } file;
        struct {
            struct directory *entries;
            struct inode *parent; /* NULL: removed; of the root: itself */
        } dir;
        char *target; /* size bytes, without NUL */
        uint32_t rdev;
    };
    uint8_t goal;
    bool kept;            /* it has just lost its last name, see removed_files.h */
    uint16_t kept_blocks; /* what it counts for there */
};

struct namespace {
    struct id_table inodes;
    struct inode *root;
    inode_id next_ino;
    uint64_t directories; /* the rest of the inodes are files */
};

/* Makes the root: mode 0755 of user 0, goal 1. */
void namespace_init(struct namespace *names, int64_t time_ns);
void namespace_fini(struct namespace *names); /* not the chunks */

struct inode *namespace_find(const struct namespace *names, inode_id ino);

/* A new inode, in no directory yet: type and permissions from mode; ino 0: the next one. Of a directory: nlink 2,
 * else 0. */
struct inode *namespace_make(struct namespace *names, inode_id ino, uint32_t mode, int64_t time_ns);

/* Frees it; it must have no chunks and, if a directory, no entries. */
void namespace_free(struct namespace *names, struct inode *inode);

static inline bool inode_is_dir(const struct inode *inode)
{
    return S_ISDIR(inode->mode);
}

static inline bool inode_is_file(const struct inode *inode)
{
    return S_ISREG(inode->mode);
}

/* What stat shows. */
void inode_attr(const struct inode *inode, struct wire_attr *attr);

/* Adds an entry (the name is free) and does what it means for link counts and, if a directory, parent. cookie as
 * directory_add. */
void namespace_link(struct inode *dir, struct wire_bytes name, struct inode *inode, uint64_t cookie);

/* Takes the entry away, with the same care; the inode may be left with nlink 0. */
void namespace_unlink(struct inode *dir, struct entry *entry);

/* True if inode is dir or above it. */
bool namespace_is_above(const struct inode *inode, const struct inode *dir);

/* ---- chunks of a file ---- */

struct chunk **inode_chunks(struct inode *inode);                     /* the array, of file.chunk_count */
struct chunk *inode_find_chunk(struct inode *inode, uint32_t index); /* NULL: a hole */
uint32_t inode_chunk_position(const struct inode *inode, uint32_t index); /* of the first at or after that index */
void inode_add_chunk(struct inode *inode, struct chunk *chunk);      /* by chunk->index, which is free */
void inode_remove_chunk(struct inode *inode, const struct chunk *chunk);

/* The chunk of a file has so many blocks now. */
void inode_set_blocks(struct chunk *chunk, uint32_t blocks);

#endif
