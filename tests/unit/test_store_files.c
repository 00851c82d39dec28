/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/log.h"
#include "store_fixture.h"

static bool all_zero(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i])
            return false;
    return true;
}

static void ranges_at_block_and_chunk_boundaries(void **state)
{
    (void)state;
    static const uint32_t chunk_sizes[] = {SMALL_CHUNK, LARGE_CHUNK};
    for (unsigned g = 0; g < 2; g++) {
        struct store_fixture x;
        uint32_t end = chunk_sizes[g];
        fixture_make(&x, end, 256 << 20);
        const uint32_t at[] = {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK - 1, end / 2 - 1, end - BLOCK - 1, end - BLOCK, end - 1};
        uint8_t *data = malloc(1 << 20), *back = malloc((1 << 20) + 2 * BLOCK);
        for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
            const uint32_t lengths[] = {1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 9 * BLOCK + 7, end - at[i]};
            for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; k++) {
                uint32_t n = lengths[k] > WIRE_IO_LIMIT ? WIRE_IO_LIMIT : lengths[k];
                if (n > end - at[i])
                    continue;
                fixture_fill(data, n, i * 100 + k);
                assert_int_equal(fixture_write(&x, 5, 1, at[i], n, data, true), 0);
                uint32_t from = at[i] / BLOCK * BLOCK, to = (at[i] + n + BLOCK - 1) / BLOCK * BLOCK;
                assert_int_equal(fixture_read(&x, 5, 1, from, to - from, back), 0);
                assert_memory_equal(back + (at[i] - from), data, n);
            }
        }
        assert_int_equal(fixture_write(&x, 5, 1, end - 1, 2, data, false), -EINVAL);
        assert_int_equal(fixture_write(&x, 5, 1, end, 1, data, false), -EINVAL);
        assert_int_equal(fixture_write(&x, 5, 1, UINT32_MAX, 1, data, false), -EINVAL);
        assert_int_equal(fixture_write(&x, 5, 1, 0, 0, data, false), -EINVAL);
        assert_int_equal(fixture_read(&x, 5, 1, end - BLOCK, 2 * BLOCK, back), -EINVAL);
        assert_int_equal(fixture_read(&x, 5, 1, 1, BLOCK, back), -EINVAL);
        assert_int_equal(fixture_read(&x, 5, 1, 0, BLOCK - 1, back), -EINVAL);
        assert_int_equal(fixture_read(&x, 5, 1, 0, 0, back), -EINVAL);
        free(data);
        free(back);
        fixture_remove(&x);
    }
}

static void versions_and_absence(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[BLOCK];
    uint64_t sum;
    fixture_make(&x, SMALL_CHUNK, 1 << 20);
    struct store_read absent = {.id = 9, .version = 1, .length = BLOCK, .absent_ok = true};
    assert_int_equal(fixture_read(&x, 9, 1, 0, BLOCK, data), -ENOMEDIUM);
    memset(data, 1, sizeof data);
    assert_int_equal(x.store->ops->read(x.store, &absent, data, &sum), 0);
    assert_true(all_zero(data, sizeof data) && sum == checksum_of_zero_block());
    assert_int_equal(fixture_write(&x, 9, 1, 0, BLOCK, data, false), -ENOMEDIUM);
    assert_int_equal(fixture_write(&x, 9, 1, 0, BLOCK, data, true), 0);
    assert_int_equal(fixture_write(&x, 9, 2, 0, BLOCK, data, true), -EKEYEXPIRED);
    assert_int_equal(fixture_read(&x, 9, 2, 0, BLOCK, data), -EKEYEXPIRED);
    absent.version = 2;
    assert_int_equal(x.store->ops->read(x.store, &absent, data, &sum), -EKEYEXPIRED);
    fixture_remove(&x);
}

/* ---- random operations against a model ---- */

enum { MODEL_CHUNKS = 4 };

struct model {
    bool there[MODEL_CHUNKS];
    uint32_t version[MODEL_CHUNKS];
    uint8_t data[MODEL_CHUNKS][SMALL_CHUNK];
};

