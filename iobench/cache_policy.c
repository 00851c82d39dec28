/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/cache_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scope.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* As in the kernel's linux/mman.h, which is older in some distributions. */
struct page_range {
    uint64_t offset, bytes;
};

struct page_counts {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int pages_by_mincore(int fd, uint64_t file_bytes, uint64_t *pages)
{
    uint64_t total = (file_bytes + page_bytes() - 1) / page_bytes();
    *pages = 0;
    if (total == 0)
        return 0;
    SCOPE_FREE unsigned char *resident = malloc(total);
    if (!resident)
        return -ENOMEM;
    void *map = mmap(NULL, file_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    int rc = mincore(map, file_bytes, resident) < 0 ? -errno : 0;
    (void)munmap(map, file_bytes);
    for (uint64_t i = 0; rc == 0 && i < total; i++)
        *pages += resident[i] & 1;
    return rc;
}

int cache_policy_cached_pages(int fd, uint64_t file_bytes, uint64_t *pages)
{
    struct page_range all = {0, 0};
    struct page_counts counts = {0};
    if (syscall(SYS_cachestat, fd, &all, &counts, 0) == 0) {
        *pages = counts.cached;
        return 0;
    }
    return pages_by_mincore(fd, file_bytes, pages);
}

struct cache_left {
    uint64_t cached, total; /* pages */
    bool known;
};

static int drop_file(const char *path, struct cache_left *left)
{
    SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fdatasync(fd) < 0 || fstat(fd, &st) < 0)
        return -errno;
    int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (error != 0)
        return -error;
    uint64_t pages;
    if (cache_policy_cached_pages(fd, (uint64_t)st.st_size, &pages) < 0)
        left->known = false;
    else
        left->cached += pages;
    left->total += ((uint64_t)st.st_size + page_bytes() - 1) / page_bytes();
    return 0;
}

static int drop_files(const struct worker_file *files, uint32_t count, bool *cold, uint32_t *which)
{
    struct cache_left left = {.known = true};
    for (uint32_t i = 0; i < count; i++) {
        int rc = drop_file(files[i].path, &left);
        if (rc < 0) {
            *which = i;
            return rc;
        }
    }
    *cold = left.known && (double)left.cached <= CACHE_POLICY_COLD_SHARE * (double)left.total;
    return 0;
}

static bool drop_whole_cache(const char *what)
{
    SCOPE_CLOSE int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, what, 1) == 1;
}

void cache_policy_drop_names(void)
{
    (void)drop_whole_cache("2");
}

int cache_policy_drop(const struct worker_file *files, uint32_t count, bool *cold, uint32_t *which)
{
    int rc = drop_files(files, count, cold, which);
    if (rc < 0 || *cold || !drop_whole_cache("1"))
        return rc;
    return drop_files(files, count, cold, which);
}
