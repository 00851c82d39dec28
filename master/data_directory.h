/* SPDX-License-Identifier: Apache-2.0
 *
 * The master's directory: one master at a time in it, made once on purpose, and from then on the state is what its
 * newest good snapshot and the journal after that say.
 */
#ifndef CALF_DATA_DIRECTORY_H
#define CALF_DATA_DIRECTORY_H

#include <stddef.h>

#include "master/master.h"

enum { DATA_DIRECTORY_WHY = 600 };

/* Takes the lock DIR/master.lock, which the kernel gives back when the process ends, however it ends. create: makes
 * the directory (not those above it) if it is missing, durably. 0: *fd holds the lock until it is closed. -ENOENT: no such
 * directory; -EBUSY: another master has it and keeps it for seconds; or what the system said. */
int data_directory_lock(const char *dir, bool create, int *fd) __attribute__((warn_unused_result));

/* True if a cluster, or what may be the rest of one, is in the directory. */
bool data_directory_has_cluster(const char *dir);

/* True if there is nothing but the lock and what a new file system has. */
bool data_directory_is_empty(const char *dir);

/* Makes a new cluster with a random id. The directory must have none. 0 or negative errno. */
int data_directory_init(const char *dir, uint32_t chunk_bytes) __attribute__((warn_unused_result));

/* Loads the state into master->core, opens master->journal, and records that a new master reigns. Blocks for as long
 * as reading takes. 0; else why says in one line what is wrong: -ENOENT: no cluster here; -EUCLEAN: damaged; or what
 * the system said. The core is the caller's to finish only if 0. */
int data_directory_open(struct master *master, char why[DATA_DIRECTORY_WHY]) __attribute__((warn_unused_result));

#endif