static void compare_with_model(struct store_fixture *x, const struct model *m, uint64_t base)
{
    uint8_t back[SMALL_CHUNK];
    for (unsigned c = 0; c < MODEL_CHUNKS; c++) {
        int rc = fixture_read(x, base + c, m->there[c] ? m->version[c] : 1, 0, SMALL_CHUNK, back);
        assert_int_equal(rc, m->there[c] ? 0 : -ENOMEDIUM);
        if (m->there[c])
            assert_memory_equal(back, m->data[c], SMALL_CHUNK);
    }
}

static void model_write(struct store_fixture *x, struct model *m, unsigned c, uint64_t base, uint64_t *seed)
{
    uint8_t data[SMALL_CHUNK];
    uint32_t offset = fixture_random(seed, SMALL_CHUNK), length = 1 + fixture_random(seed, SMALL_CHUNK - offset);
    bool zeros = fixture_random(seed, 4) == 0;
    if (fixture_random(seed, 3) == 0) {
        offset = offset / BLOCK * BLOCK;
        length = (length + BLOCK - 1) / BLOCK * BLOCK;
        length = length > SMALL_CHUNK - offset ? SMALL_CHUNK - offset : length;
    }
    fixture_fill(data, length, *seed);
    if (!m->there[c])
        m->version[c] = 1;
    assert_int_equal(fixture_write(x, base + c, m->version[c], offset, length, zeros ? NULL : data, true), 0);
    m->there[c] = true;
    if (zeros)
        memset(m->data[c] + offset, 0, length);
    else
        memcpy(m->data[c] + offset, data, length);
}

static void model_step(struct store_fixture *x, struct model *m, uint64_t base, uint64_t *seed)
{
    unsigned c = fixture_random(seed, MODEL_CHUNKS), what = fixture_random(seed, 20);
    const struct store_ops *ops = x->store->ops;
    if (what < 14) {
        model_write(x, m, c, base, seed);
    } else if (what < 17 && m->there[c]) {
        uint32_t keep = fixture_random(seed, 3) == 0 ? WIRE_KEEP_ALL : fixture_random(seed, SMALL_CHUNK + 1);
        for (int twice = 0; twice < 2; twice++)
            assert_int_equal(ops->set_version(x->store, base + c, m->version[c], m->version[c] + 1, keep, false), 0);
        m->version[c]++;
        if (keep < SMALL_CHUNK)
            memset(m->data[c] + keep, 0, SMALL_CHUNK - keep);
    } else if (what == 18) {
        assert_int_equal(ops->remove(x->store, base + c, m->there[c] ? m->version[c] : 0), 0);
        m->there[c] = false;
        memset(m->data[c], 0, SMALL_CHUNK);
    } else if (what == 19) {
        fixture_reopen(x);
    }
}

static void random_operations_agree_with_a_model(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= (fixture_durable ? 1 : 12); round++) {
        struct store_fixture x;
        struct model *m = calloc(1, sizeof *m);
        uint64_t seed = round * UINT64_C(0x9e3779b97f4a7c15);
        /* Half of the rounds have just enough space, so that memory must be taken back; some keep only two files open. */
        fixture_make(&x, SMALL_CHUNK, round % 2 ? (MODEL_CHUNKS * 18) * 4096 : 16 << 20);
        x.options.open_limit = round % 3 ? 0 : 2;
        fixture_reopen(&x);
        for (unsigned step = 0; step < (fixture_durable ? 200u : 1500u); step++) {
            model_step(&x, m, 256 * round, &seed);
            if (step % 25 == 0)
                compare_with_model(&x, m, 256 * round);
        }
        fixture_reopen(&x);
        compare_with_model(&x, m, 256 * round);
        assert_int_equal(x.damaged, 0);
        fixture_remove(&x);
        free(m);
    }
}

/* ---- space ---- */

