/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies a chunk from another chunkserver, as the master commands: what has data there is read, verified and stored here
 * under the same version. Nobody sees the copy before it is complete. Any thread; blocks for as long as it takes.
 */
#ifndef CALF_COPY_CHUNK_H
#define CALF_COPY_CHUNK_H

#include <stdbool.h>

#include "chunkserver/store.h"
#include "common/units.h"

/* What is here under that id, in this version or an older one, is replaced. -EBUSY: what is here is newer; -EUCLEAN: the source's copy is damaged; -ENOMEDIUM, -EKEYEXPIRED: the source has none, or
 * another version; -ENOSPC; -ECANCELED: *stop was set; -errno of the connection. */
int copy_chunk_from(struct store *store, const struct address *source, chunk_id id, uint32_t version,
                    const _Atomic bool *stop) __attribute__((warn_unused_result));

#endif
