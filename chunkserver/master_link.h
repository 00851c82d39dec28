/* SPDX-License-Identifier: Apache-2.0
 *
 * The chunkserver's tie to its master: registers with a report of all chunks, then polls for commands and brings results. A
 * thread of its own. A master that is away changes nothing for the data service; the link goes on trying.
 */
#ifndef CALF_MASTER_LINK_H
#define CALF_MASTER_LINK_H

#include "chunkserver/damage_list.h"
#include "chunkserver/serve_counters.h"
#include "chunkserver/store.h"
#include "common/units.h"

struct master_link;

struct master_link_options {
    struct address master;    /* its control address */
    struct address advertise; /* host empty: this machine's address on the way to the master */
    struct store *store;
    struct serve_counters *counters;
    struct damage_list *damage;
    bool prefault;
    void (*registered)(void *context, uint32_t server_id); /* from the link's thread, at every registration; NULL: nobody wants to know */
    void *context;
    void (*refused)(void); /* called once, from the link's thread, when the master does not want this store; the reason has been logged */
};

/* What the options point to must outlive it. *link is the caller's, for master_link_destroy. -errno. */
int master_link_create(const struct master_link_options *options, struct master_link **link)
    __attribute__((warn_unused_result));
void master_link_destroy(struct master_link *link); /* returns soon, whatever the master does */

#endif
