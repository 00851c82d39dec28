/* SPDX-License-Identifier: Apache-2.0 */
#include "client/admin_du.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/admin_files.h"
#include "common/check.h"
#include "common/scope.h"

/* ---- files with several names ---- */

struct seen {
    ino_t *inodes; /* open addressing, a power of two; 0: free */
    size_t room, count;
};

static bool put(struct seen *seen, ino_t ino)
{
    size_t at = (size_t)(ino * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (seen->room - 1);
    for (; seen->inodes[at]; at = (at + 1) & (seen->room - 1))
        if (seen->inodes[at] == ino)
            return false;
    seen->inodes[at] = ino;
    seen->count++;
    return true;
}

/* False: it was there. */
static bool add_seen(struct seen *seen, ino_t ino)
{
    if (seen->count >= seen->room / 2) {
        struct seen larger = {.room = seen->room ? 2 * seen->room : 64};
        larger.inodes = check_alloc(calloc(larger.room, sizeof *larger.inodes));
        for (size_t i = 0; i < seen->room; i++)
            if (seen->inodes[i])
                (void)put(&larger, seen->inodes[i]);
        free(seen->inodes);
        *seen = larger;
    }
    return put(seen, ino);
}

/* ---- the walk ---- */

static void complain(const char *path, int error, struct admin_du_total *total)
{
    (void)admin_complain(ADMIN_FAILED, "%s: %s", path, strerror(error));
    total->failed++;
}

static void add_file(const FTSENT *entry, struct seen *seen, admin_du_goal *goal, void *context, struct admin_du_total *total)
{
    const struct stat *st = entry->fts_statp;
    uint64_t used = (uint64_t)st->st_blocks * 512;
    if (st->st_nlink > 1 && !add_seen(seen, st->st_ino))
        return;
    total->files++;
    if (!S_ISREG(st->st_mode))
        return;
    total->apparent_bytes += (uint64_t)st->st_size;
    total->used_bytes += used;
    int copies = used ? goal(context, entry->fts_path) : 0;
    if (copies >= 0)
        total->stored_bytes += used * (uint64_t)copies;
    else if (copies != -ENOENT)
        complain(entry->fts_path, -copies, total);
}

int admin_du_walk(const char *path, admin_du_goal *goal, void *context, struct admin_du_total *total)
{
    char *paths[] = {realpath(path, NULL), NULL};
    struct seen seen = {.inodes = NULL};
    *total = (struct admin_du_total){.files = 0};
    if (!paths[0])
        return -errno;
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    int rc = walk ? 0 : -errno;
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        switch (entry->fts_info) {
        case FTS_D:
            total->directories++;
            break;
        case FTS_DP:
            break;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            if (entry->fts_errno != ENOENT) /* removed meanwhile */
                complain(entry->fts_path, entry->fts_errno, total);
            break;
        default:
            add_file(entry, &seen, goal, context, total);
        }
    }
    if (walk)
        (void)fts_close(walk);
    free(seen.inodes);
    free(paths[0]);
    return rc;
}

/* ---- the command ---- */

static int goal_of(void *context, const char *path)
{
    (void)context;
    return admin_files_copies(path);
}

static int print(const struct admin *admin, const char *path, const struct admin_du_total *total)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    if (!admin->json) {
        fprintf(admin->out, "%s: %" PRIu64 " files, %" PRIu64 " directories; %s long, %s written, %s stored with all copies\n", path,
                total->files, total->directories, units_format_bytes(total->apparent_bytes, a),
                units_format_bytes(total->used_bytes, b), units_format_bytes(total->stored_bytes, c));
        return ADMIN_DONE;
    }
    json_t *all = json_pack("{s:I, s:I, s:I, s:I, s:I}", "files", (json_int_t)total->files, "directories",
                            (json_int_t)total->directories, "apparent_bytes", (json_int_t)total->apparent_bytes, "used_bytes",
                            (json_int_t)total->used_bytes, "stored_bytes", (json_int_t)total->stored_bytes);
    (void)json_dumpf(all, admin->out, JSON_INDENT(2));
    fputc('\n', admin->out);
    json_decref(all);
    return ADMIN_DONE;
}

int admin_du_run(const struct admin *admin, char **arguments)
{
    struct admin_du_total total;
    int status = ADMIN_DONE;
    if (admin_files_goal(arguments[0], &status) == 0)
        return status;
    int rc = admin_du_walk(arguments[0], goal_of, NULL, &total);
    if (rc < 0)
        return admin_complain(ADMIN_FAILED, "%s: %s", arguments[0], strerror(-rc));
    status = print(admin, arguments[0], &total);
    return total.failed ? ADMIN_FAILED : status;
}
