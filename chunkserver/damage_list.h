/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks that were found damaged and that the master has not been told of yet. Bounded: what does not fit is in the
 * report of the next registration anyway. Any thread; blocks only for its own short lock.
 */
#ifndef CALF_DAMAGE_LIST_H
#define CALF_DAMAGE_LIST_H

#include <pthread.h>

#include "chunkserver/serve_counters.h"
#include "chunkserver/store.h"

enum { DAMAGE_LIST_LIMIT = WIRE_COMMANDS_LIMIT };

struct damage_list {
    pthread_mutex_t lock;
    struct serve_counters *counters; /* damaged_blocks counts what is noted */
    unsigned count;
    struct store_report items[DAMAGE_LIST_LIMIT];
};

void damage_list_init(struct damage_list *list, struct serve_counters *counters);
void damage_list_fini(struct damage_list *list);

/* As the store's watch: context is the list. */
void damage_list_note(void *context, chunk_id id, uint32_t version);

/* Copies the oldest ones; how many. They stay until damage_list_told(), which drops as many of the oldest. */
unsigned damage_list_peek(struct damage_list *list, struct store_report items[DAMAGE_LIST_LIMIT]);
void damage_list_told(struct damage_list *list, unsigned count);

#endif