static void a_recycled_file_reads_as_zeros(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[SMALL_CHUNK];
    fixture_make(&x, SMALL_CHUNK, 1 << 20);
    fixture_fill(data, sizeof data, 3);
    assert_int_equal(fixture_write(&x, 1, 1, 0, SMALL_CHUNK, data, true), 0);
    assert_int_equal(x.store->ops->remove(x.store, 1, 1), 0);
    assert_int_equal(fixture_entries(&x, "free"), 1);
    assert_int_equal(fixture_used(&x), 0);
    for (int reopened = 0; reopened < 2; reopened++) {
        assert_int_equal(fixture_write(&x, 2, 1, 5 * BLOCK + 100, 1, "x", true), 0);
        assert_int_equal(fixture_entries(&x, "free"), 0);
        assert_int_equal(fixture_used(&x), fixture_chunk_pages(1) * 4096);
        assert_int_equal(fixture_read(&x, 2, 1, 0, SMALL_CHUNK, data), 0);
        assert_int_equal(data[5 * BLOCK + 100], 'x');
        data[5 * BLOCK + 100] = 0;
        assert_true(all_zero(data, sizeof data));
        fixture_fill(data, sizeof data, 4);
        assert_int_equal(fixture_write(&x, 2, 1, 0, SMALL_CHUNK, data, true), 0);
        assert_int_equal(x.store->ops->remove(x.store, 2, 0), 0);
        fixture_reopen(&x);
        assert_int_equal(fixture_entries(&x, "free"), 1);
    }
    fixture_remove(&x);
}

static void full_is_an_error_and_deleting_mends_it(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[SMALL_CHUNK];
    uint64_t pages = 256;
    fixture_make(&x, SMALL_CHUNK, pages * 4096);
    fixture_fill(data, sizeof data, 3);
    chunk_id id = 0;
    int rc = 0;
    while (rc == 0)
        rc = fixture_write(&x, ++id, 1, 0, SMALL_CHUNK, data, true);
    assert_int_equal(rc, -ENOSPC);
    assert_int_equal(id, pages / fixture_chunk_pages(16) + 1);
    /* What is left is used to the last page: the failed one has left its header at least. */
    while (fixture_write(&x, 500 + id, 1, 0, BLOCK, data, true) == 0)
        id++;
    uint32_t block = 0;
    while (block < 16 && fixture_write(&x, 1 + pages / fixture_chunk_pages(16), 1, block * BLOCK, BLOCK, data, true) == 0)
        block++;
    assert_in_range(fixture_used(&x), (pages - 1) * 4096, pages * 4096);
    /* Overwriting and reading go on. */
    assert_int_equal(fixture_write(&x, 1, 1, 10, SMALL_CHUNK - 20, data, false), 0);
    assert_int_equal(fixture_read(&x, 1, 1, 0, SMALL_CHUNK, data), 0);
    uint64_t used = fixture_used(&x);
    fixture_reopen(&x);
    assert_int_equal(fixture_used(&x), used);
    assert_int_equal(fixture_write(&x, 1000, 1, 0, SMALL_CHUNK, data, true), -ENOSPC);
    assert_int_equal(x.store->ops->remove(x.store, 2, 1), 0);
    assert_int_equal(fixture_write(&x, 1001, 1, 0, SMALL_CHUNK - BLOCK, data, true), 0);
    /* Cut blocks make room for another chunk. */
    assert_int_equal(fixture_write(&x, 1, 1, 0, SMALL_CHUNK, NULL, false), 0);
    assert_int_equal(fixture_write(&x, 1002, 1, 0, 8 * BLOCK, data, true), 0);
    assert_int_equal(fixture_read(&x, 1, 1, 0, SMALL_CHUNK, data), 0);
    assert_true(all_zero(data, sizeof data));
    fixture_remove(&x);
}

static void prefault_fills_the_size_and_is_reused(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[SMALL_CHUNK];
    _Atomic bool stop = false;
    fixture_make(&x, SMALL_CHUNK, 1 << 20);
    assert_int_equal(x.store->ops->prefault(x.store, &stop), 14 * 18 * 4096);
    assert_int_equal(fixture_used(&x), 0);
    fixture_reopen(&x);
    assert_int_equal(fixture_entries(&x, "free"), 14);
    assert_int_equal(fixture_write(&x, 1, 1, 0, 1, "a", true), 0);
    assert_int_equal(fixture_entries(&x, "free"), 13);
    assert_int_equal(fixture_read(&x, 1, 1, 0, SMALL_CHUNK, data), 0);
    assert_true(all_zero(data + 1, sizeof data - 1));
    for (chunk_id id = 2; id <= 14; id++)
        assert_int_equal(fixture_write(&x, id, 1, 0, SMALL_CHUNK, data, true), 0);
    assert_int_equal(fixture_write(&x, 20, 1, 0, BLOCK, data, true), 0); /* from the blocks that chunk 1 does not use */
    fixture_remove(&x);
}

