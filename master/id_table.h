/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table of things that have a 64-bit id, chained through a node at the start of each thing. The table owns its
 * buckets, never the things. Ids are counted up, so multiplying spreads them well enough. Pure; one thread.
 */
#ifndef CALF_ID_TABLE_H
#define CALF_ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct id_node {
    uint64_t id;
    struct id_node *next;
};

struct id_table {
    struct id_node **buckets; /* NULL while empty */
    size_t bucket_count;      /* a power of two */
    size_t count;
};

/* An all-zero table is empty and valid. Frees the buckets. */
void id_table_fini(struct id_table *table);

/* The node with that id, or NULL. */
struct id_node *id_table_find(const struct id_table *table, uint64_t id);

/* Adds a node whose id is set and not in the table yet. */
void id_table_add(struct id_table *table, struct id_node *node);

/* Takes the node with that id out and returns it; NULL if there is none. */
struct id_node *id_table_remove(struct id_table *table, uint64_t id);

/* All nodes in ascending order of id: a new array of table->count pointers (never NULL), to be freed by the caller. */
struct id_node **id_table_sorted(const struct id_table *table);

/* Walks in no useful order: for (node = id_table_first(t, &at); node; node = id_table_next(t, &at)). The node handed
 * out last may be freed after it was removed by the walker; nothing else may change the table meanwhile. */
struct id_walk {
    size_t bucket;
    struct id_node *next;
};
struct id_node *id_table_first(const struct id_table *table, struct id_walk *walk);
struct id_node *id_table_next(const struct id_table *table, struct id_walk *walk);

#endif
