/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk that forgets: it stands under a journal (struct journal_io) and knows of each file what was synced.
 * When the power fails, each 4 KiB page of a file is, at random, what was written or what was synced last, and
 * the length is either too. It can also fail a write or a sync, or stop in the middle of one: after that it
 * says yes to everything and does nothing.
 */
#ifndef CALF_DROPPING_DISK_H
#define CALF_DROPPING_DISK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "master/journal.h"

enum { DISK_FILES = 64, DISK_PAGE = 4096 };

struct disk_file {
    ino_t inode;
    int fd; /* a descriptor of the disk's own */
    uint8_t *synced;
    size_t synced_bytes;
};

struct dropping_disk {
    pthread_mutex_t lock; /* of all below: the journal syncs in a thread of its own */
    struct disk_file files[DISK_FILES];
    int count;
    uint64_t random;
    int64_t die_after; /* operations until it stops; negative: never */
    bool dead;
    int fail_writes_after, fail_syncs_after; /* operations until they fail; negative: never */
    int write_error, sync_error;
    uint64_t syncs, writes;
};

/* xorshift64*: any seed but 0. */
static inline uint64_t disk_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline struct disk_file *disk_find(struct dropping_disk *disk, int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        abort();
    for (int i = 0; i < disk->count; i++)
        if (disk->files[i].inode == status.st_ino)
            return &disk->files[i];
    if (disk->count == DISK_FILES)
        abort();
    disk->files[disk->count] = (struct disk_file){.inode = status.st_ino, .fd = dup(fd)};
    return &disk->files[disk->count++];
}

static inline size_t disk_read(int fd, uint8_t **data)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        abort();
    size_t bytes = (size_t)status.st_size;
    *data = calloc(1, bytes + 1);
    if (!*data || pread(fd, *data, bytes, 0) != (ssize_t)bytes)
        abort();
    return bytes;
}

static inline void disk_sync(struct disk_file *file)
{
    free(file->synced);
    file->synced_bytes = disk_read(file->fd, &file->synced);
}

/* True if the disk stops with this operation. */
static inline bool disk_step(struct dropping_disk *disk)
{
    if (disk->die_after < 0 || disk->die_after-- > 0)
        return false;
    disk->dead = true;
    return true;
}

static inline ssize_t disk_pwrite(void *context, int fd, const void *data, size_t bytes, off_t offset)
{
    struct dropping_disk *disk = context;
    ssize_t rc = (ssize_t)bytes;
    pthread_mutex_lock(&disk->lock);
    if (!disk->dead) {
        (void)disk_find(disk, fd);
        disk->writes++;
        size_t part = disk_step(disk) ? disk_random(&disk->random) % (bytes + 1) : bytes;
        if (disk->fail_writes_after >= 0 && disk->fail_writes_after-- == 0) {
            disk->fail_writes_after = 0;
            part = bytes / 2;
            rc = -1;
        }
        if (pwrite(fd, data, part, offset) != (ssize_t)part)
            abort();
    }
    pthread_mutex_unlock(&disk->lock);
    errno = disk->write_error;
    return rc;
}

static inline int disk_fdatasync(void *context, int fd)
{
    struct dropping_disk *disk = context;
    int rc = 0;
    pthread_mutex_lock(&disk->lock);
    if (!disk->dead && !disk_step(disk)) {
        disk->syncs++;
        if (disk->fail_syncs_after >= 0 && disk->fail_syncs_after-- == 0)
            rc = -1; /* once: the kernel says it once too, and then forgets */
        else
            disk_sync(disk_find(disk, fd));
    }
    pthread_mutex_unlock(&disk->lock);
    errno = disk->sync_error;
    return rc;
}

static inline int disk_ftruncate(void *context, int fd, off_t bytes)
{
    struct dropping_disk *disk = context;
    int rc = 0;
    pthread_mutex_lock(&disk->lock);
    if (!disk->dead) {
        (void)disk_find(disk, fd);
        if (!disk_step(disk))
            rc = ftruncate(fd, bytes);
    }
    pthread_mutex_unlock(&disk->lock);
    return rc;
}

static inline int disk_rename(void *context, int dir_fd, const char *from, const char *to)
{
    struct dropping_disk *disk = context;
    int rc = 0;
    pthread_mutex_lock(&disk->lock);
    if (!disk->dead && (!disk_step(disk) || disk_random(&disk->random) % 2))
        rc = renameat(dir_fd, from, dir_fd, to);
    pthread_mutex_unlock(&disk->lock);
    return rc;
}

static inline void disk_init(struct dropping_disk *disk, uint64_t seed)
{
    *disk = (struct dropping_disk){.random = seed * 2 + 1, .die_after = -1, .fail_writes_after = -1,
                                   .fail_syncs_after = -1, .write_error = ENOSPC, .sync_error = EIO};
    pthread_mutex_init(&disk->lock, NULL);
}

static inline struct journal_io disk_io(struct dropping_disk *disk)
{
    return (struct journal_io){disk_pwrite, disk_fdatasync, disk_ftruncate, disk_rename, disk};
}

/* From here on nothing reaches the files; the journal can be closed. */
static inline void disk_stop(struct dropping_disk *disk)
{
    pthread_mutex_lock(&disk->lock);
    disk->dead = true;
    pthread_mutex_unlock(&disk->lock);
}

static inline void disk_lose_pages(struct dropping_disk *disk, struct disk_file *file)
{
    uint8_t *now;
    size_t bytes = disk_read(file->fd, &now), end = disk_random(&disk->random) % 2 ? bytes : file->synced_bytes;
    uint8_t *after = calloc(1, end + DISK_PAGE);
    uint64_t mood = disk_random(&disk->random) % 4; /* lose none, all, or some */
    for (size_t at = 0; at < end; at += DISK_PAGE) {
        bool lose = mood == 0 ? false : mood == 1 ? true : disk_random(&disk->random) % 2 == 0;
        const uint8_t *from = lose ? file->synced : now;
        size_t have = lose ? file->synced_bytes : bytes;
        if (at < have)
            memcpy(after + at, from + at, have - at < DISK_PAGE ? have - at : DISK_PAGE);
    }
    if (ftruncate(file->fd, 0) < 0 || pwrite(file->fd, after, end, 0) != (ssize_t)end)
        abort();
    free(after);
    free(now);
}

/* The program ended, by kill -9 perhaps, and the machine went on (after disk_stop): all that was written is
 * there, none of it synced. */
static inline void disk_go_on(struct dropping_disk *disk)
{
    disk->dead = false;
    disk->die_after = -1;
}

/* The power fails (after disk_stop), and comes back: what is in the files now has survived. */
static inline void disk_lose(struct dropping_disk *disk)
{
    for (int i = 0; i < disk->count; i++) {
        disk_lose_pages(disk, &disk->files[i]);
        disk_sync(&disk->files[i]);
    }
    disk_go_on(disk);
}

static inline void disk_fini(struct dropping_disk *disk)
{
    for (int i = 0; i < disk->count; i++) {
        (void)close(disk->files[i].fd);
        free(disk->files[i].synced);
    }
    pthread_mutex_destroy(&disk->lock);
}

#endif
