/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "client/shm_read.h"
#include "common/log.h"
#include "store_fixture.h"

enum { ID = 5, WIDE = 64 /* blocks */ };

/* A descriptor as a client gets it. */
static int share(struct store_fixture *x, uint32_t version, struct shm_share *share)
{
    struct store_share s;
    int rc = x->store->ops->share(x->store, ID, version, &s);
    if (rc == 0)
        *share = (struct shm_share){s.fd, s.guard_at, s.table_at, s.data_at, s.guard_first, s.guard_third};
    return rc;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct store_fixture x;
    struct shm_share s;
    static uint8_t data[WIRE_IO_LIMIT], back[WIRE_PAYLOAD_LIMIT], zeros[BLOCK];
    fixture_make(&x, LARGE_CHUNK, 64 << 20);
    fixture_fill(data, sizeof data, 1);
    assert_int_equal(share(&x, 1, &s), -ENOMEDIUM);
    assert_int_equal(fixture_write(&x, ID, 1, BLOCK, sizeof data, data, true), 0);
    assert_int_equal(share(&x, 2, &s), -EKEYEXPIRED);
    assert_int_equal(share(&x, 1, &s), 0);
    assert_int_equal(shm_read_blocks(&s, 0, WIRE_PAYLOAD_LIMIT, back), 0);
    assert_memory_equal(back, zeros, BLOCK);
    assert_memory_equal(back + BLOCK, data, sizeof data);
    assert_memory_equal(back + BLOCK + sizeof data, zeros, BLOCK);
    /* Later writes, too, also in a part of the table that was not there, and zeros. */
    assert_int_equal(fixture_write(&x, ID, 1, 40 << 20, BLOCK, data + BLOCK, false), 0);
    assert_int_equal(fixture_write(&x, ID, 1, 3 * BLOCK, 2 * BLOCK, NULL, false), 0);
    assert_int_equal(shm_read_blocks(&s, 40 << 20, BLOCK, back), 0);
    assert_memory_equal(back, data + BLOCK, BLOCK);
    assert_int_equal(shm_read_blocks(&s, 3 * BLOCK, 2 * BLOCK, back), 0);
    assert_memory_equal(back, zeros, BLOCK);
    assert_memory_equal(back + BLOCK, zeros, BLOCK);
    assert_true(pwrite(s.fd, data, 1, 0) < 0); /* it is for reading only */
    assert_int_equal(close(s.fd), 0);
    fixture_remove(&x);
}

static void another_version_is_not_read(void **state)
{
    (void)state;
    struct store_fixture x;
    struct shm_share s;
    uint8_t data[2 * BLOCK], back[2 * BLOCK];
    fixture_make(&x, SMALL_CHUNK, 8 << 20);
    fixture_fill(data, sizeof data, 2);
    assert_int_equal(fixture_write(&x, ID, 1, 0, sizeof data, data, true), 0);
    assert_int_equal(share(&x, 1, &s), 0);
    assert_int_equal(x.store->ops->set_version(x.store, ID, 1, 2, WIRE_KEEP_ALL, false), 0);
    assert_int_equal(shm_read_blocks(&s, 0, sizeof data, back), -ESTALE);
    assert_int_equal(close(s.fd), 0);
    /* Cut: also void for who reads between the cut and the new version. */
    assert_int_equal(share(&x, 2, &s), 0);
    uint64_t before = s.guard_third;
    assert_int_equal(x.store->ops->set_version(x.store, ID, 2, 3, BLOCK, false), 0);
    assert_int_equal(shm_read_blocks(&s, 0, BLOCK, back), -ESTALE);
    assert_int_equal(close(s.fd), 0);
    assert_int_equal(share(&x, 3, &s), 0);
    assert_true(s.guard_third != before);
    assert_int_equal(shm_read_blocks(&s, 0, sizeof data, back), 0);
    memset(data + BLOCK, 0, BLOCK);
    assert_memory_equal(back, data, sizeof data);
    assert_int_equal(close(s.fd), 0);
    fixture_remove(&x);
}

