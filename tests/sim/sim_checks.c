/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_checks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunkserver/store_files.h"
#include "client/fs.h"
#include "common/check.h"
#include "master/chunk_table.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_nodes.h"
#include "tests/sim/sim_wrap.h"
#include "tests/sim/sim_workload.h"

enum { ROOT = 1, CHUNK_BYTES = CORE_CHUNK_BYTES_SMALL, SHARED_LIMIT = 8 << 20, PATIENCE_S = 200 };

#define PATIENCE_NS (PATIENCE_S * NS_PER_S)

static bool finished;

/* ---- what a client sees ---- */

/* Reads from the start to the end; the bytes are valid until the next call. */
static uint8_t *read_all(struct fs *fs, uint64_t ino, const char *name, uint32_t *length)
{
    struct fs_handle *handle;
    static uint8_t all[SHARED_LIMIT];
    int rc = fs_open(fs, ino, 0, &handle, NULL);
    *length = 0;
    while (rc == 0) {
        const uint8_t *data;
        int got = fs_read(fs, handle, *length, 32768, &data);
        if (got <= 0) {
            rc = got;
            break;
        }
        CHECK(*length + (uint32_t)got <= SHARED_LIMIT);
        memcpy(all + *length, data, (size_t)got);
        *length += (uint32_t)got;
    }
    if (rc < 0)
        sim_violation("at the end %s (ino %" PRIu64 ") cannot be read: %s", name, ino, strerror(-rc));
    fs_release(fs, handle);
    return all;
}

static void check_file(struct fs *fs, const struct ledger_file *file)
{
    uint32_t length;
    uint8_t *all = read_all(fs, file->ino, file->name, &length);
    const char *wrong = ledger_judge(file, ledger_certain(file), 0, LEDGER_FILE_LIMIT + 1, all, length);
    if (wrong)
        sim_violation("at the end: %s", wrong);
}

/* How many of the names that a file may have lead to it. */
static unsigned count_names(struct fs *fs, uint64_t dir, const struct ledger_file *file)
{
    const char *names[] = {file->name, file->other_name};
    unsigned found = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct wire_attr attr;
        if (!names[i][0] || fs_lookup(fs, dir, names[i], &attr) < 0)
            continue;
        found += file->ino == 0 || attr.ino == file->ino;
    }
    return found;
}

static void check_files(struct fs *fs)
{
    for (const struct ledger_file *file = ledger_files; file; file = file->next) {
        struct wire_attr dir;
        char text[16];
        (void)snprintf(text, sizeof text, "c%u", file->client);
        int rc = fs_lookup(fs, ROOT, text, &dir);
        if (rc < 0)
            sim_violation("at the end the directory %s is not found: %s", text, strerror(-rc));
        unsigned found = count_names(fs, dir.ino, file);
        bool may_be_absent = file->maybe_gone || file->ino == 0;
        if (file->gone ? found != 0 : found > 1 || (found == 0 && !may_be_absent))
            sim_violation("at the end %s (ino %" PRIu64 ") has %u names%s", file->name, file->ino, found,
                          file->gone ? ", though it was unlinked" : "");
        if (found && file->ino)
            check_file(fs, file);
    }
}

static bool is_known(unsigned client, const char *name)
{
    for (const struct ledger_file *file = ledger_files; file; file = file->next)
        if (file->client == client && !file->gone &&
            (strcmp(file->name, name) == 0 || strcmp(file->other_name, name) == 0))
            return true;
    return false;
}

static void check_listing(struct fs *fs, unsigned client)
{
    struct wire_attr attr;
    struct fs_dir *dir;
    struct fs_entry entry;
    char text[16];
    (void)snprintf(text, sizeof text, "c%u", client);
    int rc = fs_lookup(fs, ROOT, text, &attr);
    if (rc == 0)
        rc = fs_opendir(fs, attr.ino, &dir);
    if (rc < 0)
        sim_violation("at the end the directory %s cannot be listed: %s", text, strerror(-rc));
    for (uint64_t cookie = 0; (rc = fs_readdir(fs, dir, cookie, &entry)) == 1; cookie = entry.cookie)
        if (entry.name[0] != '.' && !is_known(client, entry.name))
            sim_violation("at the end %s holds %s, which nobody made", text, entry.name);
    fs_releasedir(dir);
}

