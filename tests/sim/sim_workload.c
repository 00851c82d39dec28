/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/fs.h"
#include "common/check.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_nodes.h"

enum { ROOT = 1, FILES = 4, RECORD_LIMIT = 6000, WRITE_LIMIT = 48 * 1024 };

struct open_one {
    struct ledger_file *file; /* NULL: none */
    struct fs_handle *handle; /* NULL: closed */
};

struct client {
    struct fs *fs;
    unsigned node;
    uint64_t dir;
    bool done;
    const char *doing;
    struct open_one files[FILES];
    struct fs_handle *shared;
};

bool workload_ready, workload_stopping;
static bool errors_excused;
static struct client clients[SIM_NODES];
static uint64_t dirs[SIM_NODES];
static const struct fs_owner owner = {0, 0};

bool workload_is_done(unsigned node)
{
    return clients[node].done;
}

const char *workload_doing(unsigned node)
{
    return clients[node].doing ? clients[node].doing : "nothing yet";
}

void workload_excuse_errors(void)
{
    errors_excused = true;
}

void workload_was_killed(unsigned node)
{
    for (struct ledger_file *file = ledger_files; file; file = file->next)
        if (file->client == node)
            file->retired = true;
    clients[node] = (struct client){.node = node};
}

/* What was asked for failed: then it may have happened or not. */
static void failed(const struct client *c, struct ledger_file *file, int64_t rc)
{
    if (!errors_excused)
        sim_violation("client %u: %s%s%s failed: %s", c->node, c->doing, file ? " of " : "", file ? file->name : "",
                      rc < 0 ? strerror((int)-rc) : "short count");
    if (file)
        file->retired = true;
}

static void say(struct client *c, const char *doing, const struct ledger_file *file, uint64_t b)
{
    c->doing = doing;
    sim_trace(doing, file ? file->ino : 0, b);
}

/* ---- own files ---- */

static void create_file(struct client *c, struct open_one *one)
{
    static unsigned number;
    char name[LEDGER_NAME];
    struct wire_attr attr;
    (void)snprintf(name, sizeof name, "f%u.%u", c->node, ++number);
    struct ledger_file *file = ledger_create(c->node, name);
    say(c, "create", file, number);
    int rc = fs_create(c->fs, c->dir, name, 0644, WIRE_OPEN_EXCLUSIVE, owner, &attr, &one->handle);
    if (rc < 0) {
        one->handle = NULL;
        failed(c, file, rc);
        return;
    }
    file->ino = attr.ino;
    file->moves++;
    one->file = file;
}

static void open_file(struct client *c, struct open_one *one)
{
    say(c, "open", one->file, 0);
    int rc = fs_open(c->fs, one->file->ino, 0, &one->handle, NULL);
    if (rc < 0) {
        one->handle = NULL;
        failed(c, one->file, rc);
    }
}

static void close_file(struct client *c, struct open_one *one)
{
    say(c, "close", one->file, 0);
    int rc = fs_flush(c->fs, one->handle);
    if (rc < 0)
        failed(c, one->file, rc);
    else
        ledger_closed(one->file);
    fs_release(c->fs, one->handle);
    one->handle = NULL;
}

static uint32_t choose_length(void)
{
    switch (sim_below(4)) {
    case 0:
        return 1 + (uint32_t)sim_below(300);
    case 1:
        return 4096 * (1 + (uint32_t)sim_below(4));
    case 2:
        return 1 + (uint32_t)sim_below(9000);
    }
    return 1 + (uint32_t)sim_below(WRITE_LIMIT);
}

static void write_file(struct client *c, struct open_one *one)
{
    struct ledger_file *file = one->file;
    uint32_t length = choose_length(), offset = file->now.length;
    if (sim_chance(400))
        offset = (uint32_t)sim_below(file->now.length + 1);
    else if (sim_chance(200))
        offset += (uint32_t)sim_below(30000);
    if (offset + length > LEDGER_FILE_LIMIT)
        return;
    uint8_t *data = check_alloc(malloc(length));
    uint32_t number = file->op_count;
    ledger_fill(ledger_begin(file, LEDGER_WRITE, offset, length)->stamp, data, length);
    say(c, "write", file, (uint64_t)offset << 32 | length);
    int64_t rc = sim_chance(500) ? fs_write(c->fs, one->handle, offset, data, length)
                                 : fs_write_behind(c->fs, one->handle, offset, data, length);
    free(data);
    if (rc == (int64_t)length)
        ledger_end(file, number);
    else
        failed(c, file, rc);
}

static void truncate_file(struct client *c, struct open_one *one)
{
    struct ledger_file *file = one->file;
    struct wire_attr attr;
    uint32_t length = (uint32_t)sim_below(sim_chance(700) ? file->now.length + 1 : LEDGER_FILE_LIMIT);
    uint32_t number = file->op_count;
    (void)ledger_begin(file, LEDGER_TRUNCATE, 0, length);
    say(c, "truncate", file, length);
    struct wire_setattr change = {.ino = file->ino, .valid = WIRE_SET_SIZE, .size = length};
    int rc = fs_setattr(c->fs, &change, &attr);
    if (rc < 0)
        failed(c, file, rc);
    else
        ledger_end(file, number);
}

