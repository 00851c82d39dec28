/* SPDX-License-Identifier: Apache-2.0 */
#include "master/master_loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "master/client_connections.h"
#include "master/repair.h"
#include "master/server_control.h"
#include "master/snapshot_task.h"

enum { EVENTS_A_ROUND = 256, WAKES_A_ROUND = 16 };

#define TICK_NS NS_PER_S
#define STARTING_NS (5 * NS_PER_S) /* chunkservers that are there have registered by then */
#define FAST_TICK_NS (NS_PER_S / 4) /* while requests wait */

struct master_loop {
    struct event_source signals; /* first */
    struct master *master;
    int epoll_fd, signal_fd;
    bool stop;
    int64_t last_tick_ns, last_retry_ns;
};

static void signals_ready(struct event_source *source, uint32_t events)
{
    struct master_loop *loop = (struct master_loop *)source;
    struct signalfd_siginfo info;
    (void)events;
    while (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            snapshot_task_child(loop->master);
        } else {
            log_info("ends: %s", info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
            loop->stop = true;
        }
    }
}

int master_loop_add(struct master_loop *loop, int fd, uint32_t events, struct event_source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int master_loop_change(struct master_loop *loop, int fd, uint32_t events, struct event_source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

void master_loop_remove(struct master_loop *loop, int fd)
{
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Nobody could talk to a master that was not there: the sessions it finds have been heard now. */
static void start_clocks(struct master *master)
{
    const struct id_table *sessions = &master->core.sessions.table;
    struct id_walk walk;
    master->now = (struct core_time){clock_wall_ns(), clock_mono_ns()};
    master->started_ns = master->now.mono_ns;
    master->core.all_known_ns = master->now.mono_ns + STARTING_NS;
    for (struct id_node *node = id_table_first(sessions, &walk); node; node = id_table_next(sessions, &walk))
        ((struct session *)node)->last_heard_ns = master->now.mono_ns;
}

int master_loop_create(struct master *master, struct master_loop **loop)
{
    struct master_loop *l = check_alloc(calloc(1, sizeof *l));
    sigset_t signals;
    l->signals = (struct event_source){signals_ready};
    l->master = master;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGCHLD);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    int rc = l->epoll_fd < 0 || l->signal_fd < 0 ? -errno : master_loop_add(l, l->signal_fd, EPOLLIN, &l->signals);
    if (rc < 0) {
        master_loop_destroy(l);
        return rc;
    }
    start_clocks(master);
    *loop = l;
    return 0;
}

void master_loop_destroy(struct master_loop *loop)
{
    if (!loop)
        return;
    if (loop->epoll_fd >= 0)
        (void)close(loop->epoll_fd);
    if (loop->signal_fd >= 0)
        (void)close(loop->signal_fd);
    free(loop);
}

static void read_clocks(struct master *master)
{
    master->now = (struct core_time){.wall_ns = clock_wall_ns(), .mono_ns = clock_mono_ns()};
}

/* Milliseconds to wait for events; -1: for ever. Rounded up, so that it is really due then. */
static int wait_ms(const struct master_loop *loop, bool more)
{
    const struct master *master = loop->master;
    const struct core *core = &master->core;
    int64_t now_ns = clock_mono_ns(), until_ns = server_control_deadline(master->control);
    if (more)
        return 0;
    if (client_connections_has_parked(master->clients) && loop->last_retry_ns + FAST_TICK_NS < until_ns)
        until_ns = loop->last_retry_ns + FAST_TICK_NS;
    bool ticks = core->servers.count || core->sessions.table.count || core->chunks.unsettled_count || core->removed.count;
    if (ticks && loop->last_tick_ns + TICK_NS < until_ns)
        until_ns = loop->last_tick_ns + TICK_NS;
    if (until_ns == INT64_MAX)
        return 10 * 1000;
    return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / NS_PER_MS) + 1;
}

static void tick(struct master_loop *loop)
{
    struct master *master = loop->master;
    int64_t now_ns = master->now.mono_ns;
    if (now_ns - loop->last_tick_ns >= TICK_NS) {
        loop->last_tick_ns = now_ns;
        server_control_tick(master->control);
        client_connections_tick(master->clients);
        removed_files_tick(&master->core, master->now.wall_ns);
        chunk_ops_tick(&master->core, master->now);
        repair_tick(&master->core, master->now);
        snapshot_task_consider(master);
    }
    if (now_ns - loop->last_retry_ns >= FAST_TICK_NS && client_connections_has_parked(master->clients))
        master->core.wake = true;
}

/* What happened may let requests go on that waited, which may let others go on. */
static void retry_parked(struct master_loop *loop)
{
    struct master *master = loop->master;
    for (int i = 0; master->core.wake && i < WAKES_A_ROUND; i++) {
        master->core.wake = false;
        loop->last_retry_ns = master->now.mono_ns;
        client_connections_retry(master->clients);
    }
}

static int commit(struct master *master)
{
    if (!master->changed)
        return 0;
    int rc = journal_commit(master->journal, master->need_sync);
    if (rc < 0)
        log_error("the journal in %s cannot be written: %s; nothing more is acknowledged", master->dir, strerror(-rc));
    master->changed = master->need_sync = false;
    return rc;
}

int master_loop_run(struct master_loop *loop)
{
    struct master *master = loop->master;
    struct epoll_event events[EVENTS_A_ROUND];
    bool more = false;
    read_clocks(master);
    loop->last_tick_ns = loop->last_retry_ns = master->now.mono_ns;
    while (!loop->stop) {
        int n = epoll_wait(loop->epoll_fd, events, EVENTS_A_ROUND, wait_ms(loop, more));
        if (n < 0 && errno != EINTR)
            return -errno;
        read_clocks(master);
        more = client_connections_go_on(master->clients);
        for (int i = 0; i < n; i++) {
            struct event_source *source = events[i].data.ptr;
            source->ready(source, events[i].events);
        }
        tick(loop);
        retry_parked(loop);
        more = client_connections_go_on(master->clients) || more || master->core.wake;
        int rc = commit(master);
        if (rc < 0)
            return rc;
        client_connections_flush(master->clients);
        server_control_flush(master->control);
    }
    return 0;
}
