/* SPDX-License-Identifier: Apache-2.0 */
#include "master/directory.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/checksum.h"

#define COOKIE_MASK ((UINT64_C(1) << 56) - 1)

enum { SMALL = 8, BUCKET_FREE = 0, BUCKET_WAS = 1, BUCKET_FIRST = 2 };

static struct entry *entry_of(uintptr_t value)
{
    return value & 1 ? NULL : (struct entry *)value;
}

static uint64_t cookie_of(uintptr_t value)
{
    return value & 1 ? value >> 1 : ((const struct entry *)value)->cookie;
}

static uintptr_t gap_of(const struct entry *entry)
{
    return (uintptr_t)entry->cookie << 1 | 1;
}

void directory_init(struct directory *directory)
{
    *directory = (struct directory){.next_cookie = DIRECTORY_FIRST_COOKIE};
}

void directory_fini(struct directory *directory)
{
    for (uint32_t i = 0; i < directory->used; i++)
        free(entry_of(directory->entries[i]));
    free(directory->entries);
    free(directory->buckets);
    *directory = (struct directory){0};
}

static uint32_t hash_name(struct wire_bytes name)
{
    return (uint32_t)checksum_of(name.data, name.length);
}

static bool is_named(const struct entry *entry, struct wire_bytes name, uint32_t hash)
{
    return entry->hash == hash && entry->name_length == name.length && memcmp(entry->name, name.data, name.length) == 0;
}

uint32_t directory_position_after(const struct directory *directory, uint64_t cookie)
{
    uint32_t low = 0, high = directory->used;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cookie_of(directory->entries[middle]) > cookie)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct entry *directory_next(const struct directory *directory, uint32_t *position)
{
    while (*position < directory->used) {
        struct entry *entry = entry_of(directory->entries[(*position)++]);
        if (entry)
            return entry;
    }
    return NULL;
}

static void put_bucket(struct directory *directory, uint32_t hash, uint32_t position)
{
    uint32_t mask = directory->bucket_count - 1, b = hash & mask;
    while (directory->buckets[b] >= BUCKET_FIRST)
        b = (b + 1) & mask;
    if (directory->buckets[b] == BUCKET_FREE)
        directory->buckets_taken++;
    directory->buckets[b] = position + BUCKET_FIRST;
}

/* Builds the hash anew, large enough for `count` entries at half load. */
static void rehash(struct directory *directory, uint32_t count)
{
    free(directory->buckets);
    directory->buckets = NULL;
    directory->bucket_count = directory->buckets_taken = 0;
    if (count <= SMALL)
        return;
    directory->bucket_count = 32;
    while (directory->bucket_count < count * 2)
        directory->bucket_count *= 2;
    directory->buckets = check_alloc(calloc(directory->bucket_count, sizeof *directory->buckets));
    for (uint32_t i = 0; i < directory->used; i++)
        if (entry_of(directory->entries[i]))
            put_bucket(directory, entry_of(directory->entries[i])->hash, i);
}

/* The bucket that points to the named entry; -1: none. */
static int64_t find_bucket(const struct directory *directory, struct wire_bytes name, uint32_t hash)
{
    uint32_t mask = directory->bucket_count - 1;
    for (uint32_t b = hash & mask; directory->buckets[b] != BUCKET_FREE; b = (b + 1) & mask) {
        uint32_t value = directory->buckets[b];
        if (value >= BUCKET_FIRST && is_named(entry_of(directory->entries[value - BUCKET_FIRST]), name, hash))
            return b;
    }
    return -1;
}

struct entry *directory_find(const struct directory *directory, struct wire_bytes name)
{
    uint32_t hash = hash_name(name);
    if (directory->bucket_count) {
        int64_t b = find_bucket(directory, name, hash);
        return b < 0 ? NULL : entry_of(directory->entries[directory->buckets[b] - BUCKET_FIRST]);
    }
    for (uint32_t i = 0; i < directory->used; i++) {
        struct entry *entry = entry_of(directory->entries[i]);
        if (entry && is_named(entry, name, hash))
            return entry;
    }
    return NULL;
}

static void squeeze(struct directory *directory)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < directory->used; i++)
        if (entry_of(directory->entries[i]))
            directory->entries[to++] = directory->entries[i];
    directory->used = to;
    rehash(directory, directory->count);
}

static void make_room(struct directory *directory)
{
    if (directory->used < directory->room)
        return;
    if (directory->count < directory->used - directory->used / 4) {
        squeeze(directory);
        return;
    }
    CHECK(directory->room < UINT32_MAX / 2 - BUCKET_FIRST);
    directory->room = directory->room ? directory->room + directory->room / 2 + 2 : 4;
    directory->entries =
        check_alloc(realloc(directory->entries, directory->room * sizeof *directory->entries));
}

struct entry *directory_add(struct directory *directory, struct wire_bytes name, struct inode *inode, uint64_t cookie)
{
    struct entry *entry = check_alloc(malloc(sizeof *entry + name.length));
    CHECK(cookie == 0 || cookie >= directory->next_cookie);
    *entry = (struct entry){.inode = inode, .name_length = (uint8_t)name.length, .hash = hash_name(name)};
    entry->cookie = (cookie ? cookie : directory->next_cookie) & COOKIE_MASK;
    directory->next_cookie = entry->cookie + 1;
    memcpy(entry->name, name.data, name.length);
    make_room(directory);
    directory->entries[directory->used++] = (uintptr_t)entry;
    directory->count++;
    if (directory->bucket_count ? directory->buckets_taken >= directory->bucket_count / 4 * 3 : directory->used > SMALL)
        rehash(directory, directory->count > SMALL ? directory->count : SMALL + 1);
    else if (directory->bucket_count)
        put_bucket(directory, entry->hash, directory->used - 1);
    return entry;
}

void directory_remove(struct directory *directory, struct entry *entry)
{
    uint32_t position = directory_position_after(directory, entry->cookie - 1);
    CHECK(position < directory->used && entry_of(directory->entries[position]) == entry);
    if (directory->bucket_count) {
        int64_t b = find_bucket(directory, wire_bytes_of(entry->name, entry->name_length), entry->hash);
        CHECK(b >= 0);
        directory->buckets[b] = BUCKET_WAS;
    }
    directory->entries[position] = gap_of(entry);
    directory->count--;
    free(entry);
    while (directory->used && !entry_of(directory->entries[directory->used - 1]))
        directory->used--;
    if (directory->used > SMALL && directory->count < directory->used / 2)
        squeeze(directory);
}
