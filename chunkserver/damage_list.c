/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/damage_list.h"

#include <string.h>

#include "common/check.h"
#include "common/scope.h"

void damage_list_init(struct damage_list *list, struct serve_counters *counters)
{
    *list = (struct damage_list){.counters = counters};
    CHECK(pthread_mutex_init(&list->lock, NULL) == 0);
}

void damage_list_fini(struct damage_list *list)
{
    (void)pthread_mutex_destroy(&list->lock);
}

void damage_list_note(void *context, chunk_id id, uint32_t version)
{
    struct damage_list *list = (struct damage_list *)context;
    serve_count(list->counters, damaged_blocks, 1);
    SCOPE_UNLOCK(&list->lock);
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].id == id && list->items[i].version == version)
            return;
    if (list->count < DAMAGE_LIST_LIMIT)
        list->items[list->count++] = (struct store_report){id, version, true};
}

unsigned damage_list_peek(struct damage_list *list, struct store_report items[DAMAGE_LIST_LIMIT])
{
    SCOPE_UNLOCK(&list->lock);
    memcpy(items, list->items, list->count * sizeof *items);
    return list->count;
}

void damage_list_told(struct damage_list *list, unsigned count)
{
    SCOPE_UNLOCK(&list->lock);
    CHECK(count <= list->count);
    list->count -= count;
    memmove(list->items, list->items + count, list->count * sizeof *list->items);
}
