/* SPDX-License-Identifier: Apache-2.0
 *
 * The disks: one for each node, a tree of files in memory. What was written survives the process, as in the page cache; a
 * power loss leaves what was synced and, of the rest, pages in any selection. The files' calls are in sim_files.c.
 *
 * Faults: slowness, failing writes, a crash of the process at the n-th write from now (which may be torn between
 * pages), flipped bits.
 */
#ifndef CALF_SIM_DISK_H
#define CALF_SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/sim_descriptors.h"

enum { SIM_PAGE = 4096, SIM_NAME = 64 };

struct sim_entry {
    char name[SIM_NAME];
    struct sim_vnode *node;
};

struct sim_listing {
    struct sim_entry *entries;
    unsigned count;
};

struct sim_vnode {
    bool is_dir, mapped;
    uint64_t ino;
    int64_t changed_ns;
    int lock_fd;          /* whose lock it is; 0: nobody's */
    struct sim_listing now;
    struct sim_listing *past; /* since the last sync of the directory: what it was after each change, oldest first */
    unsigned past_count;
    uint8_t *data, *durable, *dirty; /* dirty: a byte for each page */
    size_t size, room, durable_size, durable_room, dirty_room;
};

/* What can be said about a disk's behaviour. Times are absolute. */
struct sim_disk_faults {
    int64_t slow_until_ns, fails_until_ns;
    unsigned crash_in; /* the n-th change from now ends the process; 0: no */
};

struct sim_disk_faults *sim_disk_faults(unsigned node);

/* Called when crash_in has counted down; kills the node, whose fiber runs. */
void sim_disk_on_crash(void (*crash)(unsigned node));

/* Forgets what was not synced, page by page as the seed says. */
void sim_disk_lose_power(unsigned node);

/* Everything is gone, as from a RAM disk whose machine was off. */
void sim_disk_wipe(unsigned node);

/* A bit of the data of one chunk file, drawn; false: there is none. *id: of which chunk. */
bool sim_disk_flip_bit(unsigned node, size_t data_offset, uint64_t *id);

/* ---- for sim_files.c ---- */

struct sim_vnode *sim_disk_root(unsigned node);
struct sim_vnode *sim_vnode_create(bool is_dir);
struct sim_entry *sim_vnode_entry(struct sim_vnode *dir, const char *name); /* NULL: none */
void sim_vnode_add(struct sim_vnode *dir, const char *name, struct sim_vnode *node);
void sim_vnode_remove(struct sim_vnode *dir, const char *name);
void sim_vnode_resize(struct sim_vnode *node, size_t size);
void sim_vnode_write(struct sim_vnode *node, uint64_t offset, const void *data, size_t bytes);
void sim_vnode_sync(struct sim_vnode *node);

/* Time that a change or a sync takes, and whether it is the one at which the process dies. 0, or -EIO. */
int sim_disk_work(bool is_sync);
bool sim_disk_crashes_now(void); /* counts; the caller does part of its work and calls sim_disk_crash */
void sim_disk_crash(void) __attribute__((noreturn));

/* flock(2) and fcntl(2) locks of a whole file; 0, or -1 with EWOULDBLOCK. */
int sim_disk_lock(struct sim_descriptor *descriptor, bool lock);

#endif