/* A file that serves another chunk, and then the same chunk again in the same version, is another one all the same. */
static void a_file_used_again_is_not_read(void **state)
{
    (void)state;
    struct store_fixture x;
    struct shm_share s, again;
    uint8_t data[BLOCK], other[BLOCK], back[BLOCK];
    fixture_make(&x, SMALL_CHUNK, 8 << 20);
    fixture_fill(data, BLOCK, 3);
    fixture_fill(other, BLOCK, 4);
    assert_int_equal(fixture_write(&x, ID, 1, 0, BLOCK, data, true), 0);
    assert_int_equal(share(&x, 1, &s), 0);
    assert_int_equal(x.store->ops->remove(x.store, ID, 1), 0);
    assert_int_equal(shm_read_blocks(&s, 0, BLOCK, back), -ESTALE);
    assert_int_equal(fixture_write(&x, ID + 1, 1, 0, BLOCK, other, true), 0);
    assert_int_equal(shm_read_blocks(&s, 0, BLOCK, back), -ESTALE);
    assert_int_equal(x.store->ops->remove(x.store, ID + 1, 1), 0);
    assert_int_equal(fixture_write(&x, ID, 1, 0, BLOCK, other, true), 0);
    assert_int_equal(share(&x, 1, &again), 0);
    struct stat a, b;
    assert_int_equal(fstat(s.fd, &a), 0);
    assert_int_equal(fstat(again.fd, &b), 0);
    assert_int_equal(a.st_ino, b.st_ino); /* or this test shows nothing */
    assert_int_equal(shm_read_blocks(&s, 0, BLOCK, back), -ESTALE);
    assert_int_equal(shm_read_blocks(&again, 0, BLOCK, back), 0);
    assert_memory_equal(back, other, BLOCK);
    assert_int_equal(close(s.fd), 0);
    assert_int_equal(close(again.fd), 0);
    fixture_remove(&x);
}

static void damage_is_seen(void **state)
{
    (void)state;
    struct store_fixture x;
    struct shm_share s;
    char path[2 * SCRATCH_PATH];
    uint8_t data[3 * BLOCK], back[3 * BLOCK];
    fixture_make(&x, SMALL_CHUNK, 8 << 20);
    fixture_fill(data, sizeof data, 5);
    assert_int_equal(fixture_write(&x, ID, 1, 0, sizeof data, data, true), 0);
    assert_int_equal(share(&x, 1, &s), 0);
    data[BLOCK] ^= 1;
    fixture_pwrite(fixture_chunk_path(&x, ID, path), data + BLOCK, 1, fixture_data_start(SMALL_CHUNK) + BLOCK);
    assert_int_equal(shm_read_blocks(&s, 0, sizeof data, back), -EILSEQ);
    assert_int_equal(shm_read_blocks(&s, 0, BLOCK, back), 0);
    assert_int_equal(shm_read_blocks(&s, 2 * BLOCK, BLOCK, back), 0);
    assert_int_equal(close(s.fd), 0);
    fixture_remove(&x);
}

/* Memory comes back at once, and nobody dies of reading what is not there any more. */
static void a_file_that_is_thrown_away_gives_its_memory_back(void **state)
{
    (void)state;
    struct store_fixture x;
    struct shm_share s;
    struct stat st;
    uint8_t data[BLOCK], back[BLOCK];
    fixture_make(&x, SMALL_CHUNK, 1 << 20);
    fixture_fill(data, BLOCK, 6);
    assert_int_equal(fixture_write(&x, ID, 1, 0, BLOCK, data, true), 0);
    assert_int_equal(share(&x, 1, &s), 0);
    assert_int_equal(x.store->ops->remove(x.store, ID, 1), 0);
    assert_true(store_files_reclaim((struct files_store *)x.store, 1));
    assert_int_equal(fstat(s.fd, &st), 0);
    assert_int_equal(st.st_nlink, 0);
    assert_int_equal(st.st_blocks, 0);
    assert_int_equal(shm_read_blocks(&s, 0, BLOCK, back), -ESTALE);
    assert_int_equal(close(s.fd), 0);
    fixture_remove(&x);
}

