/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores that were interrupted: by hand at a chosen point, and by kill -9 at any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/log.h"
#include "store_fixture.h"

static void interrupted_writes_are_mended_at_the_start(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[SMALL_CHUNK], other[SMALL_CHUNK], back[SMALL_CHUNK];
    char path[2 * SCRATCH_PATH];
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    fixture_fill(data, sizeof data, 1);
    fixture_fill(other, sizeof other, 2);
    assert_int_equal(fixture_write(&x, 1, 1, 0, 12 * BLOCK, data, true), 0);
    assert_int_equal(fixture_write(&x, 1, 1, 10 * BLOCK, BLOCK, NULL, false), 0);
    fixture_close(&x);
    /* A write of blocks 2 to 14 died: 2 and 3 have new data, block 10 (cut) and 13 (never written) too, the rest not. */
    fixture_chunk_path(&x, 1, path);
    struct files_intent intent = {1, chunk_format_seal(1, CHUNK_SEAL_INTENT, chunk_format_intent(2, 13)), {0}};
    char writing[2 * SCRATCH_PATH];
    fixture_pwrite(scratch_path(x.path, "writing", writing), &intent, sizeof intent, 7 * sizeof intent);
    static const unsigned written[] = {2, 3, 10, 13};
    for (unsigned i = 0; i < 4; i++)
        fixture_pwrite(path, other + written[i] * BLOCK, BLOCK, fixture_data_start(SMALL_CHUNK) + written[i] * BLOCK);
    assert_int_equal(fixture_open(&x), 0);
    memcpy(data + 2 * BLOCK, other + 2 * BLOCK, 2 * BLOCK);
    memset(data + 10 * BLOCK, 0, BLOCK);
    memset(data + 12 * BLOCK, 0, 4 * BLOCK);
    assert_int_equal(fixture_read(&x, 1, 1, 0, SMALL_CHUNK, back), 0);
    assert_memory_equal(back, data, SMALL_CHUNK);
    assert_int_equal(fixture_used(&x), fixture_chunk_pages(11) * 4096);
    /* The intent is gone: rot is rot again. */
    fixture_close(&x);
    fixture_pwrite(path, "rot", 3, fixture_data_start(SMALL_CHUNK) + 4 * BLOCK);
    assert_int_equal(fixture_open(&x), 0);
    assert_int_equal(fixture_read(&x, 1, 1, 0, SMALL_CHUNK, back), -EUCLEAN);
    fixture_remove(&x);
}

/* What a process that is going to be killed has been told of: shared with its parent. */
struct ledger {
    _Atomic uint32_t acknowledged[2][SMALL_CHUNK / BLOCK]; /* per chunk and block: number of the last write that returned */
    _Atomic uint32_t begun[2][SMALL_CHUNK / BLOCK];
};

static void write_until_killed(struct store_fixture *x, struct ledger *l, uint64_t seed)
{
    uint8_t data[4 * BLOCK];
    if (fixture_open(x) != 0)
        _exit(1);
    for (;;) {
        uint32_t c = fixture_random(&seed, 2), first = fixture_random(&seed, 16), count = 1 + fixture_random(&seed, 16 - first);
        count = count > 4 ? 4 : count;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t number = ++l->begun[c][first + i];
            for (uint32_t at = 0; at < BLOCK; at += 4)
                memcpy(data + i * BLOCK + at, &number, 4);
        }
        if (fixture_write(x, 1 + c, 1, first * BLOCK, count * BLOCK, data, true) != 0)
            _exit(2);
        for (uint32_t i = 0; i < count; i++)
            l->acknowledged[c][first + i] = l->begun[c][first + i];
        /* The same bytes again, in a part of a block that is read and written back. */
        if (fixture_write(x, 1 + c, 1, first * BLOCK + 5, 2, data + 5, false) != 0)
            _exit(3);
    }
}

static void a_killed_process_loses_nothing_acknowledged(void **state)
{
    (void)state;
    struct store_fixture x;
    uint64_t seed = 5;
    uint8_t back[SMALL_CHUNK];
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    fixture_close(&x);
    struct ledger *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(l != MAP_FAILED);
    for (int round = 0; round < 40; round++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_until_killed(&x, l, seed + (uint64_t)round);
        (void)usleep(5000 + fixture_random(&seed, 20000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(fixture_open(&x), 0);
        for (uint32_t c = 0; c < 2; c++) {
            int rc = fixture_read(&x, 1 + c, 1, 0, SMALL_CHUNK, back);
            for (uint32_t b = 0; rc == 0 && b < SMALL_CHUNK / BLOCK; b++) {
                uint32_t number;
                memcpy(&number, back + b * BLOCK, 4);
                assert_in_range(number, l->acknowledged[c][b], l->begun[c][b]);
                l->acknowledged[c][b] = l->begun[c][b] = number;
            }
            assert_true(rc == 0 || (rc == -ENOMEDIUM && l->acknowledged[c][0] == 0));
        }
        fixture_close(&x);
    }
    (void)munmap(l, sizeof *l);
    fixture_remove(&x);
}

static void deleting_half_done_is_finished_at_the_start(void **state)
{
    (void)state;
    struct store_fixture x;
    char path[2 * SCRATCH_PATH];
    uint8_t data[BLOCK];
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    assert_int_equal(fixture_write(&x, 1, 1, 0, 1, "x", true), 0);
    fixture_close(&x);
    uint64_t none = chunk_format_seal(1, CHUNK_SEAL_VERSION, 0);
    fixture_pwrite(fixture_chunk_path(&x, 1, path), &none, 8, offsetof(struct chunk_page, version));
    assert_int_equal(fixture_open(&x), 0);
    assert_int_equal(fixture_entries(&x, "free"), 1);
    assert_int_equal(fixture_entries(&x, "quarantine"), 0);
    assert_int_equal(fixture_read(&x, 1, 1, 0, BLOCK, data), -ENOMEDIUM);
    assert_int_equal(fixture_used(&x), 0);
    fixture_remove(&x);
}

int main(void)
{
    log_init("test_store_crash", LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_writes_are_mended_at_the_start),
        cmocka_unit_test(a_killed_process_loses_nothing_acknowledged),
        cmocka_unit_test(deleting_half_done_is_finished_at_the_start),
    };
    int failed = cmocka_run_group_tests_name("on a RAM disk", tests, NULL, NULL);
    fixture_on_a_disk();
    return failed + cmocka_run_group_tests_name("on a disk", tests, NULL, NULL);
}