static void sync_file(struct client *c, struct open_one *one)
{
    say(c, "fsync", one->file, 0);
    int rc = fs_fsync(c->fs, one->handle);
    if (rc < 0)
        failed(c, one->file, rc);
    else
        ledger_synced(one->file);
}

static void read_own(struct client *c, struct open_one *one)
{
    struct ledger_file *file = one->file;
    const struct ledger_state *base =
        file->power_losses == ledger_power_losses ? &file->now : ledger_certain(file);
    uint32_t offset = (uint32_t)sim_below(file->now.length + 1), wanted = choose_length();
    const uint8_t *data = NULL;
    say(c, "read", file, offset);
    int got = fs_read(c->fs, one->handle, offset, wanted, &data);
    if (got < 0) {
        failed(c, file, got);
        return;
    }
    const char *wrong = ledger_judge(file, base, offset, wanted, data, (uint32_t)got);
    if (wrong)
        sim_violation("client %u reads its own file: %s", c->node, wrong);
}

static void rename_file(struct client *c, struct open_one *one)
{
    static unsigned number;
    struct ledger_file *file = one->file, *target = NULL;
    const struct open_one *other = &c->files[sim_below(FILES)];
    if (sim_chance(500) && other->file && other->file != file && !other->file->retired && !other->file->gone &&
        !other->handle)
        target = other->file;
    if (target)
        (void)snprintf(file->other_name, sizeof file->other_name, "%s", target->name);
    else
        (void)snprintf(file->other_name, sizeof file->other_name, "r%u.%u", c->node, ++number);
    file->moves++;
    if (target) {
        target->maybe_gone = true;
        target->moves++;
    }
    say(c, "rename", file, target ? target->ino : 0);
    int rc = fs_rename(c->fs, c->dir, file->name, c->dir, file->other_name, 0);
    if (rc < 0) {
        failed(c, file, rc);
        if (target)
            target->retired = true;
        return;
    }
    memcpy(file->name, file->other_name, LEDGER_NAME);
    file->other_name[0] = '\0';
    file->moves++;
    if (target) {
        target->gone = true;
        target->moves++;
    }
}

static void unlink_file(struct client *c, struct open_one *one)
{
    struct ledger_file *file = one->file;
    file->maybe_gone = true;
    file->moves++;
    say(c, "unlink", file, 0);
    int rc = fs_unlink(c->fs, c->dir, file->name);
    if (rc < 0)
        failed(c, file, rc);
    else
        file->gone = true;
    file->moves++;
}

/* ---- other clients' files ---- */

static struct ledger_file *choose_file(void)
{
    struct ledger_file *chosen = NULL;
    uint64_t seen = 0;
    for (struct ledger_file *file = ledger_files; file; file = file->next)
        if (file->ino && !file->gone && sim_below(++seen) == 0)
            chosen = file;
    return chosen;
}

static void judge_other(struct client *c, const struct ledger_file *file, const struct ledger_state *base,
                        struct fs_handle *handle)
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t offset = i ? (uint32_t)sim_below(base->length + 1) : 0, wanted = choose_length();
        uint32_t losses = ledger_power_losses;
        const uint8_t *data = NULL;
        int got = fs_read(c->fs, handle, offset, wanted, &data);
        if (got < 0) {
            failed(c, NULL, got);
            return;
        }
        const char *wrong = losses == ledger_power_losses ? ledger_judge(file, base, offset, wanted, data, (uint32_t)got)
                                                          : NULL;
        if (wrong)
            sim_violation("client %u reads a file of client %u: %s", c->node, file->client, wrong);
    }
}

static void read_other(struct client *c)
{
    struct ledger_file *file = choose_file();
    struct wire_attr attr;
    struct fs_handle *handle;
    if (!file)
        return;
    uint32_t moves = file->moves, losses = ledger_power_losses;
    bool stable = !file->maybe_gone && !file->other_name[0];
    char name[LEDGER_NAME]; /* its client may rename the file while this one waits for the master */
    memcpy(name, file->name, sizeof name);
    say(c, "read-other", file, file->client);
    int rc = fs_lookup(c->fs, dirs[file->client], name, &attr);
    if (rc == 0 && attr.ino != file->ino) {
        if (stable && moves == file->moves)
            sim_violation("%s is inode %llu, not %llu", name, (unsigned long long)attr.ino,
                          (unsigned long long)file->ino);
        return;
    }
    struct ledger_state base = ledger_copy(ledger_certain(file));
    if (rc == 0)
        rc = fs_open(c->fs, file->ino, 0, &handle, NULL);
    if (rc == 0) {
        if (losses == ledger_power_losses)
            judge_other(c, file, &base, handle);
        fs_release(c->fs, handle);
    } else if (rc != -ENOENT && rc != -ESTALE) {
        failed(c, NULL, rc);
    } else if (stable && moves == file->moves) {
        sim_violation("client %u does not find %s of client %u", c->node, name, file->client);
    }
    ledger_drop(&base);
}

