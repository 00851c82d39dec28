/* SPDX-License-Identifier: Apache-2.0
 *
 * The file store.id: whose a store directory is. Text, replaced as a whole. A directory without it is a store only if it is
 * empty: what cannot be recognised is refused, never overwritten. The caller has the directory to itself.
 */
#ifndef CALF_STORE_IDENTITY_H
#define CALF_STORE_IDENTITY_H

#include "chunkserver/store.h"

/* Reads it, or makes a new one in an empty directory. -ENOTEMPTY: other things are there, but no store.id; -EUCLEAN: it
 * is not such a file; -errno of the storage. */
int store_identity_load(int directory, struct store_identity *identity) __attribute__((warn_unused_result));

/* Durable when it returns. */
int store_identity_save(int directory, const struct store_identity *identity) __attribute__((warn_unused_result));

#endif
