/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the head of a chunk file (header page and checksum table), as they are and with the header's checksum and
 * seals made right, in a store that is then opened, read, written and emptied: the chunk is served with data that match
 * their checksums, or refused; nothing else happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "chunkserver/chunk_format.h"
#include "common/check.h"
#include "common/log.h"
#include "fuzz_seed.h"
#include "tests/unit/store_fixture.h"

enum { ID = 0x2a, STORE_BYTES = 1 << 20, INPUT_LIMIT = 1 << 14, BLOCKS = SMALL_CHUNK / BLOCK };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct store_fixture fixture;
static struct store_geometry geometry = {SMALL_CHUNK, BLOCK};

static void remove_store(void)
{
    fixture_remove(&fixture);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static uint8_t data[3 * BLOCK], input[INPUT_LIMIT];
    char path[2 * SCRATCH_PATH];
    log_init("fuzz", LOG_NOTHING);
    fixture_make(&fixture, SMALL_CHUNK, STORE_BYTES);
    (void)atexit(remove_store);
    fixture_fill(data, sizeof data, 5);
    CHECK(fixture_write(&fixture, ID, 3, 2 * BLOCK, sizeof data, data, true) == 0);
    fixture_close(&fixture);
    int fd = open(fixture_chunk_path(&fixture, ID, path), O_RDONLY);
    CHECK(fd >= 0 && pread(fd, input + 1, sizeof input - 1, 0) == sizeof input - 1);
    (void)close(fd);
    input[0] = 1;
    fuzz_seed(*argc, *argv, "head", input, sizeof input);
    return 0;
}

/* Right as a header of this chunk, with the version and the table's pages as the input has them. */
static void make_right(uint8_t *data, size_t bytes)
{
    struct chunk_page page;
    if (bytes < sizeof page)
        return;
    memcpy(&page, data, sizeof page);
    chunk_format_init(&page, ID, &geometry, (uint32_t)page.version, (uint32_t)page.table_pages);
    memcpy(data, &page, sizeof page);
}

/* A block that is served has the data its checksum says. */
static void use_chunk(uint32_t version)
{
    static _Alignas(4096) uint8_t block[BLOCK];
    for (uint32_t i = 0; i < BLOCKS; i++)
        (void)fixture_read(&fixture, ID, version, i * BLOCK, BLOCK, block);
    fixture_fill(block, sizeof block, 9);
    int rc = fixture_write(&fixture, ID, version, 100, BLOCK, block, false);
    static _Alignas(4096) uint8_t back[2 * BLOCK];
    if (rc == 0) {
        CHECK(fixture_read(&fixture, ID, version, 0, 2 * BLOCK, back) == 0);
        CHECK(memcmp(back + 100, block, BLOCK) == 0);
    }
    (void)fixture.store->ops->set_version(fixture.store, ID, version, version + 1, 5000, false);
    (void)fixture.store->ops->remove(fixture.store, ID, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t copy[INPUT_LIMIT];
    char path[2 * SCRATCH_PATH];
    const char *reason = NULL;
    struct chunk_page page;
    struct store_report *reports = NULL;
    if (bytes == 0 || bytes > sizeof copy)
        return 0;
    memcpy(copy, data + 1, bytes - 1);
    if (data[0] & 1)
        make_right(copy, bytes - 1);
    bool good = false;
    if (bytes > sizeof page) {
        memcpy(&page, copy, sizeof page);
        good = chunk_format_check(&page, ID, &geometry, &reason) == 0;
        CHECK(good || reason != NULL);
    }
    /* Opening a store is slow; one whose chunk is refused at once need not be seen often. */
    if (!good && !(data[0] & 4))
        return 0;
    int fd = open(fixture_chunk_path(&fixture, ID, path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && pwrite(fd, copy, bytes - 1, 0) == (ssize_t)(bytes - 1));
    /* The length of a chunk file that was whole, or what the input has. */
    if (data[0] & 2)
        CHECK(ftruncate(fd, chunk_format_data_offset(&geometry) + SMALL_CHUNK) == 0);
    (void)close(fd);
    if (fixture_open(&fixture) < 0)
        return 0;
    int64_t count = fixture.store->ops->list(fixture.store, &reports);
    CHECK(count >= 0);
    for (int64_t i = 0; i < count; i++)
        if (reports[i].id == ID && !reports[i].damaged)
            use_chunk(reports[i].version);
    free(reports);
    fixture_close(&fixture);
    /* What was set aside is not to fill the disk. */
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/quarantine", fixture.path);
    scratch_empty(path);
    (void)snprintf(path, sizeof path, "%s/free", fixture.path);
    scratch_empty(path);
    return 0;
}
