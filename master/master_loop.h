/* SPDX-License-Identifier: Apache-2.0
 *
 * The event loop: waits for sockets, the control plane and signals; lets each do its work; commits what changed;
 * lets replies and commands leave; and ticks once a second, or faster while somebody waits.
 */
#ifndef CALF_MASTER_LOOP_H
#define CALF_MASTER_LOOP_H

#include <stdint.h>

#include "master/master.h"

/* Something with a descriptor; the first member of who owns it. */
struct event_source {
    void (*ready)(struct event_source *source, uint32_t events);
};

struct master_loop;

/* For a state that is loaded: its sessions count as heard, and chunkservers have time to come back, from now on. SIGTERM, SIGINT and
 * SIGCHLD must be blocked in all threads. */
int master_loop_create(struct master *master, struct master_loop **loop) __attribute__((warn_unused_result));
void master_loop_destroy(struct master_loop *loop);

/* events as epoll's. The source must outlive the round in which it is removed. */
int master_loop_add(struct master_loop *loop, int fd, uint32_t events, struct event_source *source)
    __attribute__((warn_unused_result));
int master_loop_change(struct master_loop *loop, int fd, uint32_t events, struct event_source *source)
    __attribute__((warn_unused_result));
void master_loop_remove(struct master_loop *loop, int fd);

/* Runs until SIGTERM or SIGINT. 0; negative errno: the journal failed, and nothing more may be promised. */
int master_loop_run(struct master_loop *loop) __attribute__((warn_unused_result));

#endif
