/* SPDX-License-Identifier: Apache-2.0
 *
 * The descriptors of the simulated processes: numbers far above the real ones, each belonging to a node, with what it
 * stands for. Closing one, or killing its node, calls its kind's `closed`.
 */
#ifndef CALF_SIM_DESCRIPTORS_H
#define CALF_SIM_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_FD_FIRST = 5000, SIM_FDS = 8192 };

struct sim_descriptor;

struct sim_kind {
    const char *name;
    void (*closed)(struct sim_descriptor *descriptor);
    /* EPOLLIN and the like, as they stand now; NULL: cannot be watched. */
    uint32_t (*ready)(struct sim_descriptor *descriptor);
};

struct sim_descriptor {
    const struct sim_kind *kind; /* NULL: closed */
    int fd;
    unsigned node;
    void *object;
    unsigned side;   /* of a connection */
    uint64_t offset; /* of a file */
    int flags;       /* of open(2) and fcntl(2) */
    int64_t receive_timeout_ns, send_timeout_ns; /* 0: none */
    struct sim_epoll *watcher;
    uint32_t watched;
    uint64_t watch_data;
};

/* A new descriptor of the node whose fiber runs. */
struct sim_descriptor *sim_descriptor_open(const struct sim_kind *kind, void *object);
struct sim_descriptor *sim_descriptor_find(int fd); /* NULL: not ours, or closed */
void sim_descriptor_close(struct sim_descriptor *descriptor);
void sim_descriptor_close_all(unsigned node);

/* What it stands for may be readable or writable now. */
void sim_descriptor_changed(struct sim_descriptor *descriptor);

#endif
