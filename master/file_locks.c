/* SPDX-License-Identifier: Apache-2.0 */
#include "master/file_locks.h"

#include <stdlib.h>

#include "common/check.h"

static struct locked_file *find(const struct file_locks *locks, inode_id ino)
{
    return (struct locked_file *)id_table_find(&locks->files, ino);
}

static struct locked_file *find_or_make(struct file_locks *locks, inode_id ino)
{
    struct locked_file *file = find(locks, ino);
    if (file)
        return file;
    file = check_alloc(calloc(1, sizeof *file));
    file->node.id = ino;
    id_table_add(&locks->files, &file->node);
    return file;
}

static void free_if_empty(struct file_locks *locks, struct locked_file *file)
{
    if (file->locks || file->waiters)
        return;
    CHECK(id_table_remove(&locks->files, file->node.id) == &file->node);
    free(file);
}

static void free_waiters(struct lock_waiter *list)
{
    while (list) {
        struct lock_waiter *next = list->next;
        free(list);
        list = next;
    }
}

void file_locks_fini(struct file_locks *locks)
{
    struct id_walk walk;
    for (struct id_node *node = id_table_first(&locks->files, &walk); node; node = id_table_next(&locks->files, &walk)) {
        struct locked_file *file = (struct locked_file *)node;
        for (struct file_lock *lock = file->locks, *next; lock; lock = next) {
            next = lock->next;
            free(lock);
        }
        free_waiters(file->waiters);
        free(file);
    }
    id_table_fini(&locks->files);
}

/* ---- comparing ---- */

static bool is_same_owner(const struct file_lock *a, const struct file_lock *b)
{
    return a->flock == b->flock && a->session == b->session && a->owner == b->owner;
}

static bool overlaps(const struct file_lock *a, const struct file_lock *b)
{
    return a->start <= b->end && b->start <= a->end;
}

/* The order in which locks of a file are kept: by kind, owner, start. */
static bool is_before(const struct file_lock *a, const struct file_lock *b)
{
    if (a->flock != b->flock)
        return a->flock < b->flock;
    if (a->session != b->session)
        return a->session < b->session;
    if (a->owner != b->owner)
        return a->owner < b->owner;
    return a->start < b->start;
}

const struct file_lock *file_locks_conflict(const struct file_locks *locks, inode_id ino, const struct file_lock *wanted)
{
    const struct locked_file *file = find(locks, ino);
    if (!file || wanted->type == WIRE_LOCK_NONE)
        return NULL;
    for (const struct file_lock *lock = file->locks; lock; lock = lock->next)
        if (lock->flock == wanted->flock && !is_same_owner(lock, wanted) && overlaps(lock, wanted) &&
            (lock->type == WIRE_LOCK_WRITE || wanted->type == WIRE_LOCK_WRITE))
            return lock;
    return NULL;
}

/* ---- changing ---- */

static void insert(struct locked_file *file, const struct file_lock *lock)
{
    struct file_lock **link = &file->locks, *copy = check_alloc(malloc(sizeof *copy));
    while (*link && is_before(*link, lock))
        link = &(*link)->next;
    *copy = *lock;
    copy->next = *link;
    *link = copy;
    file->count++;
}

static void remove_at(struct locked_file *file, struct file_lock **link)
{
    struct file_lock *lock = *link;
    *link = lock->next;
    file->count--;
    free(lock);
}

/* Of one of the owner's locks, what lies outside the range stays. Up to two pieces come out of it. */
static int keep_outside(const struct file_lock *lock, const struct file_lock *range, struct file_lock pieces[2])
{
    int count = 0;
    if (lock->start < range->start) {
        pieces[count] = *lock;
        pieces[count++].end = range->start - 1;
    }
    if (lock->end > range->end) {
        pieces[count] = *lock;
        pieces[count++].start = range->end + 1;
    }
    return count;
}

/* Clears the owner's own locks from the range. True if that gave something up which `type` does not give again. */
static bool clear_range(struct locked_file *file, const struct file_lock *range)
{
    struct file_lock kept[4]; /* only the locks at the two ends of the range leave a piece, or one lock leaves two */
    int count = 0;
    bool freed = false;
    for (struct file_lock **link = &file->locks; *link;) {
        if (!is_same_owner(*link, range) || !overlaps(*link, range)) {
            link = &(*link)->next;
            continue;
        }
        freed = freed || (*link)->type > range->type;
        count += keep_outside(*link, range, kept + count);
        CHECK(count <= 2);
        remove_at(file, link);
    }
    for (int i = 0; i < count; i++)
        insert(file, &kept[i]);
    return freed;
}

/* Takes in the owner's neighbours of the same type. They touch, for the range itself is clear. */
static void swallow_neighbours(struct locked_file *file, struct file_lock *lock)
{
    for (struct file_lock **link = &file->locks; *link;) {
        const struct file_lock *other = *link;
        bool touches = (other->end != UINT64_MAX && other->end + 1 == lock->start) ||
                       (lock->end != UINT64_MAX && lock->end + 1 == other->start);
        if (!touches || !is_same_owner(other, lock) || other->type != lock->type) {
            link = &(*link)->next;
            continue;
        }
        if (other->start < lock->start)
            lock->start = other->start;
        else
            lock->end = other->end;
        remove_at(file, link);
    }
}

uint16_t file_locks_set(struct file_locks *locks, inode_id ino, const struct file_lock *wanted, bool *freed)
{
    *freed = false;
    if (file_locks_conflict(locks, ino, wanted))
        return WIRE_LOCKED;
    struct locked_file *file = find(locks, ino);
    if (wanted->type == WIRE_LOCK_NONE && !file)
        return WIRE_OK;
    if (file && file->count >= FILE_LOCKS_OF_FILE_LIMIT) /* also giving back can need one more: the middle of one */
        if (wanted->type != WIRE_LOCK_NONE || wanted->start != 0)
            return WIRE_NO_LOCKS;
    file = find_or_make(locks, ino);
    *freed = clear_range(file, wanted);
    if (wanted->type != WIRE_LOCK_NONE) {
        struct file_lock lock = *wanted;
        swallow_neighbours(file, &lock);
        insert(file, &lock);
    }
    free_if_empty(locks, file);
    return WIRE_OK;
}

bool file_locks_drop(struct file_locks *locks, inode_id ino, session_id session)
{
    struct locked_file *file = find(locks, ino);
    bool any = false;
    if (!file)
        return false;
    for (struct file_lock **link = &file->locks; *link;) {
        if (session && (*link)->session != session) {
            link = &(*link)->next;
            continue;
        }
        remove_at(file, link);
        any = true;
    }
    free_if_empty(locks, file);
    return any;
}

void file_locks_restore(struct file_locks *locks, inode_id ino, const struct file_lock *lock)
{
    insert(find_or_make(locks, ino), lock);
}

/* ---- waiting ---- */

void file_locks_add_waiter(struct file_locks *locks, inode_id ino, session_id session)
{
    struct locked_file *file = find_or_make(locks, ino);
    for (const struct lock_waiter *waiter = file->waiters; waiter; waiter = waiter->next)
        if (waiter->session == session)
            return;
    struct lock_waiter *waiter = check_alloc(malloc(sizeof *waiter));
    *waiter = (struct lock_waiter){file->waiters, session};
    file->waiters = waiter;
}

struct lock_waiter *file_locks_take_waiters(struct file_locks *locks, inode_id ino)
{
    struct locked_file *file = find(locks, ino);
    if (!file)
        return NULL;
    struct lock_waiter *list = file->waiters;
    file->waiters = NULL;
    free_if_empty(locks, file);
    return list;
}
