/* SPDX-License-Identifier: Apache-2.0
 *
 * The network: node n is the machine 10.0.0.n, and streams between them behave like TCP. What is sent arrives in order, late,
 * in pieces; a lost packet is a longer delay; a partition holds everything back until it heals; a process that dies closes
 * or resets its connections; a machine that dies says nothing.
 */
#ifndef CALF_SIM_NETWORK_H
#define CALF_SIM_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

/* How slow and how lossy the whole network is in this run. */
void sim_network_set(int64_t delay_ns, unsigned lost_per_mille);

/* Nothing gets from one node to the other (one way) until then; an earlier time heals. */
void sim_network_block(unsigned from, unsigned to, int64_t until_ns);
void sim_network_heal(void);

/* When something sent now arrives; if the way is blocked, after it heals. */
int64_t sim_network_arrival(unsigned from, unsigned to);
bool sim_network_is_blocked(unsigned from, unsigned to);

/* Resets a connection of the node, drawn from those it has; false: it has none. */
bool sim_network_reset_one(unsigned node);

/* The machine is on, or off: then packets to it are lost, and what its processes had open says nothing at their end. */
void sim_network_power(unsigned node, bool on);
bool sim_network_has_power(unsigned node);

#endif
