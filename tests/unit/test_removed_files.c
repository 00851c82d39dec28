/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that have just lost their last name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/core_fixture.h"

static uint16_t unlink_in_root(struct core_fixture *f, const char *name)
{
    union wire_any request = {.unlink = {.parent = ROOT_INODE, .name = wire_text(name)}};
    return fixture_ask(f, WIRE_TYPE_unlink, &request);
}

/* A file whose name is gone can still be opened for a while, also from an image; large ones, and the oldest of many, go at once. */
static void a_removed_file_can_still_be_opened_for_a_while(void **state)
{
    struct core_fixture *f = fixture_create(2);
    struct core loaded;
    char name[20];
    (void)state;
    inode_id ino = fixture_make_file(f, "a"), large = fixture_make_file(f, "large");
    union wire_any open = {.open = {.ino = ino}};
    union wire_any release = {.release = {.ino = ino, .count = 1}}, other = {.release = {.ino = large, .count = 1}};
    assert_int_equal(fixture_lease(f, ino, 0, 2), WIRE_OK);
    assert_int_equal(fixture_publish(f, ino, 100, 0, true), WIRE_OK);
    assert_int_equal(fixture_ask(f, WIRE_TYPE_release, &release), WIRE_OK);
    assert_int_equal(fixture_ask(f, WIRE_TYPE_release, &other), WIRE_OK);
    namespace_find(&f->core.names, large)->file.blocks = REMOVED_FILES_FILE_BLOCKS + 1;
    assert_int_equal(unlink_in_root(f, "large"), WIRE_OK);
    assert_null(namespace_find(&f->core.names, large));
    assert_int_equal(unlink_in_root(f, "a"), WIRE_OK);
    assert_int_equal(fixture_ask(f, WIRE_TYPE_open, &open), WIRE_OK);
    assert_int_equal(fixture_ask(f, WIRE_TYPE_release, &release), WIRE_OK);
    struct image_bytes image = image_bytes_of(&f->core);
    assert_int_equal(image_bytes_load(&image, image.used, &loaded), 0);
    assert_int_equal(loaded.removed.count, 1);
    struct image_bytes again = image_bytes_of(&loaded);
    assert_int_equal(again.used, image.used);
    assert_memory_equal(again.data, image.data, image.used);
    free(again.data);
    core_fini(&loaded);
    free(image.data);
    int64_t now_ns = f->time_ns;
    removed_files_tick(&f->core, now_ns + REMOVED_FILES_KEPT_NS / 2);
    assert_non_null(namespace_find(&f->core.names, ino));
    removed_files_tick(&f->core, now_ns + REMOVED_FILES_KEPT_NS);
    assert_null(namespace_find(&f->core.names, ino));
    assert_int_equal(f->core.chunks.table.count, 0);
    for (int i = 0; i < REMOVED_FILES_LIMIT + 10; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        release.release.ino = fixture_make_file(f, name);
        assert_int_equal(fixture_ask(f, WIRE_TYPE_release, &release), WIRE_OK);
        assert_int_equal(unlink_in_root(f, name), WIRE_OK);
    }
    assert_int_equal(f->core.removed.count, REMOVED_FILES_LIMIT);
    servers_find(&f->core.servers, 1)->used_bytes = (1 << 30) - 1000; /* room is scarce: at once */
    removed_files_tick(&f->core, f->time_ns);
    assert_int_equal(f->core.removed.count, 0);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removed_file_can_still_be_opened_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