/* ---- versions that cut ---- */

static void set_version_cuts_creates_and_repeats(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[SMALL_CHUNK], back[SMALL_CHUNK];
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    const struct store_ops *ops = x.store->ops;
    assert_int_equal(ops->set_version(x.store, 1, 1, 2, WIRE_KEEP_ALL, false), -ENOMEDIUM);
    assert_int_equal(ops->set_version(x.store, 1, 1, 2, 0, true), 0);
    assert_int_equal(ops->set_version(x.store, 1, 1, 2, 0, true), 0);
    /* Older than the oldest it may be, or newer than what is asked: not the master's copy. One in between is taken. */
    assert_int_equal(ops->set_version(x.store, 1, 3, 4, 0, true), -EKEYEXPIRED);
    assert_int_equal(ops->set_version(x.store, 1, 1, 1, 0, true), -EKEYEXPIRED);
    assert_int_equal(ops->set_version(x.store, 1, 1, 3, 0, true), 0);
    fixture_fill(data, sizeof data, 1);
    const uint32_t keeps[] = {SMALL_CHUNK, SMALL_CHUNK - 1, 9 * BLOCK + 1, 9 * BLOCK, 9 * BLOCK - 1, BLOCK + 1, 1, 0};
    uint32_t version = 3;
    for (unsigned i = 0; i < sizeof keeps / sizeof *keeps; i++, version++) {
        assert_int_equal(fixture_write(&x, 1, version, 0, SMALL_CHUNK, data, false), 0);
        assert_int_equal(ops->set_version(x.store, 1, version, version + 1, keeps[i], false), 0);
        if (i % 2)
            fixture_reopen(&x);
        ops = x.store->ops;
        assert_int_equal(fixture_read(&x, 1, version, 0, SMALL_CHUNK, back), -EKEYEXPIRED);
        assert_int_equal(fixture_read(&x, 1, version + 1, 0, SMALL_CHUNK, back), 0);
        assert_memory_equal(back, data, keeps[i]);
        assert_true(all_zero(back + keeps[i], SMALL_CHUNK - keeps[i]));
    }
    assert_int_equal(ops->remove(x.store, 1, version - 1), -EKEYEXPIRED);
    assert_int_equal(ops->remove(x.store, 1, version), 0);
    assert_int_equal(ops->remove(x.store, 1, version), 0);
    fixture_remove(&x);
}

/* ---- damage ---- */

static void rotten_blocks_are_found_and_never_built_upon(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[SMALL_CHUNK];
    uint64_t sums[16];
    char path[2 * SCRATCH_PATH];
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    fixture_fill(data, sizeof data, 1);
    assert_int_equal(fixture_write(&x, 1, 1, 0, SMALL_CHUNK, data, true), 0);
    fixture_pwrite(fixture_chunk_path(&x, 1, path), "\xff\x00", 2, fixture_data_start(SMALL_CHUNK) + 3 * BLOCK + 5);
    assert_int_equal(fixture_read(&x, 1, 1, 0, SMALL_CHUNK, data), -EUCLEAN);
    assert_int_equal(x.damaged, 0);
    struct store_read verify = {.id = 1, .version = 1, .length = SMALL_CHUNK, .verify = true};
    for (int i = 0; i < 3; i++)
        assert_int_equal(x.store->ops->read(x.store, &verify, data, sums), -EUCLEAN);
    assert_int_equal(x.damaged, 1);
    struct store_report *reports;
    assert_int_equal(x.store->ops->list(x.store, &reports), 1);
    assert_true(reports[0].id == 1 && reports[0].version == 1 && reports[0].damaged);
    free(reports);
    assert_int_equal(x.store->ops->set_version(x.store, 1, 1, 2, WIRE_KEEP_ALL, false), 0);
    verify.version = 2;
    assert_int_equal(x.store->ops->read(x.store, &verify, data, sums), -EUCLEAN);
    assert_int_equal(x.damaged, 2);
    /* Part of the block cannot be written, all of it can, and is good then. */
    assert_int_equal(fixture_write(&x, 1, 2, 3 * BLOCK + 1, 1, data, false), -EUCLEAN);
    assert_int_equal(x.damaged, 2);
    assert_int_equal(fixture_write(&x, 1, 2, 3 * BLOCK, BLOCK, data, false), 0);
    assert_int_equal(x.store->ops->read(x.store, &verify, data, sums), 0);
    assert_int_equal(x.store->ops->list(x.store, &reports), 1);
    assert_false(reports[0].damaged);
    free(reports);
    fixture_remove(&x);
}

