/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "iobench/interrupt.h"

#define POLL_NS (20 * NS_PER_MS)
/* cluster.sh takes down what it started, which lasts longer than a few seconds on a busy machine. */
#define TERM_GRACE_NS (30 * NS_PER_S)

/* In the child. A failed exec is reported through report_fd, which a successful one closes. */
static void become(char *const argv[], int output_fd, bool quiet, int report_fd)
{
    (void)setpgid(0, 0);
    interrupt_restore_child();
    int null = open("/dev/null", O_RDWR);
    if (null >= 0)
        (void)dup2(null, STDIN_FILENO);
    (void)dup2(output_fd, STDOUT_FILENO);
    if (quiet && null >= 0)
        (void)dup2(null, STDERR_FILENO);
    (void)execvp(argv[0], argv);
    int error = errno;
    ssize_t ignored = write(report_fd, &error, sizeof error);
    (void)ignored;
    _exit(127);
}

/* Takes what there is without blocking; what does not fit is thrown away so that the child never blocks. */
static void drain(int fd, char *output, size_t room, size_t *used)
{
    char piece[512];
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        for (ssize_t i = 0; i < n && *used + 1 < room; i++)
            output[(*used)++] = piece[i];
}

struct ending {
    pid_t pid;
    int64_t deadline_ns, kill_ns;
    bool interruptible;
    int reason; /* 0, -EINTR or -ETIMEDOUT */
};

/* Sends the signals that are due. */
static void press(struct ending *e)
{
    int64_t now = clock_mono_ns();
    if (e->reason == 0) {
        if (e->interruptible && interrupt_requested())
            e->reason = -EINTR;
        else if (now > e->deadline_ns)
            e->reason = -ETIMEDOUT;
        if (e->reason != 0) {
            (void)kill(-e->pid, SIGTERM);
            e->kill_ns = now + TERM_GRACE_NS;
        }
    } else if (now > e->kill_ns) {
        (void)kill(-e->pid, SIGKILL);
    }
}

static int await_child(struct ending *e, int output_fd, char *output, size_t room)
{
    size_t used = 0;
    int status;
    for (;;) {
        pid_t done = waitpid(e->pid, &status, WNOHANG);
        if (output)
            drain(output_fd, output, room, &used);
        if (done == e->pid)
            break;
        if (done < 0 && errno != EINTR)
            return -errno;
        press(e);
        clock_sleep_ns(POLL_NS);
    }
    if (output)
        output[used] = '\0';
    if (e->reason != 0)
        return e->reason;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

int child_process_run(char *const argv[], int64_t limit_ns, bool interruptible, char *output, size_t output_bytes)
{
    int out[2], report[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    SCOPE_CLOSE int out_read = out[0];
    int out_write = out[1];
    (void)fcntl(out_read, F_SETFL, O_NONBLOCK); /* our end only: the child's writes block as it expects */
    if (pipe2(report, O_CLOEXEC) < 0) {
        int error = errno;
        (void)close(out_write);
        return -error;
    }
    SCOPE_CLOSE int report_read = report[0];
    pid_t pid = fork();
    if (pid == 0)
        become(argv, output ? out_write : STDERR_FILENO, output != NULL, report[1]);
    int fork_error = pid < 0 ? errno : 0;
    (void)close(out_write);
    (void)close(report[1]);
    if (pid < 0)
        return -fork_error;
    int exec_error = 0;
    ssize_t n;
    do
        n = read(report_read, &exec_error, sizeof exec_error);
    while (n < 0 && errno == EINTR);
    struct ending e = {pid, clock_mono_ns() + limit_ns, 0, interruptible, 0};
    int rc = await_child(&e, out_read, output, output_bytes);
    return n == (ssize_t)sizeof exec_error ? -exec_error : rc;
}
