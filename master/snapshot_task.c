/* SPDX-License-Identifier: Apache-2.0 */
#include "master/snapshot_task.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "master/image.h"
#include "master/snapshot_file.h"

#define GROWN_BYTES (64 * MIB)           /* journal since the last one */
#define OLD_NS (3600 * NS_PER_S)         /* if there is anything new */
#define RETRY_NS (60 * NS_PER_S)

static int put(void *context, uint16_t section, const void *data, size_t bytes)
{
    return snapshot_put((struct snapshot_writer *)context, section, data, bytes);
}

int snapshot_task_write(const struct core *core, const char *dir, uint64_t index)
{
    struct snapshot_writer *writer;
    int rc = snapshot_begin(dir, index, &writer);
    if (rc < 0)
        return rc;
    rc = image_save(core, put, writer);
    if (rc < 0) {
        snapshot_abandon(writer);
        return rc;
    }
    return snapshot_finish(writer);
}

/* The child keeps no socket and no lock of the master, so that a new master can start while it still writes; and it
 * ends with its parent. */
static void run_child(struct master *master, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)close_range(3, ~0u, 0);
    int rc = snapshot_task_write(&master->core, master->dir, master->snapshot_next_index);
    if (rc < 0)
        log_error("snapshot in %s failed: %s", master->dir, strerror(-rc));
    _exit(rc < 0);
}

static void failed(struct master *master, const char *what, int rc)
{
    master->snapshot_failures++;
    log_error("no snapshot: %s: %s; the last good one is %lld s old; the next try in a minute", what, strerror(-rc),
              (long long)((master->now.wall_ns - master->snapshot_ns) / NS_PER_S));
    master->snapshot_retry_ns = master->now.mono_ns + RETRY_NS;
}

static void begin(struct master *master)
{
    pid_t parent = getpid();
    int rc = journal_rotate(master->journal);
    if (rc < 0) {
        failed(master, "journal", rc);
        return;
    }
    master->changed = master->need_sync = false;
    master->snapshot_next_index = journal_last_index(master->journal);
    pid_t pid = fork();
    if (pid == 0)
        run_child(master, parent);
    if (pid < 0)
        failed(master, "fork", -errno);
    else
        master->snapshot_pid = pid;
}

void snapshot_task_consider(struct master *master)
{
    uint64_t bytes = journal_bytes(master->journal);
    bool grown = bytes > master->snapshot_journal_bytes + GROWN_BYTES;
    bool old = master->now.wall_ns - master->snapshot_ns > OLD_NS &&
               journal_last_index(master->journal) > master->snapshot_index;
    if (master->snapshot_pid == 0 && (grown || old) && master->now.mono_ns >= master->snapshot_retry_ns)
        begin(master);
}

void snapshot_task_child(struct master *master)
{
    int status;
    uint64_t oldest;
    if (master->snapshot_pid == 0 || waitpid(master->snapshot_pid, &status, WNOHANG) != master->snapshot_pid)
        return;
    master->snapshot_pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        failed(master, "its process ended", -EIO);
        return;
    }
    master->snapshot_failures = 0;
    master->snapshot_index = master->snapshot_next_index;
    master->snapshot_ns = clock_wall_ns();
    log_info("snapshot up to record %llu is written", (unsigned long long)master->snapshot_index);
    int rc = snapshot_oldest(master->dir, &oldest);
    if (rc == 0)
        rc = journal_drop_before(master->journal, oldest + 1);
    if (rc < 0)
        log_warning("old journals in %s could not be removed: %s", master->dir, strerror(-rc));
    master->snapshot_journal_bytes = journal_bytes(master->journal);
}
