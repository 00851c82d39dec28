/* SPDX-License-Identifier: Apache-2.0
 *
 * calf-mount: options, the mount point, the way into the background. Everything else is fs.h and fuse_front.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/ending.h"
#include "client/fs.h"
#include "client/fuse_front.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/options.h"
#include "common/shared_memory.h"

enum { DONE = 0, FAILED = 1, WRONG = 2 };
enum { URING_AUTO, URING_OFF };

struct command_line {
    struct address master;
    bool exclusive, foreground;
    uint64_t retry_s, wait_s;
    unsigned level, uring;
    const char *shm;
    char shm_full[SHARED_MEMORY_DIRECTORY_LIMIT + 1];
    char mountpoint[PATH_MAX];
};

static int read_command_line(int argc, char **argv, struct command_line *line)
{
    *line = (struct command_line){.master = {.host = "127.0.0.1", .port = 9421}, .retry_s = 60, .wait_s = 60, .level = LOG_INFO};
    const struct option_row rows[] = {
        {.name = "master", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .target = &line->master,
         .help = "where the master listens for clients; default 127.0.0.1:9421"},
        {.name = "exclusive", .kind = OPTION_FLAG, .target = &line->exclusive,
         .help = "be the cluster's only client, and let the kernel cache writes"},
        {.name = "shm", .kind = OPTION_TEXT, .argument = "DIR", .target = &line->shm,
         .help = "share memory with chunkservers on this machine that name the same directory; others are reached by TCP"},
        {.name = "retry", .kind = OPTION_NUMBER, .argument = "SECONDS", .target = &line->retry_s, .min = 1, .max = 86400,
         .help = "how long an operation tries to reach the cluster before it fails; default 60"},
        {.name = "wait", .kind = OPTION_NUMBER, .argument = "SECONDS", .target = &line->wait_s, .max = 86400,
         .help = "how long to wait for a master that does not answer when mounting; 0: for ever; default 60"},
        {.name = "uring", .kind = OPTION_CHOICE, .argument = "auto|off", .target = &line->uring,
         .help = "auto, the default: requests come by io_uring if the kernel offers it; off: by /dev/fuse alone"},
        {.name = "log", .kind = OPTION_CHOICE, .argument = "error|warning|info|debug", .target = &line->level,
         .help = "what is logged; default info"},
        {.name = "foreground", .letter = 'f', .kind = OPTION_FLAG, .target = &line->foreground,
         .help = "stay in the foreground; else return when the mount answers"},
        {.name = NULL},
    };
    const struct options options = {
        .program = "calf-mount",
        .usage = "--master HOST:PORT [--exclusive] MOUNTPOINT [-f]",
        .about = "Mounts a calf cluster at MOUNTPOINT, an empty directory, until it is unmounted (umount MOUNTPOINT) or gets\n"
                 "SIGTERM. Waits for a master that does not answer yet. Needs root and /dev/fuse.",
        .closing = "Exit status: 0 done, 1 failed or refused by the master, 2 wrong usage.",
        .rows = rows,
        .positional_min = 1,
        .positional_max = 1,
    };
    char **positional;
    int rc = options_parse(&options, argc, argv, &positional);
    if (rc != OPTIONS_GO_ON)
        return rc;
    if (line->shm && !shared_memory_directory("calf-mount", line->shm, line->shm_full))
        return OPTIONS_WRONG;
    struct stat st;
    if (!realpath(positional[0], line->mountpoint) || stat(line->mountpoint, &st) < 0) {
        fprintf(stderr, "calf-mount: %s: %s%s\n", positional[0], strerror(errno),
                errno == ENOTCONN ? " (a dead mount is in the way: umount it)" : "");
        return OPTIONS_WRONG;
    }
    if (!S_ISDIR(st.st_mode)) {
        fprintf(stderr, "calf-mount: %s: not a directory\n", positional[0]);
        return OPTIONS_WRONG;
    }
    return OPTIONS_GO_ON;
}

/* ---- the background ---- */

static int ready_pipe = -1; /* to the process that was started; -1: nobody waits */

/* The parent waits until the child says that the mount answers, or ends without having said so. Returns in the child. */
static void go_to_background(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        log_error("cannot go to the background: %s", strerror(errno));
        exit(FAILED);
    }
    pid_t child = fork();
    if (child < 0) {
        log_error("cannot go to the background: %s", strerror(errno));
        exit(FAILED);
    }
    if (child == 0) {
        (void)close(ends[0]);
        (void)setsid();
        ready_pipe = ends[1];
        return;
    }
    (void)close(ends[1]);
    char byte;
    ssize_t n;
    do {
        n = read(ends[0], &byte, 1);
    } while (n < 0 && errno == EINTR);
    int status = 0;
    if (n != 1 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != DONE)
        exit(WEXITSTATUS(status));
    exit(n == 1 ? DONE : FAILED);
}

/* Lets go of the terminal. A log that was sent to a file stays there. */
static void detach_output(void)
{
    struct stat st;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    if (fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
        (void)dup2(null, STDERR_FILENO);
    (void)close(null);
}

static void on_ready(void *argument)
{
    const struct command_line *line = argument;
    char text[ADDRESS_TEXT];
    log_info("mounted %s at %s", units_format_address(&line->master, text), line->mountpoint);
    if (ready_pipe < 0)
        return;
    if (write(ready_pipe, "", 1) != 1)
        log_warning("nobody waits for this mount any more");
    detach_output();
    (void)close(ready_pipe);
}

/* ---- main ---- */

static int mount_and_serve(struct command_line *line)
{
    char node[256] = "", source[ADDRESS_TEXT + 8], address[ADDRESS_TEXT];
    (void)gethostname(node, sizeof node - 1);
    (void)snprintf(source, sizeof source, "calf@%s", units_format_address(&line->master, address));
    struct fs_options options = {.master = line->master,
                                 .exclusive = line->exclusive,
                                 .retry_ns = (int64_t)line->retry_s * NS_PER_S,
                                 .shm_directory = line->shm ? line->shm_full : NULL,
                                 .wait_ns = (int64_t)line->wait_s * NS_PER_S,
                                 .node = node};
    struct fs *fs;
    if (fs_mount(&options, &fs) < 0)
        return FAILED;
    struct fuse_front_options front = {.mountpoint = line->mountpoint,
                                       .source = source,
                                       .exclusive = line->exclusive,
                                       .uring = line->uring == URING_AUTO,
                                       .ready = on_ready,
                                       .argument = line};
    int rc = fuse_front_run(fs, &front);
    fs_unmount(fs);
    return rc < 0 ? FAILED : DONE;
}

int main(int argc, char **argv)
{
    struct command_line line;
    int rc = read_command_line(argc, argv, &line);
    if (rc != OPTIONS_GO_ON)
        return rc == OPTIONS_DONE ? DONE : WRONG;
    log_init("calf-mount", (enum log_level)line.level);
    if (!line.foreground)
        go_to_background();
    ending_start();
    if (!line.foreground && chdir("/") < 0)
        log_warning("cannot leave the present directory: %s", strerror(errno));
    rc = mount_and_serve(&line);
    ending_stop();
    return rc;
}