static void damaged_files_go_to_quarantine(void **state)
{
    (void)state;
    struct store_fixture x;
    char path[2 * SCRATCH_PATH];
    uint8_t data[BLOCK] = {0};
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    for (chunk_id id = 1; id <= 3; id++)
        assert_int_equal(fixture_write(&x, id, 4, 0, BLOCK, data, true), 0);
    fixture_close(&x);
    fixture_pwrite(fixture_chunk_path(&x, 1, path), "x", 1, 9);
    assert_int_equal(truncate(fixture_chunk_path(&x, 2, path), 5000), 0);
    for (int start = 0; start < 2; start++) {
        assert_int_equal(fixture_open(&x), 0);
        assert_int_equal(fixture_entries(&x, "quarantine"), 2);
        struct store_report *reports;
        assert_int_equal(x.store->ops->list(x.store, &reports), 3);
        for (unsigned i = 0; i < 3; i++)
            assert_true(reports[i].damaged == (reports[i].id != 3) && reports[i].version == (reports[i].id == 3 ? 4 : 0));
        free(reports);
        assert_int_equal(fixture_read(&x, 1, 4, 0, BLOCK, data), -EUCLEAN);
        assert_int_equal(fixture_write(&x, 1, 4, 0, BLOCK, data, true), -EUCLEAN);
        fixture_close(&x);
    }
    assert_int_equal(fixture_open(&x), 0);
    assert_int_equal(x.store->ops->remove(x.store, 1, 4), -EUCLEAN);
    assert_int_equal(x.store->ops->remove(x.store, 1, 0), 0);
    assert_int_equal(fixture_entries(&x, "quarantine"), 1);
    fixture_remove(&x);
}

/* ---- copies ---- */

static int copy_write(struct store_fixture *x, struct store_copy *copy, uint32_t offset, uint32_t length,
                      const uint8_t *data)
{
    uint64_t sums[WIRE_BLOCKS_LIMIT];
    checksum_range(data, offset, length, BLOCK, sums);
    struct store_write w = {.offset = offset, .length = length, .data = data, .sums = (const uint8_t *)sums,
                            .scratch = fixture_scratch};
    return x->store->ops->copy_write(x->store, copy, &w);
}

static void copies_appear_whole_or_not_at_all(void **state)
{
    (void)state;
    struct store_fixture x;
    struct store_copy *copy;
    uint8_t data[SMALL_CHUNK], back[SMALL_CHUNK];
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    const struct store_ops *ops = x.store->ops;
    fixture_fill(data, sizeof data, 1);
    assert_int_equal(ops->copy_begin(x.store, 1, 3, &copy), 0);
    assert_int_equal(copy_write(&x, copy, 0, 3 * BLOCK, data), 0);
    assert_int_equal(fixture_read(&x, 1, 3, 0, BLOCK, back), -ENOMEDIUM);
    assert_int_equal(ops->copy_end(x.store, copy, false), 0);
    assert_int_equal(fixture_read(&x, 1, 3, 0, BLOCK, back), -ENOMEDIUM);
    assert_int_equal(fixture_used(&x), 0);
    /* An older version is replaced, and so is the same one, which may be an old try; a newer one is not. */
    assert_int_equal(fixture_write(&x, 1, 2, 0, 1, "x", true), 0);
    assert_int_equal(ops->copy_begin(x.store, 1, 3, &copy), 0);
    assert_int_equal(copy_write(&x, copy, BLOCK, 3 * BLOCK, data), 0);
    assert_int_equal(ops->copy_end(x.store, copy, true), 0);
    assert_int_equal(ops->copy_begin(x.store, 1, 3, &copy), 0);
    assert_int_equal(copy_write(&x, copy, BLOCK, 3 * BLOCK, data), 0);
    assert_int_equal(ops->copy_end(x.store, copy, true), 0);
    assert_int_equal(ops->copy_begin(x.store, 1, 2, &copy), 0);
    assert_int_equal(ops->copy_end(x.store, copy, true), -EBUSY);
    fixture_reopen(&x);
    assert_int_equal(fixture_read(&x, 1, 3, 0, SMALL_CHUNK, back), 0);
    assert_true(all_zero(back, BLOCK));
    assert_memory_equal(back + BLOCK, data, 3 * BLOCK);
    assert_true(all_zero(back + 4 * BLOCK, SMALL_CHUNK - 4 * BLOCK));
    fixture_remove(&x);
}

