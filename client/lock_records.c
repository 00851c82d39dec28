/* SPDX-License-Identifier: Apache-2.0 */
#include "client/lock_records.h"

#include <stdlib.h>

#include "common/check.h"

void lock_records_free(struct lock_record **list)
{
    while (*list) {
        struct lock_record *record = *list;
        *list = record->next;
        free(record);
    }
}

void lock_records_add(struct lock_record **list, const struct fs_handle *handle, uint64_t owner, bool flock)
{
    for (const struct lock_record *record = *list; record; record = record->next)
        if (record->handle == handle && record->owner == owner && record->flock == flock)
            return;
    struct lock_record *record = check_alloc(malloc(sizeof *record));
    *record = (struct lock_record){*list, handle, owner, flock};
    *list = record;
}

bool lock_records_has(const struct lock_record *list, uint64_t owner, bool flock)
{
    while (list && !(list->owner == owner && list->flock == flock))
        list = list->next;
    return list != NULL;
}

const struct lock_record *lock_records_of_handle(const struct lock_record *list, const struct fs_handle *handle)
{
    while (list && list->handle != handle)
        list = list->next;
    return list;
}

void lock_records_remove(struct lock_record **list, uint64_t owner, bool flock)
{
    while (*list) {
        struct lock_record *record = *list;
        if (record->owner == owner && record->flock == flock) {
            *list = record->next;
            free(record);
        } else {
            list = &record->next;
        }
    }
}

bool lock_records_take(struct lock_record **list, const struct fs_handle *handle, struct lock_record *record)
{
    for (struct lock_record **link = list; *link;) {
        struct lock_record *found = *link;
        if (found->handle != handle) {
            link = &found->next;
            continue;
        }
        *record = *found;
        *link = found->next;
        free(found);
        if (!lock_records_has(*list, record->owner, record->flock))
            return true;
    }
    return false;
}
