/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/fs_calls.h"
#include "client/fs_state.h"
#include "common/check.h"

/* Cookies 1 and 2 stand behind "." and ".."; those of the master are shifted behind them. */
enum { COOKIE_DOT = 1, COOKIE_DOT_DOT = 2, COOKIE_SHIFT = 2 };

struct fs_dir {
    uint64_t ino;
    uint64_t parent; /* 0: not asked yet */

    /* The entries that came last from the master, and where we are in them. */
    uint8_t *batch;
    size_t batch_room;
    struct wire_list here, one_back; /* what is left, now and before the last entry was handed out */
    uint64_t cookie, cookie_back;    /* that lead to those; 0: nothing is there */
    bool end;                        /* nothing follows the batch */
    uint64_t before;                 /* it was asked for; see xattr_absence.h */
    uint32_t anew;                   /* what is here is not to be used; so many are asked for; 0: it is */

    char name[WIRE_NAME_LIMIT + 1];
};

int fs_opendir(struct fs *fs, uint64_t ino, struct fs_dir **dir)
{
    (void)fs;
    struct fs_dir *made = check_alloc(calloc(1, sizeof *made));
    made->ino = ino;
    *dir = made;
    return 0;
}

void fs_readdir_anew(struct fs_dir *dir, uint32_t entries)
{
    dir->anew = entries < WIRE_DIRENTS_LIMIT ? entries : WIRE_DIRENTS_LIMIT;
}

void fs_releasedir(struct fs_dir *dir)
{
    free(dir->batch);
    free(dir);
}

/* Gets the entries after the cookie. */
static int fetch(struct fs *fs, struct fs_dir *dir, uint64_t cookie)
{
    struct master_call call;
    uint32_t limit = dir->anew ? dir->anew : WIRE_DIRENTS_LIMIT;
    union wire_any request = {.readdir = {.ino = dir->ino, .cookie = cookie - COOKIE_SHIFT, .max_entries = limit}};
    dir->before = xattr_absence_before(fs->no_xattrs);
    int rc = fs_calls_make(fs, WIRE_TYPE_readdir, &request, &call);
    if (rc < 0)
        return rc;
    const struct wire_readdir_reply *reply = &call.reply.readdir_reply;
    if (dir->batch_room < reply->entries.length) {
        dir->batch_room = reply->entries.length;
        dir->batch = check_alloc(realloc(dir->batch, dir->batch_room));
    }
    if (reply->entries.length)
        memcpy(dir->batch, reply->entries.data, reply->entries.length);
    dir->here = reply->entries;
    dir->here.data = dir->batch;
    dir->cookie = cookie;
    dir->cookie_back = 0;
    dir->parent = reply->parent;
    dir->end = reply->end != 0;
    dir->anew = 0;
    master_session_finish(fs->session, &call);
    return 0;
}

static int dot(struct fs *fs, struct fs_dir *dir, uint64_t cookie, struct fs_entry *entry)
{
    int rc = 0;
    if (cookie == 0 || dir->parent == 0)
        rc = fetch(fs, dir, COOKIE_DOT_DOT); /* from the start is from anew */
    entry->attr = (struct wire_attr){.ino = cookie == 0 ? dir->ino : dir->parent, .mode = S_IFDIR};
    entry->name = cookie == 0 ? "." : "..";
    entry->cookie = cookie == 0 ? COOKIE_DOT : COOKIE_DOT_DOT;
    return rc < 0 ? rc : 1;
}

int fs_readdir(struct fs *fs, struct fs_dir *dir, uint64_t cookie, struct fs_entry *entry)
{
    if (cookie < COOKIE_DOT_DOT)
        return dot(fs, dir, cookie, entry);
    if (cookie == dir->cookie_back && cookie != dir->cookie && !dir->anew) {
        dir->here = dir->one_back;
        dir->cookie = cookie;
    }
    if (dir->anew || cookie != dir->cookie || (dir->here.count == 0 && !dir->end)) {
        int rc = fetch(fs, dir, cookie);
        if (rc < 0)
            return rc;
    }
    struct wire_dirent next;
    dir->one_back = dir->here;
    if (!wire_next_dirent(&dir->here, &next))
        return 0;
    if (!wire_copy_text(next.name, dir->name, sizeof dir->name))
        return -EIO;
    dir->cookie_back = cookie;
    dir->cookie = next.cookie + COOKIE_SHIFT;
    entry->cookie = dir->cookie;
    entry->name = dir->name;
    entry->attr = next.attr;
    xattr_absence_note(fs->no_xattrs, dir->before, &entry->attr); /* of no effect for what was asked for earlier */
    open_files_overlay(fs->files, &entry->attr);
    return 1;
}
