/* SPDX-License-Identifier: Apache-2.0
 *
 * Which servers get a new chunk: different ones, in turns that are as frequent as each has free space. Reads and
 * notes volatile knowledge only; what it says becomes state by being recorded. Pure; one thread.
 */
#ifndef CALF_PLACEMENT_H
#define CALF_PLACEMENT_H

#include "master/servers.h"

/* Fills chosen with up to `goal` servers; fewer if there are no more that have space. *count: how many. WIRE_OK;
 * WIRE_NO_SERVERS: none is connected; WIRE_NO_SPACE: those that are have no space left. */
uint16_t placement_choose(struct servers *servers, uint32_t goal, uint32_t chunk_bytes,
                          struct server *chosen[WIRE_COPIES_LIMIT], uint32_t *count)
    __attribute__((warn_unused_result));

/* A server that comes takes its turn with the others, not all turns it missed. */
void placement_welcome(struct servers *servers, struct server *server);

#endif
