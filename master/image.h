/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's state as a sequence of pieces in numbered sections, for snapshots. The same state gives the same bytes,
 * whatever way it came about; volatile knowledge is not in it. Numbers are little-endian and packed.
 */
#ifndef CALF_IMAGE_H
#define CALF_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "master/core.h"

enum image_section {
    IMAGE_META = 1,    /* geometry, counters, id gaps: first */
    IMAGE_SERVERS = 2, /* by id: its node, and 0 behind it if it is being emptied (no node is 0) */
    IMAGE_INODES = 3,  /* by ino, with extended attributes */
    IMAGE_ENTRIES = 4, /* by directory and cookie; a large directory takes several pieces */
    IMAGE_CHUNKS = 5,  /* by id */
    IMAGE_SESSIONS = 6,
    IMAGE_LOCKS = 7,
    IMAGE_REMOVED = 8, /* files kept without a name, in the order they came */
    IMAGE_END = 9,     /* all was there */
};

/* Hands all pieces to put, in order. 0, or the negative errno that put returned. */
int image_save(const struct core *core, int (*put)(void *context, uint16_t section, const void *data, size_t bytes),
               void *context) __attribute__((warn_unused_result));

/* Builds a core from pieces: begin on a core that is not initialised, take each piece in order, end. If begin was
 * called, core_fini is the caller's to call, also after an error. */
struct image_loader {
    struct core *core;
    uint16_t section; /* of the last piece */
};

void image_load_begin(struct image_loader *loader, struct core *core);

/* context: the loader. 0; -EUCLEAN: not what image_save wrote. */
int image_load_take(void *context, uint16_t section, const void *data, size_t bytes)
    __attribute__((warn_unused_result));

/* -EUCLEAN: pieces are missing. */
int image_load_end(struct image_loader *loader) __attribute__((warn_unused_result));

#endif
