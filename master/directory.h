/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries of one directory: by name through a hash, and in the order of their cookies for readdir. A cookie is
 * given once and never again in the same directory, so a reader that goes on after one is never misled by what came
 * and went. Entries stand in an array sorted by cookie; one that goes leaves a gap, and gaps are squeezed out when
 * they are half of the array.
 *
 * Small directories have no hash and are searched. Pure; one thread.
 */
#ifndef CALF_DIRECTORY_H
#define CALF_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"

struct inode;

enum { DIRECTORY_FIRST_COOKIE = 16 }; /* what is below is free for "." and ".." */

struct entry {
    struct inode *inode;
    uint64_t cookie : 56, name_length : 8;
    uint32_t hash;
    char name[];
};

struct directory {
    uintptr_t *entries;     /* by cookie: a struct entry *, or a gap: its cookie * 2 + 1 */
    uint32_t used, room;    /* of the array */
    uint32_t count;         /* entries */
    uint32_t bucket_count;  /* a power of two, or 0: no hash */
    uint32_t *buckets;      /* 0: free; 1: was used; else position + 2 */
    uint32_t buckets_taken; /* not free */
    uint64_t next_cookie;
};

void directory_init(struct directory *directory);
void directory_fini(struct directory *directory); /* frees the entries too */

struct entry *directory_find(const struct directory *directory, struct wire_bytes name);

/* Adds an entry for a name that is not there. cookie 0: the next one; else at least next_cookie. */
struct entry *directory_add(struct directory *directory, struct wire_bytes name, struct inode *inode, uint64_t cookie);

/* Takes the entry out and frees it. */
void directory_remove(struct directory *directory, struct entry *entry);

/* Position in the array of the first entry after that cookie. */
uint32_t directory_position_after(const struct directory *directory, uint64_t cookie);

/* The first entry at or after *position, which is moved past it; NULL at the end. */
struct entry *directory_next(const struct directory *directory, uint32_t *position);

#endif