static void many_chunks_with_few_open_files(void **state)
{
    (void)state;
    struct store_fixture x;
    uint8_t data[BLOCK];
    fixture_make(&x, SMALL_CHUNK, 64 << 20);
    x.options.open_limit = 8;
    fixture_reopen(&x);
    for (uint32_t id = 1; id <= 3000; id++)
        assert_int_equal(fixture_write(&x, id, 1, 4, sizeof id, &id, true), 0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t id = 1; id <= 3000; id++) {
            assert_int_equal(fixture_read(&x, id, 1, 0, BLOCK, data), 0);
            assert_memory_equal(data + 4, &id, sizeof id);
        }
        fixture_reopen(&x);
    }
    fixture_remove(&x);
}

static void what_is_no_store_is_refused(void **state)
{
    (void)state;
    struct store_fixture x;
    struct store *store;
    char path[2 * SCRATCH_PATH];
    fixture_make(&x, SMALL_CHUNK, 16 << 20);
    assert_int_equal(store_files_open(&x.options, &store), -EBUSY);
    fixture_close(&x);
    assert_int_equal(unlink(scratch_path(x.path, "store.id", path)), 0);
    assert_int_equal(store_files_open(&x.options, &store), -ENOTEMPTY);
    assert_int_equal(scratch_write(x.path, "store.id", "calf chunk store 1\nnode 12", 26), 0);
    assert_int_equal(store_files_open(&x.options, &store), -EUCLEAN);
    struct store_files_options missing = {.path = "/nowhere/at/all", .size_bytes = 1 << 20};
    assert_int_equal(store_files_open(&missing, &store), -ENOENT);
    fixture_remove(&x);
}

int main(void)
{
    log_init("test_store_files", LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_at_block_and_chunk_boundaries),
        cmocka_unit_test(versions_and_absence),
        cmocka_unit_test(random_operations_agree_with_a_model),
        cmocka_unit_test(a_recycled_file_reads_as_zeros),
        cmocka_unit_test(full_is_an_error_and_deleting_mends_it),
        cmocka_unit_test(prefault_fills_the_size_and_is_reused),
        cmocka_unit_test(set_version_cuts_creates_and_repeats),
        cmocka_unit_test(rotten_blocks_are_found_and_never_built_upon),
        cmocka_unit_test(damaged_files_go_to_quarantine),
        cmocka_unit_test(copies_appear_whole_or_not_at_all),
        cmocka_unit_test(many_chunks_with_few_open_files),
        cmocka_unit_test(what_is_no_store_is_refused),
    };
    const struct CMUnitTest on_a_disk[] = {
        cmocka_unit_test(ranges_at_block_and_chunk_boundaries),
        cmocka_unit_test(versions_and_absence),
        cmocka_unit_test(random_operations_agree_with_a_model),
        cmocka_unit_test(a_recycled_file_reads_as_zeros),
        cmocka_unit_test(set_version_cuts_creates_and_repeats),
        cmocka_unit_test(rotten_blocks_are_found_and_never_built_upon),
        cmocka_unit_test(damaged_files_go_to_quarantine),
        cmocka_unit_test(copies_appear_whole_or_not_at_all),
        cmocka_unit_test(what_is_no_store_is_refused),
    };
    int failed = cmocka_run_group_tests_name("on a RAM disk", tests, NULL, NULL);
    fixture_on_a_disk();
    return failed + cmocka_run_group_tests_name("on a disk", on_a_disk, NULL, NULL);
}
