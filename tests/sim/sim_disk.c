/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_disk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_wrap.h"

static struct sim_vnode *roots[SIM_NODES];
static struct sim_disk_faults faults[SIM_NODES];
static void (*on_crash)(unsigned node);
static uint64_t next_ino = 1;

struct sim_disk_faults *sim_disk_faults(unsigned node)
{
    return &faults[node];
}

void sim_disk_on_crash(void (*crash)(unsigned node))
{
    on_crash = crash;
}

struct sim_vnode *sim_vnode_create(bool is_dir)
{
    struct sim_vnode *node = check_alloc(calloc(1, sizeof *node));
    node->is_dir = is_dir;
    node->ino = next_ino++;
    node->changed_ns = sim_now();
    return node;
}

struct sim_vnode *sim_disk_root(unsigned node)
{
    if (!roots[node])
        roots[node] = sim_vnode_create(true);
    return roots[node];
}

void sim_disk_wipe(unsigned node)
{
    roots[node] = NULL;
}

/* ---- directories ---- */

struct sim_entry *sim_vnode_entry(struct sim_vnode *dir, const char *name)
{
    for (unsigned i = 0; i < dir->now.count; i++)
        if (strcmp(dir->now.entries[i].name, name) == 0)
            return &dir->now.entries[i];
    return NULL;
}

/* The list before a change becomes history; the change is made to a copy. */
static void begin_change(struct sim_vnode *dir)
{
    struct sim_listing copy = {.count = dir->now.count};
    copy.entries = check_alloc(malloc((copy.count + 1) * sizeof *copy.entries));
    memcpy(copy.entries, dir->now.entries, copy.count * sizeof *copy.entries);
    dir->past = check_alloc(realloc(dir->past, (dir->past_count + 1) * sizeof *dir->past));
    dir->past[dir->past_count++] = dir->now;
    dir->now = copy;
    dir->changed_ns = sim_now();
}

