/* SPDX-License-Identifier: Apache-2.0
 *
 * The machines of a run and the programs on them: the master, chunkservers, clients. Each program is started as its own
 * *_main.c does it, from the archives that the programs link, and ends only by being killed.
 */
#ifndef CALF_SIM_NODES_H
#define CALF_SIM_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunkserver/store.h"
#include "client/fs.h"
#include "master/master.h"

enum {
    SIM_MASTER = 1,
    SIM_SERVER_FIRST = 2, SIM_SERVERS = 4,
    SIM_CLIENT_FIRST = SIM_SERVER_FIRST + SIM_SERVERS, SIM_CLIENTS = 4,
};

/* Twice the shipped limit: what a killed client held is free when its session ends, 30 s after the last start of the master, and that
 * may be started again meanwhile. */
#define SIM_RETRY_NS (120 * NS_PER_S)

/* What is chosen for a whole run. */
struct sim_cluster {
    unsigned servers, clients;
    uint32_t goal;
    enum journal_sync sync;
    uint64_t store_bytes;
};

void sim_nodes_begin(const struct sim_cluster *cluster);
const struct sim_cluster *sim_nodes_cluster(void);

/* Starts the node's program; it must not be running. */
void sim_node_start(unsigned node);
bool sim_node_is_up(unsigned node);

/* kill -9 of the process. with_power: of the machine, which loses what its disk had not synced. The node may be the caller's
 * own: then it does not return. */
void sim_node_kill(unsigned node, bool with_power);

/* The master's state, while its process lives and has begun to serve; else NULL. */
struct master *sim_nodes_master(void);

/* The chunkserver's open store; NULL: it is not up. */
struct store *sim_nodes_store(unsigned node);

/* Mounts in the calling fiber's node. 0 or a negative errno. */
int sim_nodes_mount(struct fs **fs);

/* What a client node runs once it is started. */
void sim_nodes_set_client(void *(*run)(void *argument));

/* A line for the log of the node whose fiber runs. */
void sim_nodes_log(const char *text, size_t bytes);

/* ---- verdict ---- */

/* Something that must not be: prints it and ends the run as failed. */
void sim_violation(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
