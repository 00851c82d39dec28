/* SPDX-License-Identifier: Apache-2.0
 *
 * Order of chain writes. The head of a chain lets a write go only when no other one that overlaps it is under way, so that
 * all copies see overlapping writes in the same order. Servers further down need no order of their own.
 * Any thread; write_order_enter blocks for as long as overlapping writes last, which the chain's timeouts bound.
 */
#ifndef CALF_WRITE_ORDER_H
#define CALF_WRITE_ORDER_H

#include <pthread.h>

#include "chunkserver/store.h"

enum { WRITE_ORDER_LANES = 64 };

/* A write under way; the caller's memory, from enter to leave. */
struct write_order_entry {
    struct write_order_entry *next;
    chunk_id id;
    uint64_t start, end; /* bytes */
};

struct write_order {
    struct write_order_lane {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct write_order_entry *under_way;
    } lanes[WRITE_ORDER_LANES];
};

void write_order_init(struct write_order *order);
void write_order_fini(struct write_order *order);

void write_order_enter(struct write_order *order, struct write_order_entry *entry, chunk_id id, uint32_t offset,
                       uint32_t length);
void write_order_leave(struct write_order *order, struct write_order_entry *entry);

#endif
