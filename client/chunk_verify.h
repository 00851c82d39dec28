/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one copy of a chunk wholly, whatever other copies there are, to find out whether it is good. Any thread; blocks for as long
 * as it takes to read.
 */
#ifndef CALF_CHUNK_VERIFY_H
#define CALF_CHUNK_VERIFY_H

#include "client/fs_state.h"

/* What lies below the file's size of a copy that the master calls valid. enum wire_copy_state: valid, damaged, away (it cannot be
 * read), pending (it has changed meanwhile). */
uint8_t chunk_verify_copy(struct fs *fs, const struct wire_chunk_copy *copy, uint64_t file_size);

#endif
