/* SPDX-License-Identifier: Apache-2.0
 *
 * Getting test files out of the page cache, and proving it: what cachestat(2) (Linux 6.5), or mincore(2) before,
 * still finds in the cache is counted. Outside of every measured window. Stateless; blocks on the file system.
 */
#ifndef CALF_IOBENCH_CACHE_POLICY_H
#define CALF_IOBENCH_CACHE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "iobench/workers.h"

/* Of the files' pages so many may still be cached in a cold run. */
#define CACHE_POLICY_COLD_SHARE 0.01

/* Writes the files' dirty pages back and drops their clean ones. *cold: proven that no more than the share
 * above is left (a file system without a page cache of its own, such as tmpfs, keeps them: never cold). If
 * the polite way is not enough (another process may hold the pages) and we are root, the kernel's whole cache
 * is dropped once. 0 or a negative errno, with *which the index of the file. */
int cache_policy_drop(const struct worker_file *files, uint32_t count, bool *cold, uint32_t *which)
    __attribute__((warn_unused_result));

/* As root, lets the kernel forget names and attributes that it holds in reserve; nobody else can. */
void cache_policy_drop_names(void);

/* Pages of the open file that are in the page cache. 0, or a negative errno where neither way works. */
int cache_policy_cached_pages(int fd, uint64_t file_bytes, uint64_t *pages) __attribute__((warn_unused_result));

#endif