/* ---- the shared file ---- */

static void append(struct client *c)
{
    uint32_t length = 1 + (uint32_t)sim_below(sim_chance(800) ? 400 : RECORD_LIMIT), number = ledger_appends.count++;
    uint8_t data[RECORD_LIMIT];
    ledger_appends.records = check_alloc(
        realloc(ledger_appends.records, ledger_appends.count * sizeof *ledger_appends.records));
    uint32_t stamp = ledger_stamp();
    ledger_appends.records[number] = (struct ledger_record){.stamp = stamp, .length = length};
    ledger_fill(stamp, data, length);
    say(c, "append", NULL, length);
    uint64_t at = 0;
    int64_t rc = fs_append(c->fs, c->shared, data, length, &at);
    if (rc == (int64_t)length)
        rc = fs_fsync(c->fs, c->shared) < 0 ? -EIO : rc;
    if (rc != (int64_t)length) {
        failed(c, NULL, rc);
        return;
    }
    ledger_appends.records[number].at = at;
    ledger_appends.records[number].done = true;
}

/* ---- a client's life ---- */

static void work_on(struct client *c, struct open_one *one)
{
    if (!one->file || one->file->gone || (one->file->retired && !one->handle)) {
        if (one->handle)
            fs_release(c->fs, one->handle);
        *one = (struct open_one){0};
        create_file(c, one);
        return;
    }
    if (one->file->retired) {
        fs_release(c->fs, one->handle);
        *one = (struct open_one){0};
        return;
    }
    if (!one->handle) {
        uint64_t what = sim_below(10);
        if (what == 0)
            unlink_file(c, one);
        else if (what <= 2)
            rename_file(c, one);
        else
            open_file(c, one);
        return;
    }
    uint64_t what = sim_below(100);
    if (what < 45)
        write_file(c, one);
    else if (what < 60)
        read_own(c, one);
    else if (what < 70)
        truncate_file(c, one);
    else if (what < 80)
        sync_file(c, one);
    else if (what < 84)
        rename_file(c, one);
    else
        close_file(c, one);
}

static void finish(struct client *c)
{
    for (unsigned i = 0; i < FILES; i++)
        if (c->files[i].handle) {
            if (!c->files[i].file->retired)
                sync_file(c, &c->files[i]);
            close_file(c, &c->files[i]);
        }
    if (c->shared)
        fs_release(c->fs, c->shared);
    c->doing = "unmount";
    fs_unmount(c->fs);
    c->doing = "done";
    c->done = true;
}

static bool begin(struct client *c)
{
    c->doing = "mount";
    int rc = sim_nodes_mount(&c->fs);
    if (rc < 0) {
        failed(c, NULL, rc);
        return false;
    }
    c->doing = "open of the shared file";
    rc = fs_open(c->fs, ledger_appends.ino, 0, &c->shared, NULL);
    if (rc < 0) {
        c->shared = NULL;
        failed(c, NULL, rc);
    }
    return true;
}

void *workload_run(void *argument)
{
    struct client *c = &clients[sim_node()];
    *c = (struct client){.node = sim_node(), .dir = dirs[sim_node()]};
    if (!begin(c)) {
        c->done = true;
        return argument;
    }
    while (!workload_stopping) {
        uint64_t what = sim_below(100);
        if (what < 70)
            work_on(c, &c->files[sim_below(FILES)]);
        else if (what < 85)
            read_other(c);
        else if (c->shared)
            append(c);
        ledger_operations++;
        if (sim_chance(300))
            sim_sleep((int64_t)sim_below(sim_chance(50) ? 4 * NS_PER_S : 300 * NS_PER_MS));
    }
    finish(c);
    return argument;
}

void *workload_set_up(void *argument)
{
    struct client c = {.node = sim_node(), .doing = "set-up"};
    struct wire_attr attr;
    struct fs_handle *handle;
    char text[24];
    int rc = sim_nodes_mount(&c.fs);
    (void)snprintf(text, sizeof text, "%u", sim_nodes_cluster()->goal);
    if (rc == 0)
        rc = fs_setxattr(c.fs, ROOT, "user.calf.goal", text, strlen(text), 0);
    for (unsigned i = 0; rc == 0 && i < sim_nodes_cluster()->clients; i++) {
        (void)snprintf(text, sizeof text, "c%u", SIM_CLIENT_FIRST + i);
        rc = fs_mknod(c.fs, ROOT, text, S_IFDIR | 0755, 0, owner, &attr);
        dirs[SIM_CLIENT_FIRST + i] = attr.ino;
    }
    if (rc == 0)
        rc = fs_create(c.fs, ROOT, "shared", 0644, 0, owner, &attr, &handle);
    if (rc < 0)
        failed(&c, NULL, rc);
    ledger_appends.ino = attr.ino;
    fs_release(c.fs, handle);
    fs_unmount(c.fs);
    workload_ready = true;
    return argument;
}
