/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/scrub.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "chunkserver/chunk_format.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/wire_schema.h"

enum {
    RUN_BLOCKS = WIRE_IO_LIMIT / WIRE_BLOCK_BYTES,
    BUSY_BYTES = 1 << 20, /* served in a second: it is not idle */
    BUSY_PARTS = 8,
};

struct scrub {
    struct store *store;
    struct serve_counters *counters;
    uint64_t bytes_per_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
    uint64_t budget, served; /* bytes: left of this second; served when it began */
    uint8_t *data;
    uint64_t sums[RUN_BLOCKS];
    uint8_t map[CHUNK_FORMAT_BLOCKS_LIMIT / 8];
};

/* True if it is to end. */
static bool wait_a_second(struct scrub *s)
{
    int64_t until = clock_mono_ns() + NS_PER_S;
    struct timespec deadline = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    SCOPE_UNLOCK(&s->lock);
    while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &deadline) == 0) {
    }
    return s->stop;
}

static uint64_t served(const struct scrub *s)
{
    struct wire_counters now = serve_counters_read(s->counters);
    return now.read_bytes + now.write_bytes;
}

/* Spends of the budget, and waits for the next second's when it is used up. True if it is to end. */
static bool spend(struct scrub *s, uint64_t bytes)
{
    while (s->budget < bytes) {
        if (wait_a_second(s))
            return true;
        uint64_t before = s->served;
        s->served = served(s);
        s->budget += s->served - before > BUSY_BYTES ? s->bytes_per_s / BUSY_PARTS : s->bytes_per_s;
    }
    s->budget -= bytes;
    return false;
}

static bool has_data(const struct scrub *s, uint32_t block)
{
    return s->map[block / 8] >> block % 8 & 1;
}

/* Blocks without data cost nothing. True if it is to end. A chunk that goes or changes its version meanwhile is done. */
static bool scrub_chunk(struct scrub *s, const struct store_report *chunk)
{
    uint32_t bytes = s->store->identity.geometry.block_bytes, end;
    uint32_t blocks = chunk_format_blocks(&s->store->identity.geometry);
    if (spend(s, CHUNK_FORMAT_PAGE))
        return true;
    if (s->store->ops->check_header(s->store, chunk->id) < 0 ||
        s->store->ops->map(s->store, chunk->id, chunk->version, s->map) < 0)
        return false;
    for (uint32_t first = 0; first < blocks; first = end) {
        end = first;
        while (end < blocks && end - first < RUN_BLOCKS && has_data(s, end))
            end++;
        if (end == first) {
            end++;
            continue;
        }
        struct store_read read = {.id = chunk->id,
                                  .version = chunk->version,
                                  .offset = first * bytes,
                                  .length = (end - first) * bytes,
                                  .verify = true};
        if (spend(s, read.length))
            return true;
        (void)s->store->ops->read(s->store, &read, s->data, s->sums); /* what does not match is noted there */
    }
    return false;
}

static void *run(void *argument)
{
    struct scrub *s = (struct scrub *)argument;
    s->served = served(s);
    while (!wait_a_second(s)) {
        struct store_report *chunks = NULL;
        if (!s->store->ready)
            continue;
        int64_t began = clock_mono_ns(), count = s->store->ops->list(s->store, &chunks);
        bool stop = false;
        for (int64_t i = 0; i < count && !stop; i++)
            if (!chunks[i].damaged)
                stop = scrub_chunk(s, &chunks[i]);
        free(chunks);
        if (count && !stop)
            log_debug("all %" PRId64 " chunks were compared with their checksums, in %" PRId64 " s", count,
                      (clock_mono_ns() - began) / NS_PER_S);
    }
    return NULL;
}

struct scrub *scrub_create(struct store *store, struct serve_counters *counters, uint64_t bytes_per_s)
{
    struct scrub *s = check_alloc(calloc(1, sizeof *s));
    pthread_condattr_t monotonic;
    s->store = store;
    s->counters = counters;
    s->bytes_per_s = bytes_per_s < WIRE_BLOCK_BYTES ? WIRE_BLOCK_BYTES : bytes_per_s;
    s->data = check_alloc(aligned_alloc(CHUNK_FORMAT_PAGE, WIRE_IO_LIMIT));
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    CHECK(pthread_mutex_init(&s->lock, NULL) == 0);
    CHECK(pthread_cond_init(&s->wake, &monotonic) == 0);
    (void)pthread_condattr_destroy(&monotonic);
    CHECK(pthread_create(&s->thread, NULL, run, s) == 0);
    return s;
}

void scrub_destroy(struct scrub *scrub)
{
    if (!scrub)
        return;
    {
        SCOPE_UNLOCK(&scrub->lock);
        scrub->stop = true;
        (void)pthread_cond_signal(&scrub->wake);
    }
    (void)pthread_join(scrub->thread, NULL);
    (void)pthread_mutex_destroy(&scrub->lock);
    (void)pthread_cond_destroy(&scrub->wake);
    free(scrub->data);
    free(scrub);
}
