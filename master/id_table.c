/* SPDX-License-Identifier: Apache-2.0 */
#include "master/id_table.h"

#include <stdlib.h>

#include "common/check.h"

enum { FIRST_BUCKETS = 64 };

static size_t bucket_of(const struct id_table *table, uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (table->bucket_count - 1);
}

void id_table_fini(struct id_table *table)
{
    free(table->buckets);
    *table = (struct id_table){0};
}

struct id_node *id_table_find(const struct id_table *table, uint64_t id)
{
    if (!table->buckets)
        return NULL;
    struct id_node *node = table->buckets[bucket_of(table, id)];
    while (node && node->id != id)
        node = node->next;
    return node;
}

static void grow(struct id_table *table)
{
    struct id_table larger = {.bucket_count = table->bucket_count ? table->bucket_count * 2 : FIRST_BUCKETS};
    larger.buckets = check_alloc(calloc(larger.bucket_count, sizeof *larger.buckets));
    larger.count = table->count;
    for (size_t b = 0; b < table->bucket_count; b++)
        for (struct id_node *node = table->buckets[b], *next; node; node = next) {
            size_t to = bucket_of(&larger, node->id);
            next = node->next;
            node->next = larger.buckets[to];
            larger.buckets[to] = node;
        }
    free(table->buckets);
    *table = larger;
}

void id_table_add(struct id_table *table, struct id_node *node)
{
    if (table->count >= table->bucket_count)
        grow(table);
    size_t b = bucket_of(table, node->id);
    node->next = table->buckets[b];
    table->buckets[b] = node;
    table->count++;
}

struct id_node *id_table_remove(struct id_table *table, uint64_t id)
{
    if (!table->buckets)
        return NULL;
    struct id_node **at = &table->buckets[bucket_of(table, id)];
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    struct id_node *node = *at;
    if (node) {
        *at = node->next;
        table->count--;
    }
    return node;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = (*(struct id_node *const *)a)->id, y = (*(struct id_node *const *)b)->id;
    return x < y ? -1 : x > y;
}

struct id_node **id_table_sorted(const struct id_table *table)
{
    struct id_node **all = check_alloc(malloc((table->count + 1) * sizeof *all));
    size_t n = 0;
    for (size_t b = 0; b < table->bucket_count; b++)
        for (struct id_node *node = table->buckets[b]; node; node = node->next)
            all[n++] = node;
    CHECK(n == table->count);
    qsort(all, n, sizeof *all, compare_ids);
    return all;
}

struct id_node *id_table_next(const struct id_table *table, struct id_walk *walk)
{
    while (!walk->next && walk->bucket < table->bucket_count)
        walk->next = table->buckets[walk->bucket++];
    struct id_node *node = walk->next;
    if (node)
        walk->next = node->next;
    return node;
}

struct id_node *id_table_first(const struct id_table *table, struct id_walk *walk)
{
    *walk = (struct id_walk){0};
    return id_table_next(table, walk);
}