void sim_vnode_add(struct sim_vnode *dir, const char *name, struct sim_vnode *node)
{
    CHECK(strlen(name) < SIM_NAME);
    begin_change(dir);
    struct sim_entry *entry = sim_vnode_entry(dir, name);
    if (!entry)
        entry = &dir->now.entries[dir->now.count++];
    (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->node = node;
}

void sim_vnode_remove(struct sim_vnode *dir, const char *name)
{
    begin_change(dir);
    struct sim_entry *entry = sim_vnode_entry(dir, name);
    *entry = dir->now.entries[--dir->now.count];
}

static void forget_past(struct sim_vnode *dir)
{
    for (unsigned i = 0; i < dir->past_count; i++)
        free(dir->past[i].entries);
    free(dir->past);
    dir->past = NULL;
    dir->past_count = 0;
}

/* ---- files ---- */

static void *grow(void *memory, size_t before, size_t after)
{
    uint8_t *grown = check_alloc(realloc(memory, after));
    memset(grown + before, 0, after - before);
    return grown;
}

void sim_vnode_resize(struct sim_vnode *node, size_t size)
{
    if (size < node->size)
        memset(node->data + size, 0, node->size - size);
    if (size > node->room) {
        CHECK(!node->mapped);
        size_t room = size > 2 * node->room ? size : 2 * node->room, pages = room / SIM_PAGE + 1;
        node->data = grow(node->data, node->room, room);
        node->room = room;
        node->dirty = grow(node->dirty, node->dirty_room, pages);
        node->dirty_room = pages;
    }
    node->size = size;
    node->changed_ns = sim_now();
}

void sim_vnode_write(struct sim_vnode *node, uint64_t offset, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    if (offset + bytes > node->size)
        sim_vnode_resize(node, offset + bytes);
    if (data)
        memcpy(node->data + offset, data, bytes);
    else
        memset(node->data + offset, 0, bytes);
    memset(node->dirty + offset / SIM_PAGE, 1, (offset + bytes - 1) / SIM_PAGE - offset / SIM_PAGE + 1);
    node->changed_ns = sim_now();
}

static size_t page_bytes(size_t size, size_t page)
{
    size_t start = page * SIM_PAGE;
    return start >= size ? 0 : size - start < SIM_PAGE ? size - start : SIM_PAGE;
}

void sim_vnode_sync(struct sim_vnode *node)
{
    if (node->is_dir) {
        forget_past(node);
        return;
    }
    if (node->durable_room < node->room) {
        node->durable = grow(node->durable, node->durable_room, node->room);
        node->durable_room = node->room;
    }
    for (size_t page = 0; page < node->dirty_room; page++) {
        if (node->dirty[page])
            memcpy(node->durable + page * SIM_PAGE, node->data + page * SIM_PAGE, page_bytes(node->size, page));
        node->dirty[page] = 0;
    }
    if (node->size < node->durable_size)
        memset(node->durable + node->size, 0, node->durable_size - node->size);
    node->durable_size = node->size;
}

/* ---- power loss ---- */

static void lose_file(struct sim_vnode *node)
{
    size_t size = node->size > node->durable_size && sim_chance(700) ? node->size : node->durable_size;
    if (node->size > node->durable_size && sim_chance(200))
        size = node->durable_size + sim_below(node->size - node->durable_size);
    for (size_t page = 0; page < node->dirty_room; page++) {
        if (!node->dirty[page] || sim_chance(500))
            continue;
        size_t start = page * SIM_PAGE, n = page_bytes(node->size, page), kept = page_bytes(node->durable_size, page);
        memset(node->data + start, 0, n);
        memcpy(node->data + start, node->durable + start, kept < n ? kept : n);
    }
    sim_vnode_resize(node, size);
    sim_vnode_sync(node);
}

static void lose(struct sim_vnode *node)
{
    node->lock_fd = 0;
    if (!node->is_dir) {
        lose_file(node);
        return;
    }
    uint64_t which = sim_below(node->past_count + 1);
    if (which < node->past_count) {
        struct sim_listing chosen = node->past[which];
        node->past[which] = node->now;
        node->now = chosen;
    }
    forget_past(node);
    for (unsigned i = 0; i < node->now.count; i++)
        lose(node->now.entries[i].node);
}

void sim_disk_lose_power(unsigned node)
{
    lose(sim_disk_root(node));
}

/* ---- bit rot ---- */

/* Chunk files lie two folders deep and are named by their ids. */
bool sim_disk_flip_bit(unsigned node, size_t data_offset, uint64_t *id)
{
    struct sim_entry *store = sim_vnode_entry(sim_disk_root(node), "store"), *chunks, *chosen = NULL;
    uint64_t seen = 0;
    if (!store || !(chunks = sim_vnode_entry(store->node, "chunks")))
        return false;
    for (unsigned i = 0; i < chunks->node->now.count; i++) {
        struct sim_vnode *folder = chunks->node->now.entries[i].node;
        for (unsigned k = 0; folder->is_dir && k < folder->now.count; k++)
            if (folder->now.entries[k].node->size > data_offset && sim_below(++seen) == 0)
                chosen = &folder->now.entries[k];
    }
    if (!chosen)
        return false;
    *id = strtoull(chosen->name, NULL, 16);
    size_t at = data_offset + sim_below(chosen->node->size - data_offset);
    chosen->node->data[at] ^= (uint8_t)(1u << sim_below(8));
    sim_trace("flip", *id, at);
    return true;
}

/* ---- work ---- */

int sim_disk_work(bool is_sync)
{
    const struct sim_disk_faults *f = &faults[sim_node()];
    if (!sim_self())
        return 0;
    if (f->slow_until_ns > sim_now())
        sim_sleep(sim_between(NS_PER_MS, 900 * NS_PER_MS));
    else if (is_sync)
        sim_sleep(sim_between(50 * NS_PER_US, 400 * NS_PER_US));
    else if (sim_chance(300))
        sim_sleep(sim_between(NS_PER_US, 30 * NS_PER_US));
    return f->fails_until_ns > sim_now() && sim_chance(500) ? -EIO : 0;
}

bool sim_disk_crashes_now(void)
{
    struct sim_disk_faults *f = &faults[sim_node()];
    return sim_self() && f->crash_in && --f->crash_in == 0;
}

void sim_disk_crash(void)
{
    sim_trace("crash", sim_node(), 0);
    on_crash(sim_node());
    abort();
}

int sim_disk_lock(struct sim_descriptor *descriptor, bool lock)
{
    struct sim_vnode *node = descriptor->object;
    const struct sim_descriptor *holder = sim_descriptor_find(node->lock_fd);
    bool held = holder && holder->object == node && holder->fd != descriptor->fd;
    if (held)
        return SIM_FAIL(EWOULDBLOCK);
    node->lock_fd = lock ? descriptor->fd : 0;
    return 0;
}
