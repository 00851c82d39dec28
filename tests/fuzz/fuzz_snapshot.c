/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a snapshot: as the file (with its checksum made right, or not), and as the pieces of the state that a file
 * holds. What loads is a state like any other: it can be saved, and loading that gives the same state again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/checksum.h"
#include "common/log.h"
#include "fuzz_seed.h"
#include "master/snapshot_file.h"
#include "tests/unit/core_fixture.h"

#define FILE_NAME "snapshot.00000000000000000007"

enum { INPUT_LIMIT = 1 << 16, CHUNK_BYTES = 1 << 20 /* one step of the file's checksum; inputs are smaller */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char dir[SCRATCH_PATH];

static void remove_dir(void)
{
    scratch_remove(dir);
}

static void check_state(const struct core *core)
{
    struct core again;
    struct image_bytes first = image_bytes_of(core);
    CHECK(image_bytes_load(&first, first.used, &again) == 0);
    struct image_bytes second = image_bytes_of(&again);
    CHECK(first.used == second.used && memcmp(first.data, second.data, first.used) == 0);
    core_fini(&again);
    free(second.data);
    free(first.data);
}

static int put_in_snapshot(void *context, uint16_t section, const void *data, size_t bytes)
{
    return snapshot_put(context, section, data, bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct snapshot_writer *writer;
    size_t bytes;
    log_init("fuzz", LOG_NOTHING);
    scratch_make(dir);
    (void)atexit(remove_dir);
    struct core_fixture *f = fixture_create(2);
    inode_id ino = fixture_make_file(f, "name");
    CHECK(fixture_lease(f, ino, 0, 2) == WIRE_OK && fixture_publish(f, ino, 100, 0, true) == WIRE_OK);
    CHECK(fixture_lease(f, ino, 1, 2) == WIRE_OK);
    (void)fixture_make_file(f, "other");

    struct image_bytes image = image_bytes_of(&f->core);
    unsigned char *input = check_alloc(malloc(image.used + 1));
    input[0] = 2;
    memcpy(input + 1, image.data, image.used);
    fuzz_seed(*argc, *argv, "image", input, image.used + 1);
    free(input);
    free(image.data);

    CHECK(snapshot_begin(dir, 7, &writer) == 0 && image_save(&f->core, put_in_snapshot, writer) == 0 &&
          snapshot_finish(writer) == 0);
    fixture_destroy(f);
    unsigned char *data = scratch_read(dir, FILE_NAME, &bytes);
    input = check_alloc(malloc(bytes + 1));
    CHECK(data != NULL);
    input[0] = 1;
    memcpy(input + 1, data, bytes);
    fuzz_seed(*argc, *argv, "file", input, bytes + 1);
    free(input);
    free(data);
    return 0;
}

static void load_pieces(const uint8_t *data, size_t bytes)
{
    struct core core;
    struct image_bytes image = {(uint8_t *)(uintptr_t)data, bytes, bytes};
    if (image_bytes_load(&image, bytes, &core) < 0)
        return;
    check_state(&core);
    core_fini(&core);
}

static void load_file(const uint8_t *data, size_t bytes, bool right)
{
    static uint8_t copy[INPUT_LIMIT];
    struct core core;
    struct image_loader loader;
    uint64_t index, sum;
    char why[512] = "";
    memcpy(copy, data, bytes);
    if (right && bytes > sizeof sum) {
        sum = checksum_chain(0, copy, bytes - sizeof sum);
        memcpy(copy + bytes - sizeof sum, &sum, sizeof sum);
    }
    scratch_empty(dir);
    CHECK(scratch_write(dir, FILE_NAME, copy, bytes) == 0);
    image_load_begin(&loader, &core);
    int rc = snapshot_load(dir, image_load_take, &loader, &index, why, sizeof why);
    if (rc == 0)
        rc = image_load_end(&loader);
    if (rc == 0)
        check_state(&core);
    core_fini(&core);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    _Static_assert(INPUT_LIMIT < CHUNK_BYTES, "one step of the checksum");
    if (bytes == 0 || bytes > INPUT_LIMIT)
        return 0;
    if (data[0] & 2)
        load_pieces(data + 1, bytes - 1);
    else
        load_file(data + 1, bytes - 1, data[0] & 1);
    return 0;
}