static void *check_as_client(void *argument)
{
    struct fs *fs;
    uint32_t length;
    int rc = sim_nodes_mount(&fs);
    if (rc < 0)
        sim_violation("at the end nobody can mount: %s", strerror(-rc));
    check_files(fs);
    for (unsigned i = 0; i < sim_nodes_cluster()->clients; i++)
        check_listing(fs, SIM_CLIENT_FIRST + i);
    uint8_t *all = read_all(fs, ledger_appends.ino, "shared", &length);
    const char *wrong = ledger_judge_appends(all, length);
    if (wrong)
        sim_violation("at the end: %s", wrong);
    fs_unmount(fs);
    finished = true;
    return argument;
}

void checks_content(unsigned node)
{
    int64_t until = sim_now() + PATIENCE_NS;
    finished = false;
    (void)sim_spawn(node, check_as_client, NULL);
    while (!finished) {
        if (sim_now() > until)
            sim_violation("at the end a client cannot read everything within %d s", PATIENCE_S);
        sim_sleep(NS_PER_S);
    }
}

/* ---- copies ---- */

struct copy_reading {
    unsigned node;
    uint64_t id;
    uint32_t version;
    int rc;
    uint8_t *data;
};

static void *read_copy(void *argument)
{
    struct copy_reading *r = argument;
    uint64_t sums[CHUNK_BYTES / WIRE_BLOCK_BYTES];
    struct store *store = sim_nodes_store(r->node);
    struct store_read read = {.id = r->id, .version = r->version, .length = CHUNK_BYTES, .verify = true};
    r->rc = store ? store->ops->read(store, &read, r->data, sums) : -ENOTCONN;
    return NULL;
}

/* Nodes are found by where their store says it is. */
static unsigned node_of(const struct server *server)
{
    for (unsigned node = SIM_SERVER_FIRST; node < SIM_CLIENT_FIRST; node++)
        if (sim_nodes_store(node) && sim_nodes_store(node)->identity.node == server->node)
            return node;
    return 0;
}

static void check_chunk(struct master *master, struct chunk *chunk, uint8_t *data[2])
{
    const struct chunk_copy *copies = chunk_copies(chunk);
    unsigned good = 0;
    struct copy_reading first = {0};
    for (unsigned i = 0; i < chunk->copy_count; i++) {
        const struct server *server = servers_find(&master->core.servers, copies[i].server);
        unsigned node = server && server->connected ? node_of(server) : 0;
        if (!node || copies[i].bits & (COPY_LOST | COPY_DAMAGED))
            continue;
        struct copy_reading r = {.node = node, .id = chunk->node.id, .version = chunk->version, .data = data[good > 0]};
        (void)sim_join(sim_spawn(node, read_copy, &r));
        if (r.rc == -ENOMEDIUM && chunk->bits & CHUNK_MAYBE_ABSENT)
            memset(r.data, 0, CHUNK_BYTES); /* never written: it reads as zeros */
        else if (r.rc == -EUCLEAN && sim_nodes_cluster()->goal > 1)
            continue; /* rot that nobody has read yet */
        else if (r.rc < 0)
            sim_violation("chunk %" PRIu64 " version %u on node %u, valid for the master: %s", r.id, r.version, node,
                          strerror(-r.rc));
        if (good++ == 0)
            first = r;
        else if (memcmp(first.data, r.data, CHUNK_BYTES) != 0)
            sim_violation("chunk %" PRIu64 " version %u differs between nodes %u and %u", r.id, r.version, first.node, node);
    }
    if (good == 0)
        sim_violation("chunk %" PRIu64 " version %u has no good copy", chunk->node.id, chunk->version);
}

