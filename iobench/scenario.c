/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/scenario.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/check.h"
#include "common/units.h"
#include "iobench/fill_data.h"
#include "iobench/served_counters.h"
#include "iobench/text_print.h"

#define MOUNT_TABLE "/proc/self/mountinfo"
#define CALF_FS_TYPE "fuse.calf"

static bool is_calf_mount_at(const struct mount_entry *mount, const char *directory)
{
    return strcmp(mount->point, directory) == 0 &&
           strncmp(mount->fs_type, CALF_FS_TYPE, strlen(CALF_FS_TYPE)) == 0;
}

bool scenario_is_mounted(const struct scenario *s)
{
    /* Not realpath, which would ask the file system itself: a dead mount is still one that must be looked at. */
    struct mount_entry mount;
    return mount_table_find(MOUNT_TABLE, s->info->directory, &mount) == 0 &&
           is_calf_mount_at(&mount, s->info->directory);
}

static int refuse_unmounted(const struct scenario *s, char why[SCENARIO_WHY])
{
    struct mount_entry mount;
    if (mount_table_find(MOUNT_TABLE, s->info->directory, &mount) < 0)
        text_print(mount.fs_type, sizeof mount.fs_type, "unknown");
    text_print(why, SCENARIO_WHY,
               "scenario %s: no calf mount at %s (it would measure the %s below): start it with "
               "'docker/cluster.sh up %s', or add --up",
               s->info->name, s->info->directory, mount.fs_type, s->info->name);
    return -EINVAL;
}

static int refuse_directory(const struct scenario *s, int error, char why[SCENARIO_WHY])
{
    text_print(why, SCENARIO_WHY, "scenario %s: %s: %s%s", s->info->name, s->info->directory, strerror(error),
               error == ENOTCONN
                   ? " (a mount whose program has ended: 'docker/cluster.sh down' it and start it again)"
               : error == ENOENT ? " (give an existing directory, or start the scenario with docker/cluster.sh up)"
                                 : "");
    return -EINVAL;
}

/* Every mount that workers are to be spread over is one. */
static int check_instances(const struct scenario *s, char why[SCENARIO_WHY])
{
    char point[RESULT_TEXT + 16];
    struct mount_entry mount;
    for (uint32_t i = 2; i <= s->instances; i++) {
        text_print(point, sizeof point, "%s%u", s->info->directory, i);
        if (mount_table_find(MOUNT_TABLE, point, &mount) == 0 && is_calf_mount_at(&mount, point))
            continue;
        text_print(why, SCENARIO_WHY, "scenario %s: --clients %u, but no calf mount at %s: start it with "
                   "'docker/cluster.sh up %s --clients %u', or add --up", s->info->name, s->instances, point,
                   s->info->name, s->instances);
        return -EINVAL;
    }
    return 0;
}

static int take_real_path(struct scenario *s, char why[SCENARIO_WHY])
{
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(s->info->directory, real) || stat(real, &st) < 0)
        return refuse_directory(s, errno, why);
    if (!S_ISDIR(st.st_mode))
        return refuse_directory(s, ENOTDIR, why);
    if (strlen(real) >= sizeof s->info->directory)
        return refuse_directory(s, ENAMETOOLONG, why);
    text_print(s->info->directory, sizeof s->info->directory, "%s", real);
    text_print(s->info->device, sizeof s->info->device, "%u:%u", major(st.st_dev), minor(st.st_dev));
    return 0;
}

static void find_disk(struct scenario_info *info)
{
    char path[RESULT_NAME + 32], target[PATH_MAX];
    text_print(path, sizeof path, "/sys/dev/block/%s", info->device);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(target, '/');
    text_print(info->disk, sizeof info->disk, "%.*s", RESULT_NAME - 1, slash ? slash + 1 : "");
}

int scenario_inspect(struct scenario *s, char why[SCENARIO_WHY])
{
    struct mount_entry mount;
    if (s->by_name && !scenario_is_mounted(s))
        return refuse_unmounted(s, why);
    int rc = check_instances(s, why);
    if (rc == 0)
        rc = take_real_path(s, why);
    if (rc < 0)
        return rc;
    rc = mount_table_find(MOUNT_TABLE, s->info->directory, &mount);
    if (rc < 0)
        return refuse_directory(s, -rc, why);
    text_print(s->mount_point, sizeof s->mount_point, "%s", mount.point);
    text_print(s->info->fs_type, sizeof s->info->fs_type, "%s", mount.fs_type);
    text_print(s->info->mount_source, sizeof s->info->mount_source, "%s", mount.source);
    text_print(s->info->mount_options, sizeof s->info->mount_options, "%.*s", (int)sizeof s->info->mount_options - 1, mount.options);
    find_disk(s->info);
    struct served_counters counters;
    served_counters_read(s->mount_point, &counters);
    text_print(s->info->journal_mode, sizeof s->info->journal_mode, "%s", counters.journal_mode);
    text_print(s->info->transport, sizeof s->info->transport, "%s", counters.transport);
    text_print(s->info->fuse, sizeof s->info->fuse, "%s", counters.fuse);
    text_print(s->info->binary_hash, sizeof s->info->binary_hash, "%s", counters.binary_hash);
    /* cluster.sh keeps the processes' list beside the mount. */
    const char *slash = strrchr(s->mount_point, '/');
    if (slash && strlen(s->mount_point) < RESULT_TEXT)
        text_print(s->pids_path, sizeof s->pids_path, "%.*s/pids", (int)(slash - s->mount_point), s->mount_point);
    return 0;
}

