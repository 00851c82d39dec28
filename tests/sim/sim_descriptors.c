/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors, and the calls that work on any kind: close, fcntl, epoll, signalfd.
 */
#include "tests/sim/sim_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/check.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_wrap.h"

static struct sim_descriptor table[SIM_FDS];
static unsigned high; /* above it all are free */

struct sim_epoll {
    unsigned node;
};

static void closed_nothing(struct sim_descriptor *descriptor)
{
    (void)descriptor;
}

static void closed_epoll(struct sim_descriptor *descriptor)
{
    for (unsigned i = 0; i < high; i++)
        if (table[i].watcher == descriptor->object)
            table[i].watcher = NULL;
}

static uint32_t never_ready(struct sim_descriptor *descriptor)
{
    (void)descriptor;
    return 0;
}

static const struct sim_kind epoll_kind = {"epoll", closed_epoll, NULL};
static const struct sim_kind signal_kind = {"signalfd", closed_nothing, never_ready};

struct sim_descriptor *sim_descriptor_open(const struct sim_kind *kind, void *object)
{
    unsigned i = 0;
    while (table[i].kind)
        CHECK(++i < SIM_FDS);
    if (i >= high)
        high = i + 1;
    table[i] = (struct sim_descriptor){
        .kind = kind, .fd = SIM_FD_FIRST + (int)i, .node = sim_node(), .object = object};
    return &table[i];
}

struct sim_descriptor *sim_descriptor_find(int fd)
{
    if (fd < SIM_FD_FIRST || fd >= SIM_FD_FIRST + SIM_FDS || !table[fd - SIM_FD_FIRST].kind)
        return NULL;
    return &table[fd - SIM_FD_FIRST];
}

void sim_descriptor_close(struct sim_descriptor *descriptor)
{
    const struct sim_kind *kind = descriptor->kind;
    kind->closed(descriptor);
    descriptor->kind = NULL;
    descriptor->watcher = NULL;
}

void sim_descriptor_close_all(unsigned node)
{
    for (unsigned i = 0; i < high; i++)
        if (table[i].kind && table[i].node == node)
            sim_descriptor_close(&table[i]);
}

void sim_descriptor_changed(struct sim_descriptor *descriptor)
{
    if (descriptor && descriptor->kind && descriptor->watcher)
        sim_wake(descriptor->watcher);
}

/* ---- calls on any kind ---- */

SIM_WRAP(int, close, int fd)
{
    struct sim_descriptor *descriptor = sim_descriptor_find(fd);
    CHECK(descriptor && descriptor->node == sim_node()); /* closing what is not open is a fault that real runs hide */
    sim_descriptor_close(descriptor);
    return 0;
}

SIM_WRAP(int, fcntl64, int fd, int command, ...)
{
    struct sim_descriptor *descriptor = sim_descriptor_find(fd);
    va_list arguments;
    va_start(arguments, command);
    int rc = 0;
    if (!descriptor)
        rc = SIM_FAIL(EBADF);
    else if (command == F_SETFL)
        descriptor->flags = va_arg(arguments, int);
    else if (command == F_GETFL)
        rc = descriptor->flags;
    else if (command == F_SETLK || command == F_GETLK)
        rc = sim_disk_lock(descriptor, true);
    else
        CHECK(!"a command of fcntl that is not simulated");
    va_end(arguments);
    return rc;
}

/* ---- epoll ---- */

SIM_WRAP(int, epoll_create1, int flags)
{
    (void)flags;
    struct sim_epoll *epoll = check_alloc(calloc(1, sizeof *epoll));
    epoll->node = sim_node();
    return sim_descriptor_open(&epoll_kind, epoll)->fd;
}

SIM_WRAP(int, epoll_ctl, int epoll_fd, int operation, int fd, struct epoll_event *event)
{
    struct sim_descriptor *epoll = sim_descriptor_find(epoll_fd), *descriptor = sim_descriptor_find(fd);
    CHECK(epoll && epoll->kind == &epoll_kind);
    if (!descriptor || !descriptor->kind->ready)
        return SIM_FAIL(descriptor ? EPERM : EBADF);
    bool watched = descriptor->watcher == epoll->object;
    if (watched == (operation == EPOLL_CTL_ADD))
        return SIM_FAIL(watched ? EEXIST : ENOENT);
    descriptor->watcher = operation == EPOLL_CTL_DEL ? NULL : epoll->object;
    if (event) {
        descriptor->watched = event->events;
        descriptor->watch_data = event->data.u64;
    }
    sim_descriptor_changed(descriptor);
    return 0;
}

static int collect(const struct sim_epoll *epoll, struct epoll_event *events, int room)
{
    int count = 0;
    unsigned turn = high ? (unsigned)sim_below(high) : 0;
    for (unsigned i = 0; i < high && count < room; i++) {
        struct sim_descriptor *d = &table[(i + turn) % high];
        if (!d->kind || d->watcher != epoll)
            continue;
        uint32_t ready = d->kind->ready(d) & (d->watched | EPOLLHUP | EPOLLERR);
        if (ready)
            events[count++] = (struct epoll_event){.events = ready, .data.u64 = d->watch_data};
    }
    return count;
}

SIM_WRAP(int, epoll_wait, int epoll_fd, struct epoll_event *events, int room, int timeout_ms)
{
    struct sim_descriptor *epoll = sim_descriptor_find(epoll_fd);
    CHECK(epoll && epoll->kind == &epoll_kind);
    int64_t deadline = timeout_ms < 0 ? SIM_NEVER : sim_now() + timeout_ms * NS_PER_MS;
    sim_yield();
    for (;;) {
        int count = collect(epoll->object, events, room);
        if (count || sim_now() >= deadline)
            return count;
        (void)sim_wait(epoll->object, deadline);
    }
}

SIM_WRAP(int, signalfd, int fd, const sigset_t *signals, int flags)
{
    (void)fd;
    (void)signals;
    (void)flags;
    return sim_descriptor_open(&signal_kind, NULL)->fd;
}