/* What the other side says is where it says so; nonsense finds nothing. */
static void nonsense_finds_nothing(void **state)
{
    (void)state;
    struct store_fixture x;
    struct shm_share s, odd;
    uint8_t back[BLOCK];
    fixture_make(&x, SMALL_CHUNK, 8 << 20);
    fixture_fill(back, BLOCK, 7);
    assert_int_equal(fixture_write(&x, ID, 1, 0, BLOCK, back, true), 0);
    assert_int_equal(share(&x, 1, &s), 0);
    odd = s;
    odd.table_at = UINT32_MAX;
    assert_int_equal(shm_read_blocks(&odd, 0, BLOCK, back), -ESTALE);
    odd = s;
    odd.data_at = UINT32_MAX;
    assert_int_equal(shm_read_blocks(&odd, 0, BLOCK, back), -ESTALE);
    odd = s;
    odd.data_at++;
    assert_int_equal(shm_read_blocks(&odd, 0, BLOCK, back), -EILSEQ);
    odd = s;
    odd.guard_at = UINT32_MAX;
    assert_int_equal(shm_read_blocks(&odd, 0, BLOCK, back), -ESTALE);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    odd = s;
    odd.fd = ends[0];
    assert_int_equal(shm_read_blocks(&odd, 0, BLOCK, back), -ESTALE);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(close(s.fd), 0);
    fixture_remove(&x);
}

/* ---- while others write ---- */

struct busy {
    struct store_fixture x;
    atomic_bool stop;
    atomic_uint written;
};

/* Each block, whenever it is written, is full of one byte. */
static void *keep_writing(void *argument)
{
    struct busy *b = argument;
    static uint8_t data[WIDE * BLOCK];
    for (unsigned round = 1; !b->stop; round++) {
        memset(data, (int)(round % 255 + 1), sizeof data);
        assert_int_equal(fixture_write(&b->x, ID, 1, 0, sizeof data, data, true), 0);
        b->written++;
    }
    return NULL;
}

static void readers_see_whole_blocks_while_others_write(void **state)
{
    (void)state;
    struct busy *b = calloc(1, sizeof *b);
    struct shm_share s;
    static uint8_t back[WIDE * BLOCK];
    unsigned read = 0, tries = 0;
    pthread_t writer;
    fixture_make(&b->x, LARGE_CHUNK, 64 << 20);
    assert_int_equal(fixture_write(&b->x, ID, 1, 0, BLOCK, back, true), 0);
    assert_int_equal(share(&b->x, 1, &s), 0);
    assert_int_equal(pthread_create(&writer, NULL, keep_writing, b), 0);
    while ((read < 300 || b->written < 300) && tries++ < 1000000) {
        int rc = shm_read_blocks(&s, 0, sizeof back, back);
        assert_true(rc == 0 || rc == -EILSEQ); /* a writer that never rests may win three times; the caller asks then */
        if (rc < 0)
            continue;
        read++;
        for (unsigned i = 0; i < WIDE; i++)
            assert_memory_equal(back + i * BLOCK, back + i * BLOCK + 1, BLOCK - 1);
    }
    b->stop = true;
    (void)pthread_join(writer, NULL);
    assert_true(read >= 300);
    assert_int_equal(close(s.fd), 0);
    fixture_remove(&b->x);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(another_version_is_not_read),
        cmocka_unit_test(a_file_used_again_is_not_read),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(a_file_that_is_thrown_away_gives_its_memory_back),
        cmocka_unit_test(nonsense_finds_nothing),
        cmocka_unit_test(readers_see_whole_blocks_while_others_write),
    };
    log_init("test", LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
