/* SPDX-License-Identifier: Apache-2.0
 *
 * For clusters that count nothing themselves (served_counters.h): how often their chunkservers called read(2), write(2) and the like, as the
 * kernel counts it in /proc/PID/io. A request costs a server at least one such call, so fewer calls than operations are proof that
 * something between put requests together or answered them; as many prove nothing. Stateless; blocks only on /proc.
 */
#ifndef CALF_IOBENCH_SERVER_CALLS_H
#define CALF_IOBENCH_SERVER_CALLS_H

#include <stdbool.h>

#include "iobench/cpu_account.h"

/* All chunkservers of the list together. False: there is none among them, or the kernel does not say it of each. */
bool server_calls_read(const struct cpu_processes *processes, uint64_t *calls);

#endif
