/* SPDX-License-Identifier: Apache-2.0
 *
 * `calf status` and `calf servers`: what the master's control address answers, as text or JSON. The printing is
 * apart from the asking. The names in the JSON are those of the wire schema, so they are as stable as the
 * protocol. One thread; asking blocks for 8 s at most.
 */
#ifndef CALF_ADMIN_CLUSTER_H
#define CALF_ADMIN_CLUSTER_H

#include "client/admin_commands.h"
#include "common/wire.h"

int admin_cluster_status(const struct admin *admin, char **arguments);
int admin_cluster_servers(const struct admin *admin, char **arguments);
int admin_cluster_drain(const struct admin *admin, char **arguments);
int admin_cluster_undrain(const struct admin *admin, char **arguments);

void admin_cluster_print_status(const struct admin *admin, const struct wire_admin_status_reply *status);
void admin_cluster_print_servers(const struct admin *admin, const struct wire_list *servers);

/* One argument, the address at which a chunkserver serves data: for health checks. */
int admin_cluster_ping(const struct admin *admin, char **arguments);

#endif
