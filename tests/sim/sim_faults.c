/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_faults.h"

#include <stdio.h>
#include <string.h>

#include "chunkserver/chunk_format.h"
#include "common/units.h"
#include "master/core.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_nodes.h"
#include "tests/sim/sim_workload.h"

enum fault {
    FAULT_SERVER_KILL,
    FAULT_MASTER_KILL,
    FAULT_MASTER_POWER,
    FAULT_CLIENT_KILL,
    FAULT_PARTITION,
    FAULT_RESET,
    FAULT_SLOW_DISK,
    FAULT_FAILING_DISK,
    FAULT_ROT,
    FAULT_WIPE,
    FAULTS,
};

static const char *const names[FAULTS] = {"server-kill", "master-kill", "master-power", "client-kill", "partition",
                                          "reset", "slow-disk", "failing-disk", "rot", "wipe"};

static bool enabled[FAULTS];
static int64_t duration_ns, calm_until_ns;
static unsigned lost_per_mille;
static bool copy_lost; /* rot or a wipe took one copy of something; a second one is not promised to be survived */
static unsigned gone;  /* the server that never comes back; 0: none */

void sim_faults_draw(void)
{
    struct sim_cluster cluster = {.servers = 2 + (unsigned)sim_below(2), .clients = 2 + (unsigned)sim_below(2),
                                  .goal = sim_chance(700) ? 2 : 1, .store_bytes = 64 * MIB};
    if (cluster.servers == 3 && sim_chance(200))
        cluster.goal = 3;
    cluster.sync = sim_chance(500) ? JOURNAL_SYNC_ALWAYS : JOURNAL_SYNC_INTERVAL;
    for (unsigned i = 0; i < FAULTS; i++)
        enabled[i] = sim_chance(400);
    enabled[FAULT_MASTER_POWER] = enabled[FAULT_MASTER_POWER] && cluster.sync == JOURNAL_SYNC_ALWAYS;
    if (cluster.goal < 2)
        enabled[FAULT_FAILING_DISK] = enabled[FAULT_ROT] = enabled[FAULT_WIPE] = false;
    if (enabled[FAULT_ROT] || enabled[FAULT_WIPE]) {
        /* Whatever leaves a chunk with one good copy may meet the loss of that one. */
        enabled[FAULT_SERVER_KILL] = enabled[FAULT_PARTITION] = enabled[FAULT_RESET] = false;
        enabled[FAULT_SLOW_DISK] = enabled[FAULT_FAILING_DISK] = enabled[FAULT_MASTER_KILL] = false;
        enabled[FAULT_MASTER_POWER] = false;
        enabled[FAULT_WIPE] = enabled[FAULT_WIPE] && !enabled[FAULT_ROT];
    }
    lost_per_mille = sim_chance(500) ? (unsigned)sim_below(30) : 0;
    sim_network_set(sim_between(20 * NS_PER_US, sim_chance(300) ? 20 * NS_PER_MS : 500 * NS_PER_US), lost_per_mille);
    duration_ns = sim_between(8 * NS_PER_S, 40 * NS_PER_S);
    sim_nodes_begin(&cluster);
}

const char *sim_faults_describe(void)
{
    static char text[400];
    const struct sim_cluster *c = sim_nodes_cluster();
    int used = snprintf(text, sizeof text, "%u servers, %u clients, goal %u, journal %s, %u per mille lost, %.0f s of:",
                        c->servers, c->clients, c->goal, c->sync == JOURNAL_SYNC_ALWAYS ? "always" : "interval",
                        lost_per_mille, (double)duration_ns / 1e9);
    for (unsigned i = 0; i < FAULTS; i++)
        if (enabled[i])
            used += snprintf(text + used, sizeof text - (size_t)used, " %s", names[i]);
    return text;
}

/* ---- kinds ---- */

static void restart(void *argument)
{
    unsigned node = (unsigned)(uintptr_t)argument;
    if (!sim_node_is_up(node))
        sim_node_start(node);
}

static void kill_node(unsigned node, bool with_power)
{
    if (!sim_node_is_up(node))
        return;
    if (with_power)
        ledger_power_losses++;
    if (node >= SIM_CLIENT_FIRST)
        workload_was_killed(node);
    int64_t longest = node == SIM_MASTER ? 6 * NS_PER_S : 10 * NS_PER_S;
    sim_at(sim_now() + sim_between(20 * NS_PER_MS, longest), restart, (void *)(uintptr_t)node);
    sim_node_kill(node, with_power);
}