bool scenario_same_device(const struct scenario *a, const struct scenario *b)
{
    return !a->info->a_a_arm && !b->info->a_a_arm && strcmp(a->info->device, b->info->device) == 0;
}

/* One block written and read as the sweep will, so that a file system that cannot is found before the sweep, not in it. */
static int probe_engine(const struct scenario *s, const struct engine *engine, bool direct, uint64_t block_bytes,
                        const char **failed_call)
{
    struct engine_open how = {.path = s->written.paths[0], .create = true, .write = true, .direct = direct, .depth = 1,
                              .end_bytes = block_bytes};
    struct engine_file *file;
    void *block = NULL;
    if (posix_memalign(&block, FILL_ALIGNMENT, (size_t)block_bytes) != 0)
        return -ENOMEM;
    memset(block, 0, (size_t)block_bytes);
    *failed_call = "open";
    int rc = engine->open(&how, &file);
    if (rc == 0) {
        *failed_call = "write";
        rc = engine->write(file, block, (size_t)block_bytes, 0);
        int closed = engine->close(file);
        rc = rc < 0 ? rc : closed;
    }
    how.create = how.write = false;
    if (rc == 0 && (rc = engine->open(&how, &file)) == 0) {
        *failed_call = "read";
        rc = engine->read(file, block, (size_t)block_bytes, 0);
        (void)engine->close(file);
    }
    (void)unlink(how.path);
    free(block);
    return rc;
}

/* A file system keeps something for itself (calf: headers and checksums of chunks). */
static int check_space(const struct scenario *s, uint64_t data_bytes, char why[SCENARIO_WHY])
{
    uint64_t needed_bytes = data_bytes + data_bytes / 64;
    struct statvfs fs;
    char needed[UNITS_TEXT], free_text[UNITS_TEXT];
    /* A file system that reports no size (0 blocks) does not say what is free either. */
    if (statvfs(s->run_directory, &fs) < 0 || fs.f_blocks == 0)
        return 0;
    uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (free_bytes >= needed_bytes)
        return 0;
    text_print(why, SCENARIO_WHY,
               "scenario %s: %s has %s free, the sweep needs %s: choose a smaller --size, fewer --threads%s",
               s->info->name, s->info->directory, units_format_bytes(free_bytes, free_text),
               units_format_bytes(needed_bytes, needed),
               s->by_name ? ", or larger chunkservers (--cluster-size with --up)" : ", or another directory");
    return -ENOSPC;
}

int scenario_attach(struct scenario *s, uint64_t seed, uint64_t needed_bytes, const struct engine *engine,
                    bool direct, uint64_t block_bytes, char why[SCENARIO_WHY])
{
    text_print(s->run_directory, sizeof s->run_directory, "%s/iobench.%llu.%s",
               strcmp(s->info->directory, "/") == 0 ? "" : s->info->directory, (unsigned long long)seed,
               s->info->name);
    CHECK(strlen(s->run_directory) + 1 < sizeof s->run_directory);
    if (mkdir(s->run_directory, 0700) < 0 && errno != EEXIST) {
        int error = errno;
        text_print(why, SCENARIO_WHY, "scenario %s: cannot make %s: %s", s->info->name, s->run_directory,
                   strerror(error));
        return -error;
    }
    s->attached = true;
    file_set_sweep_directory(s->run_directory);
    file_set_init(&s->prepared, s->run_directory, 'f', 0);
    file_set_init(&s->written, s->run_directory, 'w', FILE_SET_FILES);
    file_set_init(&s->names, s->run_directory, 'd', 2 * FILE_SET_FILES);
    struct file_set *sets[] = {&s->prepared, &s->written, &s->names};
    for (unsigned i = 0; i < sizeof sets / sizeof sets[0] && s->instances > 1; i++)
        file_set_spread(sets[i], s->info->directory, s->instances);
    int rc = check_space(s, needed_bytes, why);
    if (rc < 0 || (!direct && !engine->outside_kernel))
        return rc;
    const char *call = "";
    rc = probe_engine(s, engine, direct, block_bytes, &call);
    char block[UNITS_TEXT];
    if (rc < 0 && engine->outside_kernel)
        text_print(why, SCENARIO_WHY, "scenario %s: the engine %s cannot use %s (%s, %s): %s: %s%s", s->info->name, engine->name,
                   s->info->directory, s->info->fs_type, s->info->mount_source, call, strerror(-rc),
                   rc == -EOPNOTSUPP ? " (it needs a calf mount, and the master's address as its source)" : "");
    else if (rc < 0)
        text_print(
            why, SCENARIO_WHY,
            "scenario %s: %s (%s) refuses O_DIRECT with blocks of %s (%s: %s): use --cache cold, or larger blocks",
            s->info->name, s->info->directory, s->info->fs_type, units_format_size(block_bytes, block), call,
            strerror(-rc));
    return rc;
}

int scenario_detach(struct scenario *s)
{
    if (!s->attached || s->keep_files)
        return 0;
    file_set_sweep_directory(s->run_directory);
    if (rmdir(s->run_directory) < 0)
        return -errno;
    s->attached = false;
    return 0;
}
