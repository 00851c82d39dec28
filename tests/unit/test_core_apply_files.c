/* SPDX-License-Identifier: Apache-2.0
 *
 * How many blocks a file has, as its writers and its copies say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/core_fixture.h"

static uint64_t used_bytes(struct core_fixture *f, inode_id ino)
{
    struct wire_attr attr;
    inode_attr(namespace_find(&f->core.names, ino), &attr);
    return attr.used_bytes;
}

/* Of chunk 0, whose lease is kept or given back. */
static uint16_t tell_blocks(struct core_fixture *f, inode_id ino, uint32_t version, uint32_t blocks, bool kept)
{
    uint8_t data[64];
    struct wire_out room = wire_out_on(data, sizeof data);
    const struct inode *inode = namespace_find(&f->core.names, ino);
    union wire_any request = {.publish = {.ino = ino, .size_epoch = inode->size_epoch, .length = 16 * WIRE_BLOCK_BYTES}};
    struct wire_released_lease told = {.written = !kept, .kept = kept, .version = version, .blocks = blocks};
    assert_true(wire_append_released_lease(&room, &request.publish.released, &told));
    return fixture_ask(f, WIRE_TYPE_publish, &request);
}

/* Blocks count as the writer of the chunk's present version says, are fewer after a cut at once, and exact when the copies have it. */
static void used_bytes_follow_what_was_written_and_cut(void **state)
{
    struct core_fixture *f = fixture_create(2);
    (void)state;
    inode_id ino = fixture_make_file(f, "a");
    assert_int_equal(tell_blocks(f, ino, 1, 5, true), WIRE_OK); /* there is no lease */
    assert_int_equal(used_bytes(f, ino), 0);
    assert_int_equal(fixture_lease(f, ino, 0, 2), WIRE_OK);
    assert_int_equal(used_bytes(f, ino), 0);
    assert_int_equal(tell_blocks(f, ino, 1, 9, true), WIRE_OK);
    assert_int_equal(used_bytes(f, ino), 9 * WIRE_BLOCK_BYTES);
    assert_int_equal(tell_blocks(f, ino, 1, 8, true), WIRE_OK);
    assert_int_equal(tell_blocks(f, ino, 2, 3, true), WIRE_OK);
    assert_int_equal(tell_blocks(f, ino, 1, 17, true), WIRE_OK); /* more than a chunk has */
    assert_int_equal(used_bytes(f, ino), 8 * WIRE_BLOCK_BYTES);
    assert_int_equal(fixture_set_size(f, ino, 5 * WIRE_BLOCK_BYTES + 1), WIRE_OK);
    assert_int_equal(used_bytes(f, ino), 6 * WIRE_BLOCK_BYTES);
    struct inode *inode = namespace_find(&f->core.names, ino);
    struct chunk *chunk = inode_find_chunk(inode, 0);
    union wire_any copies = {.j_copies = {.chunk_id = chunk->node.id, .version = chunk->version + 1, .blocks = 4}};
    uint8_t data[16];
    struct wire_out room = wire_out_on(data, sizeof data);
    struct wire_server server = {.id = 1};
    assert_true(wire_append_server(&room, &copies.j_copies.servers, &server));
    assert_int_equal(fixture_decide(f, WIRE_TYPE_j_copies, &copies), WIRE_OK);
    assert_int_equal(used_bytes(f, ino), 4 * WIRE_BLOCK_BYTES);
    assert_int_equal(fixture_set_size(f, ino, 0), WIRE_OK);
    assert_int_equal(used_bytes(f, ino), 0);
    fixture_destroy(f);
}

/* With two writers at once the highest number holds until none is left. */
static void used_bytes_of_a_chunk_with_two_writers(void **state)
{
    struct core_fixture *f = fixture_create(1);
    (void)state;
    inode_id ino = fixture_make_file(f, "a");
    assert_int_equal(fixture_lease(f, ino, 0, 1), WIRE_OK);
    session_id first = f->session;
    assert_int_equal(fixture_begin_session(f, 78), WIRE_OK);
    assert_int_equal(fixture_lease(f, ino, 0, 1), WIRE_OK);
    assert_int_equal(tell_blocks(f, ino, 1, 2, false), WIRE_OK);
    f->session = first;
    assert_int_equal(tell_blocks(f, ino, 1, 1, false), WIRE_OK); /* it wrote first, and tells last */
    assert_int_equal(used_bytes(f, ino), 2 * WIRE_BLOCK_BYTES);
    assert_int_equal(fixture_lease(f, ino, 0, 1), WIRE_OK);
    assert_int_equal(tell_blocks(f, ino, 1, 1, false), WIRE_OK);
    assert_int_equal(used_bytes(f, ino), WIRE_BLOCK_BYTES);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_bytes_follow_what_was_written_and_cut),
        cmocka_unit_test(used_bytes_of_a_chunk_with_two_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
