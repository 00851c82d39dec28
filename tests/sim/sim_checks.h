/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold when everything has healed and every client has unmounted. Each function is for a fiber of the world; a
 * breach is a violation.
 */
#ifndef CALF_SIM_CHECKS_H
#define CALF_SIM_CHECKS_H

/* A fresh client on that node reads everything and compares it with the ledger. */
void checks_content(unsigned node);

/* Valid copies of a chunk are equal, once nothing changes any more. */
void checks_copies(void);

/* A chunkserver is told to delete a copy: it must not be one that is needed. Called by the wrapped deletion. */
#include <stdint.h>
void checks_deletion(unsigned node, uint64_t chunk, uint32_t version);

#endif
