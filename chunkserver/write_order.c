/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/write_order.h"

#include "common/check.h"
#include "common/scope.h"

void write_order_init(struct write_order *order)
{
    *order = (struct write_order){0};
    for (unsigned i = 0; i < WRITE_ORDER_LANES; i++) {
        CHECK(pthread_mutex_init(&order->lanes[i].lock, NULL) == 0);
        CHECK(pthread_cond_init(&order->lanes[i].changed, NULL) == 0);
    }
}

void write_order_fini(struct write_order *order)
{
    for (unsigned i = 0; i < WRITE_ORDER_LANES; i++) {
        (void)pthread_mutex_destroy(&order->lanes[i].lock);
        (void)pthread_cond_destroy(&order->lanes[i].changed);
    }
}

static bool overlaps(const struct write_order_entry *list, const struct write_order_entry *entry)
{
    for (; list; list = list->next)
        if (list->id == entry->id && list->start < entry->end && entry->start < list->end)
            return true;
    return false;
}

void write_order_enter(struct write_order *order, struct write_order_entry *entry, chunk_id id, uint32_t offset,
                       uint32_t length)
{
    struct write_order_lane *lane = &order->lanes[id % WRITE_ORDER_LANES];
    *entry = (struct write_order_entry){.id = id, .start = offset, .end = (uint64_t)offset + length};
    SCOPE_UNLOCK(&lane->lock);
    while (overlaps(lane->under_way, entry))
        (void)pthread_cond_wait(&lane->changed, &lane->lock);
    entry->next = lane->under_way;
    lane->under_way = entry;
}

void write_order_leave(struct write_order *order, struct write_order_entry *entry)
{
    struct write_order_lane *lane = &order->lanes[entry->id % WRITE_ORDER_LANES];
    SCOPE_UNLOCK(&lane->lock);
    struct write_order_entry **at = &lane->under_way;
    while (*at != entry) {
        CHECK(*at);
        at = &(*at)->next;
    }
    *at = entry->next;
    (void)pthread_cond_broadcast(&lane->changed);
}