/* Chunks whose writer died: their copies may differ until repair has made them equal, which begins when the session ends. */
static size_t count_unequal(const struct master *master)
{
    size_t unequal = 0;
    struct id_node **all = id_table_sorted(&master->core.chunks.table);
    for (size_t i = 0; i < master->core.chunks.table.count; i++) {
        const struct chunk *chunk = (const struct chunk *)all[i];
        unequal += chunk->bits & CHUNK_UNEQUAL && !(chunk->bits & CHUNK_MAYBE_ABSENT);
    }
    free(all);
    return unequal;
}

void checks_copies(void)
{
    int64_t until = sim_now() + PATIENCE_NS;
    struct master *master;
    while (!(master = sim_nodes_master()) || master->core.chunks.unsettled_count || master->core.ops ||
           master->core.sessions.table.count || count_unequal(master)) {
        if (sim_now() > until)
            sim_violation("chunks do not come to rest: %zu unsettled, %zu unequal, %zu sessions",
                          master ? master->core.chunks.unsettled_count : 0, master ? count_unequal(master) : 0,
                          master ? master->core.sessions.table.count : 0);
        sim_sleep(NS_PER_S);
    }
    uint8_t *data[2] = {check_alloc(malloc(CHUNK_BYTES)), check_alloc(malloc(CHUNK_BYTES))};
    struct id_node **all = id_table_sorted(&master->core.chunks.table);
    size_t count = master->core.chunks.table.count;
    uint64_t *ids = check_alloc(calloc(count + 1, sizeof *ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = all[i]->id;
    for (size_t i = 0; i < count; i++) {
        struct chunk *chunk = chunk_table_find(&master->core.chunks, ids[i]);
        if (chunk)
            check_chunk(master, chunk, data);
    }
    free(all);
    free(ids);
    free(data[0]);
    free(data[1]);
}

/* ---- deletions ---- */

/* Whether a store has the chunk in that version or a later one. Its process may be dead: then its disk is looked at when it
 * is back, so it counts as perhaps. */
static bool others_may_have(unsigned node, uint64_t id)
{
    char folder[SIM_NAME], name[SIM_NAME];
    (void)snprintf(name, sizeof name, "%016" PRIx64, id);
    (void)snprintf(folder, sizeof folder, "%02x", (unsigned)(id & 0xff));
    for (unsigned other = SIM_SERVER_FIRST; other < SIM_SERVER_FIRST + sim_nodes_cluster()->servers; other++) {
        struct sim_entry *store = sim_vnode_entry(sim_disk_root(other), "store"), *chunks;
        if (other == node || !store || !(chunks = sim_vnode_entry(store->node, "chunks")))
            continue;
        const struct sim_listing *list = &chunks->node->now;
        for (unsigned i = 0; i < list->count; i++)
            if (list->entries[i].node->is_dir && sim_vnode_entry(list->entries[i].node, name))
                return true;
    }
    return false;
}

void checks_deletion(unsigned node, uint64_t id, uint32_t version)
{
    struct master *master = sim_nodes_master();
    struct chunk *chunk = master ? chunk_table_find(&master->core.chunks, id) : NULL;
    sim_trace("delete", id, version);
    if (!chunk || (version && version < chunk->version))
        return;
    if (!others_may_have(node, id))
        sim_violation("node %u is told to delete chunk %" PRIu64 " version %u, which is in use in version %u and nowhere else",
                      node, id, version, chunk->version);
}

int __real_store_files_delete(struct store *store, chunk_id id, uint32_t version);

SIM_WRAP(int, store_files_delete, struct store *store, chunk_id id, uint32_t version)
{
    checks_deletion(sim_node(), id, version);
    return __real_store_files_delete(store, id, version);
}
