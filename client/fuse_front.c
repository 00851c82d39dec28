/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fuse_front.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "client/ending.h"
#include "client/fuse_device.h"
#include "client/fuse_reply.h"
#include "client/fuse_uring.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

enum {
    /* Requests that may be under way at once; the rest waits in the kernel. Some may wait long, for a server that is away. */
    WORKERS_LIMIT = 256,
    WORKERS_IDLE = 16,
    BACKGROUND_LIMIT = 64, /* read-ahead and asynchronous direct requests */
    READ_AHEAD_KIB = 1024,
    OPTIONS_BYTES = 128,
};

struct front {
    struct fuse_mount mount;
    const struct fuse_front_options *options;
    struct fuse_session *session;
    pthread_t loop_thread, ready_thread;
    atomic_bool done;
};

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
    const struct fuse_mount *mount = userdata;
    conn->max_write = WIRE_IO_LIMIT;
    conn->max_read = WIRE_IO_LIMIT; /* the same as in the mount options */
    conn->max_background = BACKGROUND_LIMIT;
    conn->congestion_threshold = BACKGROUND_LIMIT * 3 / 4;
    conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
    /* Data goes through memory here, a pipe would only be one more hand-over. */
    conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
    /* Whether cached pages are still right is decided at open; asking at every read would cost a request each. */
    conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
    if (mount->exclusive)
        conn->want |= conn->capable & FUSE_CAP_WRITEBACK_CACHE;
    else
        conn->want &= ~(unsigned)FUSE_CAP_WRITEBACK_CACHE;
}

/* ---- beside the loop ---- */

/* The kernel offers 128 KiB at first, and sysfs is the only place to raise it. Read-only in most containers. */
static void raise_read_ahead(dev_t device)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(device), minor(device));
    SCOPE_FCLOSE FILE *file = fopen(path, "we");
    if (!file || fprintf(file, "%d", READ_AHEAD_KIB) < 0 || fflush(file) != 0)
        log_info("the kernel's read-ahead stays as it is: cannot write %s", path);
}

static void *announce(void *argument)
{
    struct front *front = argument;
    struct stat st;
    if (stat(front->options->mountpoint, &st) == 0 && !atomic_load(&front->done)) {
        raise_read_ahead(st.st_dev);
        fs_note_requests(front->mount.fs, fuse_uring_is_used() ? "uring" : "device");
        front->options->ready(front->options->argument);
    }
    return NULL;
}

static void do_nothing(int number)
{
    (void)number;
}

/* The loop's thread looks at its flag only when something wakes it. */
static void end_loop(void *argument)
{
    struct front *front = argument;
    fuse_session_exit(front->session);
    (void)pthread_kill(front->loop_thread, SIGUSR1);
}

static void start_threads(struct front *front)
{
    struct sigaction poke = {.sa_handler = do_nothing}; /* without SA_RESTART */
    (void)sigaction(SIGUSR1, &poke, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    front->loop_thread = pthread_self();
    ending_set_hook(end_loop, front);
    CHECK(pthread_create(&front->ready_thread, NULL, announce, front) == 0);
}

/* ---- the mount ---- */

static struct fuse_session *make_session(struct front *front)
{
    struct fuse_lowlevel_ops ops = {.init = on_init};
    fuse_names_fill(&ops);
    fuse_attrs_fill(&ops);
    fuse_files_fill(&ops);
    fuse_dirs_fill(&ops);
    fuse_locks_fill(&ops);
    char name[] = "calf-mount", o[] = "-o", text[OPTIONS_BYTES];
    (void)snprintf(text, sizeof text, "max_read=%d", WIRE_IO_LIMIT); /* the rest is said to the kernel directly */
    char *argv[] = {name, o, text, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, argv);
    struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, &front->mount);
    fuse_opt_free_args(&args);
    return session;
}

static int mount_session(struct front *front)
{
    char options[OPTIONS_BYTES];
    (void)snprintf(options, sizeof options, "default_permissions,allow_other,max_read=%d", WIRE_IO_LIMIT);
    int rc = fuse_device_mount(front->session, front->options->mountpoint, front->options->source, options,
                               front->options->uring);
    if (rc < 0)
        log_error("cannot mount at %s: %s (root and /dev/fuse are needed)", front->options->mountpoint, strerror(-rc));
    return rc;
}

static int serve(struct front *front)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    CHECK(config);
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_loop_cfg_set_idle_threads(config, WORKERS_IDLE);
    fuse_loop_cfg_set_max_threads(config, WORKERS_LIMIT);
    start_threads(front);
    int rc = fuse_session_loop_mt(front->session, config);
    fuse_loop_cfg_destroy(config);
    return rc < 0 ? rc : 0;
}

int fuse_front_run(struct fs *fs, const struct fuse_front_options *options)
{
    struct front front = {.mount = {.fs = fs, .exclusive = options->exclusive}, .options = options};
    front.session = make_session(&front);
    if (!front.session) {
        log_error("cannot set up FUSE");
        return -EIO;
    }
    front.mount.session = front.session;
    int rc = mount_session(&front);
    if (rc < 0) {
        fuse_session_destroy(front.session);
        return rc;
    }
    rc = serve(&front);
    fuse_uring_stop();
    fs_lock_end_waits(fs); /* their requests belong to the session that goes now */
    fuse_uring_join();
    ending_set_hook(NULL, NULL);
    atomic_store(&front.done, true);
    fuse_device_unmount(front.session, options->mountpoint);
    (void)pthread_join(front.ready_thread, NULL);
    fuse_session_destroy(front.session);
    return rc;
}
