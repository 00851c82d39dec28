/* SPDX-License-Identifier: Apache-2.0
 *
 * Which address of this machine another one would see. Blocks for name resolution; sends nothing.
 */
#ifndef CALF_OWN_ADDRESS_H
#define CALF_OWN_ADDRESS_H

#include "common/units.h"

/* Sets own->host to the numeric address that the kernel would use towards `peer`; leaves own->port. -EHOSTUNREACH, -errno. */
int own_address_towards(const struct address *peer, struct address *own) __attribute__((warn_unused_result));

#endif