static void crash(unsigned node)
{
    kill_node(node, node == SIM_MASTER && enabled[FAULT_MASTER_POWER] && sim_chance(500));
}

static unsigned any_server(void)
{
    return SIM_SERVER_FIRST + (unsigned)sim_below(sim_nodes_cluster()->servers);
}

static unsigned any_client(void)
{
    return SIM_CLIENT_FIRST + (unsigned)sim_below(sim_nodes_cluster()->clients);
}

static unsigned any_node(void)
{
    switch (sim_below(3)) {
    case 0:
        return SIM_MASTER;
    case 1:
        return any_server();
    }
    return any_client();
}

/* At once, or in the middle of one of its next changes to the disk. */
static void kill_soon(unsigned node, bool with_power)
{
    if (!sim_node_is_up(node))
        return;
    if (sim_chance(600))
        sim_disk_faults(node)->crash_in = 1 + (unsigned)sim_below(40);
    else
        kill_node(node, with_power);
}

static void part(void)
{
    unsigned a = any_node(), b = any_node();
    int64_t until = sim_now() + sim_between(300 * NS_PER_MS, 10 * NS_PER_S);
    if (sim_now() < calm_until_ns || a == b)
        return;
    calm_until_ns = until + 4 * NS_PER_S; /* so that nobody is silent for as long as a session lasts */
    sim_trace("partition", a, b);
    sim_network_block(a, b, until);
    if (sim_chance(700))
        sim_network_block(b, a, until);
}

static void rot(void)
{
    const struct store_geometry geometry = {CORE_CHUNK_BYTES_SMALL, WIRE_BLOCK_BYTES};
    uint64_t id;
    if (!copy_lost)
        copy_lost = sim_disk_flip_bit(any_server(), chunk_format_data_offset(&geometry), &id);
}

/* The machine of a RAM-disk chunkserver is off, and its chunks with it: for good, or an empty one comes back at its address. */
static void wipe(unsigned node)
{
    if (copy_lost || !sim_node_is_up(node))
        return;
    copy_lost = true;
    sim_node_kill(node, true);
    sim_disk_wipe(node);
    if (sim_chance(500))
        sim_at(sim_now() + sim_between(20 * NS_PER_MS, 4 * NS_PER_S), restart, (void *)(uintptr_t)node);
    else
        gone = node;
}

static void cause(enum fault fault)
{
    sim_trace(names[fault], fault, 0);
    switch (fault) {
    case FAULT_SERVER_KILL:
        kill_soon(any_server(), false);
        break;
    case FAULT_MASTER_KILL:
    case FAULT_MASTER_POWER:
        kill_soon(SIM_MASTER, fault == FAULT_MASTER_POWER);
        break;
    case FAULT_CLIENT_KILL:
        kill_node(any_client(), false);
        break;
    case FAULT_PARTITION:
        part();
        break;
    case FAULT_RESET:
        (void)sim_network_reset_one(any_node());
        break;
    case FAULT_SLOW_DISK:
        sim_disk_faults(any_server())->slow_until_ns = sim_now() + sim_between(NS_PER_S, 8 * NS_PER_S);
        break;
    case FAULT_FAILING_DISK:
        sim_disk_faults(any_server())->fails_until_ns = sim_now() + sim_between(100 * NS_PER_MS, 4 * NS_PER_S);
        break;
    case FAULT_ROT:
        rot();
        break;
    case FAULT_WIPE:
        wipe(any_server());
        break;
    case FAULTS:
        break;
    }
}

/* ---- a run ---- */

static void heal(void)
{
    sim_network_heal();
    for (unsigned node = 0; node < SIM_NODES; node++)
        *sim_disk_faults(node) = (struct sim_disk_faults){0};
    unsigned last = SIM_CLIENT_FIRST + sim_nodes_cluster()->clients;
    for (unsigned node = SIM_MASTER; node < last; node++) {
        bool exists = node == SIM_MASTER || node >= SIM_CLIENT_FIRST ||
                      (node < SIM_SERVER_FIRST + sim_nodes_cluster()->servers && node != gone);
        while (exists && !sim_node_is_up(node))
            sim_sleep(100 * NS_PER_MS);
    }
}

void sim_faults_run(void)
{
    int64_t until = sim_now() + duration_ns;
    sim_disk_on_crash(crash);
    while (sim_now() < until) {
        sim_sleep(sim_between(20 * NS_PER_MS, 3 * NS_PER_S));
        enum fault fault = (enum fault)sim_below(FAULTS);
        if (enabled[fault])
            cause(fault);
    }
    heal();
}
