/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes wrong in a run, drawn from the seed: which kinds at all, and then when, where, and for how long. The times are
 * such that the cluster has promised to get through: nobody is away for as long as an operation tries.
 */
#ifndef CALF_SIM_FAULTS_H
#define CALF_SIM_FAULTS_H

#include <stdint.h>

/* Draws the cluster and its faults; before anything runs. */
void sim_faults_draw(void);

/* Lets things go wrong for a while; from a fiber of the world. Returns when everything is up and healed again. */
void sim_faults_run(void);

/* In words, for people. */
const char *sim_faults_describe(void);

#endif
