/* SPDX-License-Identifier: Apache-2.0
 *
 * Power failures at random moments, with random subsets of unsynced pages lost, and kills: what was
 * acknowledged is there (after a kill: what was written), what comes back is what was written, and opening is
 * never refused. CALF_TEST_CASES and CALF_TEST_SEED make it longer, or repeat one case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/checksum.h"
#include "master/journal.h"
#include "tests/unit/dropping_disk.h"
#include "tests/unit/scratch_dir.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CASES = 60 }; /* many times as slow */
#else
enum { CASES = 500 };
#endif
enum { CRASHES = 4, STEPS = 40, RECORDS_LIMIT = 4096, BODY_LIMIT = 9000 };

struct model {
    char dir[SCRATCH_PATH];
    struct dropping_disk disk;
    uint64_t random, seed;
    enum journal_sync sync;
    uint64_t sums[RECORDS_LIMIT]; /* of each record by its number */
    uint64_t last, committed;     /* appended; committed while the disk lived */
    uint64_t acknowledged;        /* the same with a sync */
    uint64_t dropped;             /* records up to this one were dropped: a snapshot has them */
    uint64_t replayed;
};

static uint64_t pick(struct model *model, uint64_t below)
{
    return disk_random(&model->random) % below;
}

static uint64_t sum_of(const struct journal_record *record)
{
    uint64_t sum = checksum_chain(record->sequence, record->body, record->body_bytes);
    return checksum_chain(sum, &record->session, sizeof record->session);
}

static int take(void *context, const struct journal_record *record)
{
    struct model *model = context;
    uint64_t index = ++model->replayed;
    if (index > model->last || model->sums[index] != sum_of(record))
        fail_msg("seed %llu: record %llu is not what was written", (unsigned long long)model->seed,
                 (unsigned long long)index);
    return 0;
}

static void append(struct model *model, struct journal *journal)
{
    static uint8_t body[BODY_LIMIT];
    uint32_t bytes = (uint32_t)pick(model, pick(model, 4) ? 200 : BODY_LIMIT);
    for (uint32_t i = 0; i < bytes; i += 8)
        body[i] = (uint8_t)disk_random(&model->random);
    struct journal_record record = {.type = 1, .session = disk_random(&model->random),
                                    .sequence = (uint32_t)model->last, .body = body, .body_bytes = bytes};
    journal_append(journal, &record);
    model->sums[++model->last] = sum_of(&record);
    assert_int_equal(journal_last_index(journal), model->last);
}

static bool alive(struct model *model)
{
    pthread_mutex_lock(&model->disk.lock);
    bool yes = !model->disk.dead;
    pthread_mutex_unlock(&model->disk.lock);
    return yes;
}

/* One thing that a master does. */
static void step(struct model *model, struct journal *journal)
{
    uint64_t what = pick(model, 20);
    bool synced = false;
    if (what == 0) {
        assert_int_equal(journal_rotate(journal), 0);
        synced = true;
    } else if (what == 1 && model->acknowledged > model->dropped) {
        model->dropped += 1 + pick(model, model->acknowledged - model->dropped);
        assert_int_equal(journal_drop_before(journal, model->dropped + 1), 0);
    } else {
        for (uint64_t n = 1 + pick(model, 5); n; n--)
            append(model, journal);
        bool need_sync = pick(model, 3) != 0;
        assert_int_equal(journal_commit(journal, need_sync), 0);
        synced = need_sync && model->sync == JOURNAL_SYNC_ALWAYS;
    }
    if (alive(model))
        model->committed = model->last;
    if (synced && alive(model))
        model->acknowledged = model->last;
}

/* From opening to the crash. */
static void live(struct model *model)
{
    struct journal *journal;
    char why[JOURNAL_WHY_BYTES];
    struct journal_io io = disk_io(&model->disk);
    model->disk.die_after = pick(model, 2) ? (int64_t)pick(model, 60) : -1;
    model->replayed = model->dropped;
    int rc = journal_open_with(&io, model->dir, model->sync, model->dropped, take, model, why, sizeof why, &journal);
    if (rc < 0)
        fail_msg("seed %llu: %s", (unsigned long long)model->seed, why);
    if (model->replayed < model->committed)
        fail_msg("seed %llu: %llu records came back, %llu had been acknowledged", (unsigned long long)model->seed,
                 (unsigned long long)model->replayed, (unsigned long long)model->committed);
    model->last = model->replayed;
    if (alive(model))
        model->acknowledged = model->committed = model->last; /* whoever has read it may rely on it: opening syncs */
    for (uint64_t n = pick(model, STEPS); n && alive(model); n--)
        step(model, journal);
    if (pick(model, 4) == 0) {
        journal_close(journal);
        if (alive(model))
            model->acknowledged = model->committed = model->last;
        disk_stop(&model->disk);
    } else {
        disk_stop(&model->disk);
        journal_close(journal);
    }
    if (pick(model, 3) == 0) {
        disk_go_on(&model->disk);
    } else {
        disk_lose(&model->disk);
        model->committed = model->acknowledged;
    }
}

static void run_case(uint64_t seed, enum journal_sync sync)
{
    struct model model = {.random = seed * 2 + 1, .seed = seed, .sync = sync};
    scratch_make(model.dir);
    disk_init(&model.disk, seed + 1000000);
    for (int i = 0; i <= CRASHES; i++)
        live(&model);
    disk_fini(&model.disk);
    scratch_remove(model.dir);
}

static void run_cases(enum journal_sync sync)
{
    const char *cases = getenv("CALF_TEST_CASES"), *seed = getenv("CALF_TEST_SEED");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    uint64_t count = cases ? strtoull(cases, NULL, 10) : seed ? 1 : CASES;
    for (uint64_t i = 0; i < count; i++)
        run_case(first + i, sync);
}

static void test_always(void **state)
{
    (void)state;
    run_cases(JOURNAL_SYNC_ALWAYS);
}

static void test_interval(void **state)
{
    (void)state;
    run_cases(JOURNAL_SYNC_INTERVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_always), cmocka_unit_test(test_interval)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
