/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/log.h"
#include "tests/unit/core_fixture.h"

/* ---- random histories ---- */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33) % below;
}

enum { NAMES = 12, INODES = 60 };

static struct wire_bytes any_name(char text[16])
{
    (void)snprintf(text, 16, "n%u", draw(NAMES));
    return wire_text(text);
}

/* An inode number that exists more often than not. */
static inode_id any_inode(const struct core_fixture *f)
{
    if (draw(3) == 0)
        return ROOT_INODE;
    return 1 + draw((uint32_t)(f->core.names.next_ino < INODES ? f->core.names.next_ino : INODES));
}

static void random_name_change(struct core_fixture *f)
{
    char text[2][16];
    struct wire_bytes name = any_name(text[0]), other = any_name(text[1]);
    inode_id dir = any_inode(f), to = any_inode(f);
    union wire_any request;
    memset(&request, 0, sizeof request);
    switch (draw(8)) {
    case 0:
    case 1:
        request.mknod = (struct wire_mknod){.parent = dir, .name = name, .mode = S_IFDIR | 0755, .uid = draw(5)};
        (void)fixture_ask(f, WIRE_TYPE_mknod, &request);
        break;
    case 2:
        request.mknod = (struct wire_mknod){.parent = dir, .name = name, .mode = S_IFBLK | 0600, .rdev = draw(99)};
        (void)fixture_ask(f, WIRE_TYPE_mknod, &request);
        break;
    case 3:
        request.symlink = (struct wire_symlink){.parent = dir, .name = name, .target = other};
        (void)fixture_ask(f, WIRE_TYPE_symlink, &request);
        break;
    case 4:
        request.link = (struct wire_link){.ino = any_inode(f), .parent = dir, .name = name};
        (void)fixture_ask(f, WIRE_TYPE_link, &request);
        break;
    case 5:
        request.unlink = (struct wire_unlink){.parent = dir, .name = name};
        (void)fixture_ask(f, draw(3) ? WIRE_TYPE_unlink : WIRE_TYPE_rmdir, &request);
        break;
    default:
        request.rename = (struct wire_rename){dir, name, to, other, draw(4)};
        (void)fixture_ask(f, WIRE_TYPE_rename, &request);
    }
}

static void random_file_change(struct core_fixture *f)
{
    char text[16];
    inode_id ino = any_inode(f);
    union wire_any request;
    memset(&request, 0, sizeof request);
    switch (draw(11)) {
    case 0:
    case 1:
        request.create = (struct wire_create){.parent = ino, .name = any_name(text), .mode = 0644, .flags = draw(4)};
        (void)fixture_ask(f, WIRE_TYPE_create, &request);
        break;
    case 2:
        request.setxattr = (struct wire_setxattr){
            .ino = ino, .name = any_name(text), .value = wire_bytes_of(f->reply, draw(300)), .flags = draw(3)};
        (void)fixture_ask(f, WIRE_TYPE_setxattr, &request);
        break;
    case 3:
        request.removexattr = (struct wire_removexattr){.ino = ino, .name = any_name(text)};
        (void)fixture_ask(f, WIRE_TYPE_removexattr, &request);
        break;
    case 4:
        request.open = (struct wire_open){.ino = ino, .flags = draw(2)};
        (void)fixture_ask(f, WIRE_TYPE_open, &request);
        break;
    case 5:
        request.release = (struct wire_release){.ino = ino, .count = draw(3)};
        (void)fixture_ask(f, WIRE_TYPE_release, &request);
        break;
    case 6:
        request.append_begin = (struct wire_append_begin){.ino = ino};
        (void)fixture_ask(f, WIRE_TYPE_append_begin, &request);
        break;
    case 7:
        request.set_goal = (struct wire_set_goal){.ino = ino, .goal = (uint8_t)draw(5)};
        (void)fixture_ask(f, WIRE_TYPE_set_goal, &request);
        break;
    case 8:
    case 9:
        request.lock_set = (struct wire_lock_set){.ino = ino,
                                                  .owner = draw(3),
                                                  .start = draw(20),
                                                  .end = 20 + draw(20),
                                                  .type = (uint8_t)draw(3),
                                                  .flock = (uint8_t)draw(2),
                                                  .wait = (uint8_t)draw(2)};
        (void)fixture_ask(f, WIRE_TYPE_lock_set, &request);
        break;
    default:
        request.setattr = (struct wire_setattr){.ino = ino,
                                                .valid = draw(512) & ~(uint32_t)WIRE_SET_SIZE,
                                                .mode = draw(4096),
                                                .uid = draw(9),
                                                .gid = draw(9),
                                                .mtime = 5,
                                                .atime = 6};
        (void)fixture_ask(f, WIRE_TYPE_setattr, &request);
    }
}

static void random_chunk_change(struct core_fixture *f)
{
    inode_id ino = any_inode(f);
    struct core_time now = {.wall_ns = ++f->time_ns, .mono_ns = f->time_ns};
    switch (draw(7)) {
    case 0:
    case 1:
        (void)fixture_lease(f, ino, draw(6), 1 + draw(4));
        break;
    case 2:
        (void)fixture_publish(f, ino, draw(6 * CORE_CHUNK_BYTES_SMALL), (int64_t)draw(7) - 1, draw(2));
        break;
    case 3:
        (void)fixture_set_size(f, ino, draw(6 * CORE_CHUNK_BYTES_SMALL));
        break;
    case 4:
        if (f->core.chunks.unsettled)
            (void)chunk_ops_raise(&f->core, f->core.chunks.unsettled->chunk, NULL, 0, now);
        break;
    case 5: {
        struct server *server = servers_find(&f->core.servers, 1 + draw(4));
        uint8_t data[8192];
        struct wire_out room = wire_out_on(data, sizeof data);
        struct wire_list commands = {0};
        struct wire_command command;
        struct server_command taken;
        server_take_commands(server, &f->core.servers, now.mono_ns, &room, &commands);
        while (wire_next_command(&commands, &command))
            if (server_take_result(server, command.number, &taken) && taken.action == WIRE_ACTION_SET_VERSION)
                chunk_ops_result(&f->core, server, &taken,
                                 &(struct wire_command_result){.status = draw(4) ? WIRE_OK : WIRE_IO, .blocks = draw(16)},
                                 now);
        break;
    }
    default:
        if (draw(4) == 0) {
            union wire_any record = {.j_forget = {.count = draw(4)}};
            (void)fixture_decide(f, WIRE_TYPE_j_forget, &record);
        }
        if (draw(10) == 0) {
            union wire_any record = {.j_session_end = {.session = f->session}};
            (void)fixture_decide(f, WIRE_TYPE_j_session_end, &record);
        }
        if (draw(5) == 0)
            (void)fixture_begin_session(f, 1 + draw(3));
        f->session = 1 + draw(3);
    }
}

/* ---- what must hold ---- */

static void replay(const struct core_fixture *f, size_t from, size_t to, struct core *core)
{
    static uint8_t body[WIRE_BODY_LIMIT];
    for (size_t i = from; i < to; i++) {
        struct core_change change = f->records[i].change;
        union wire_any value;
        struct wire_out reply = wire_out_on(body, sizeof body);
        assert_int_equal(wire_get_any(change.type, f->records[i].body, change.body_bytes, &value), 0);
        change.value = &value;
        change.body = f->records[i].body;
        assert_int_equal(core_apply(core, &change, &reply), WIRE_OK);
    }
}

static void assert_same_image(const struct core *a, const struct core *b)
{
    struct image_bytes one = image_bytes_of(a), other = image_bytes_of(b);
    assert_int_equal(one.used, other.used);
    assert_memory_equal(one.data, other.data, one.used);
    free(one.data);
    free(other.data);
}

/* Link counts, parents and counters agree with the entries that are there. */
static void assert_tree_is_sound(const struct core *core)
{
    struct id_walk walk;
    uint64_t directories = 0;
    for (struct id_node *node = id_table_first(&core->names.inodes, &walk); node;
         node = id_table_next(&core->names.inodes, &walk)) {
        struct inode *inode = (struct inode *)node;
        if (inode_is_file(inode)) {
            struct chunk **chunks = inode_chunks(inode);
            for (uint32_t i = 0; i < inode->file.chunk_count; i++) {
                assert_ptr_equal(chunks[i]->owner, inode);
                assert_true(i == 0 || chunks[i - 1]->index < chunks[i]->index);
                if ((uint64_t)chunks[i]->index * core->chunk_bytes >= inode->size)
                    assert_true(chunk_is_leased(chunks[i]));
            }
        }
        assert_true(inode->nlink || inode->opens || inode->kept);
        if (!inode_is_dir(inode))
            continue;
        uint32_t position = 0, subdirectories = 0;
        const struct entry *entry;
        directories++;
        while ((entry = directory_next(inode->dir.entries, &position))) {
            subdirectories += inode_is_dir(entry->inode);
            if (inode_is_dir(entry->inode))
                assert_ptr_equal(entry->inode->dir.parent, inode);
        }
        if (inode->nlink)
            assert_int_equal(inode->nlink, 2 + subdirectories);
    }
    assert_int_equal(core->names.directories, directories);
}

static void run_history(uint64_t seed)
{
    enum { STEPS = 3000 };
    struct core_fixture *f = fixture_create(4);
    struct core replayed, loaded;
    random_state = seed;
    struct image_bytes middle = {0};
    size_t middle_count = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        switch (draw(3)) {
        case 0:
            random_name_change(f);
            break;
        case 1:
            random_file_change(f);
            break;
        default:
            random_chunk_change(f);
        }
        if (step == STEPS / 2) {
            middle = image_bytes_of(&f->core);
            middle_count = f->count;
        }
    }
    assert_tree_is_sound(&f->core);
    core_init(&replayed, 0x1234, CORE_CHUNK_BYTES_SMALL, 1);
    replay(f, 0, f->count, &replayed);
    assert_same_image(&f->core, &replayed);
    assert_tree_is_sound(&replayed);
    assert_int_equal(image_bytes_load(&middle, middle.used, &loaded), 0);
    replay(f, middle_count, f->count, &loaded);
    assert_same_image(&f->core, &loaded);
    free(middle.data);
    core_fini(&replayed);
    core_fini(&loaded);
    fixture_destroy(f);
}

static void replay_and_snapshot_give_the_same_state(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run_history(seed);
}

/* A cut image is refused, whatever the place, and nothing is read beyond its end (sanitizers look). */
static void a_cut_image_is_refused(void **state)
{
    struct core_fixture *f = fixture_create(3);
    struct core core;
    (void)state;
    inode_id ino = fixture_make_file(f, "file");
    assert_int_equal(fixture_lease(f, ino, 0, 3), WIRE_OK);
    assert_int_equal(fixture_publish(f, ino, 100, -1, false), WIRE_OK);
    struct image_bytes whole = image_bytes_of(&f->core);
    for (size_t bytes = 0; bytes < whole.used - 1; bytes++) {
        struct image_bytes cut = {.data = check_alloc(malloc(bytes + 1))};
        memcpy(cut.data, whole.data, bytes);
        int rc = image_bytes_load(&cut, bytes, &core);
        if (rc == 0)
            core_fini(&core);
        if (bytes + 9 < whole.used)
            assert_int_equal(rc, -EUCLEAN);
        free(cut.data);
    }
    free(whole.data);
    fixture_destroy(f);
}

/* The state's own numbers come once; a piece without data is no data (sanitizers look here too). */
static void an_image_with_its_numbers_twice_is_refused(void **state)
{
    struct core_fixture *f = fixture_create(1);
    struct image_loader loader;
    struct core core;
    uint32_t head[2];
    (void)state;
    struct image_bytes image = image_bytes_of(&f->core);
    memcpy(head, image.data, sizeof head);
    assert_int_equal(head[0], IMAGE_META);
    uint8_t *twice = check_alloc(malloc(2u * head[1]));
    memcpy(twice, image.data + sizeof head, head[1]);
    memcpy(twice + head[1], twice, head[1]);
    image_load_begin(&loader, &core);
    assert_int_equal(image_load_take(&loader, IMAGE_META, NULL, 0), 0);
    core_fini(&core);
    image_load_begin(&loader, &core);
    assert_int_equal(image_load_take(&loader, IMAGE_META, twice, 2u * head[1]), -EUCLEAN);
    core_fini(&core);
    free(twice);
    free(image.data);
    fixture_destroy(f);
}

/* The right to append belongs to a session. One of nobody (0 is no session) would let another follow for the same file. */
static void an_append_right_of_nobody_is_refused(void **state)
{
    struct core_fixture *f = fixture_create(1);
    struct image_loader loader;
    struct core core;
    const uint64_t rights[][2] = {{7, 0}, {7, 5}}; /* as in the image: inode, session */
    uint32_t head[2];
    (void)state;
    struct image_bytes image = image_bytes_of(&f->core);
    image_load_begin(&loader, &core);
    for (size_t at = 0; at < image.used; at += sizeof head + head[1]) {
        memcpy(head, image.data + at, sizeof head);
        if (head[0] < IMAGE_LOCKS)
            assert_int_equal(image_load_take(&loader, (uint16_t)head[0], image.data + at + sizeof head, head[1]), 0);
    }
    assert_int_equal(image_load_take(&loader, IMAGE_LOCKS, rights, sizeof rights), -EUCLEAN);
    core_fini(&core);
    free(image.data);
    fixture_destroy(f);
}

/* ---- single rules ---- */

static void a_failed_change_changes_nothing(void **state)
{
    struct core_fixture *f = fixture_create(1);
    (void)state;
    (void)fixture_make_file(f, "a");
    struct image_bytes before = image_bytes_of(&f->core);
    union wire_any request = {.mknod = {.parent = ROOT_INODE, .name = wire_text("a"), .mode = S_IFREG}};
    size_t records = f->count;
    assert_int_equal(fixture_ask(f, WIRE_TYPE_mknod, &request), WIRE_EXISTS);
    request.rename = (struct wire_rename){ROOT_INODE, wire_text("none"), ROOT_INODE, wire_text("a"), 0};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_rename, &request), WIRE_NO_ENTRY);
    assert_int_equal(fixture_lease(f, 999, 0, 1), WIRE_STALE);
    struct image_bytes after = image_bytes_of(&f->core);
    assert_int_equal(f->count, records);
    assert_int_equal(before.used, after.used);
    assert_memory_equal(before.data, after.data, after.used);
    free(before.data);
    free(after.data);
    fixture_destroy(f);
}

static void releases_of_several_files_pass_over_what_is_gone(void **state)
{
    struct core_fixture *f = fixture_create(1);
    (void)state;
    inode_id a = fixture_make_file(f, "a"), b = fixture_make_file(f, "b"); /* which are open once */
    const struct wire_ended_open ended[] = {{.ino = a, .count = 1}, {.ino = b + 1000, .count = 1}, {.ino = b, .count = 1}};
    uint8_t encoded[64];
    struct wire_out room = wire_out_on(encoded, sizeof encoded);
    union wire_any request = {.unlink = {ROOT_INODE, wire_text("a")}};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_unlink, &request), WIRE_OK);
    request.unlink = (struct wire_unlink){ROOT_INODE, wire_text("b")};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_unlink, &request), WIRE_OK);
    request.releases = (struct wire_releases){.opens = {0}};
    for (unsigned i = 0; i < 3; i++)
        assert_true(wire_append_ended_open(&room, &request.releases.opens, &ended[i]));
    assert_int_equal(fixture_ask(f, WIRE_TYPE_releases, &request), WIRE_OK);
    fixture_forget_removed(f);
    assert_null(namespace_find(&f->core.names, a));
    assert_null(namespace_find(&f->core.names, b));
    fixture_destroy(f);
}

static void an_unlinked_file_lives_until_its_last_release(void **state)
{
    struct core_fixture *f = fixture_create(1);
    (void)state;
    inode_id ino = fixture_make_file(f, "a");
    union wire_any request = {.open = {.ino = ino}};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_open, &request), WIRE_OK);
    request.unlink = (struct wire_unlink){ROOT_INODE, wire_text("a")};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_unlink, &request), WIRE_OK);
    assert_int_equal(fixture_set_size(f, ino, 12345), WIRE_OK);
    request.release = (struct wire_release){.ino = ino, .count = 1};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_release, &request), WIRE_OK);
    assert_non_null(namespace_find(&f->core.names, ino));
    assert_int_equal(fixture_ask(f, WIRE_TYPE_release, &request), WIRE_OK);
    fixture_forget_removed(f);
    assert_null(namespace_find(&f->core.names, ino));
    fixture_destroy(f);
}

static void a_session_takes_all_it_had_with_it(void **state)
{
    struct core_fixture *f = fixture_create(1);
    (void)state;
    inode_id gone = fixture_make_file(f, "gone"), stays = fixture_make_file(f, "stays");
    union wire_any request = {.unlink = {ROOT_INODE, wire_text("gone")}};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_unlink, &request), WIRE_OK);
    request.append_begin = (struct wire_append_begin){.ino = stays};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_append_begin, &request), WIRE_OK);
    assert_int_equal(fixture_lease(f, stays, 0, 1), WIRE_OK);
    assert_int_equal(fixture_lease(f, stays, 1, 1), WIRE_OK);
    assert_int_equal(fixture_publish(f, stays, 100, -1, false), WIRE_OK);
    union wire_any end = {.j_session_end = {.session = f->session}};
    assert_int_equal(fixture_decide(f, WIRE_TYPE_j_session_end, &end), WIRE_OK);
    fixture_forget_removed(f);
    assert_null(namespace_find(&f->core.names, gone));
    assert_int_equal(sessions_append_holder(&f->core.sessions, stays), 0);
    struct inode *inode = namespace_find(&f->core.names, stays);
    assert_int_equal(inode->opens, 0);
    assert_null(inode_find_chunk(inode, 1)); /* wholly above the length: nobody ever said that it was written */
    assert_true(chunk_is_unsettled(inode_find_chunk(inode, 0)));
    assert_int_equal(inode_find_chunk(inode, 0)->activity->keep_bytes, 100);
    fixture_destroy(f);
}

static void a_cut_frees_what_is_beyond_and_unsettles_the_last_chunk(void **state)
{
    struct core_fixture *f = fixture_create(2);
    (void)state;
    inode_id ino = fixture_make_file(f, "a");
    struct inode *inode = namespace_find(&f->core.names, ino);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(fixture_lease(f, ino, i, 2), WIRE_OK);
        assert_int_equal(fixture_publish(f, ino, (i + 1) * CORE_CHUNK_BYTES_SMALL, i, true), WIRE_OK);
    }
    uint32_t epoch = inode->size_epoch;
    assert_int_equal(fixture_set_size(f, ino, CORE_CHUNK_BYTES_SMALL + 7), WIRE_OK);
    assert_int_equal(inode->size_epoch, epoch + 1);
    assert_int_equal(inode->file.chunk_count, 2);
    assert_false(chunk_is_unsettled(inode_find_chunk(inode, 0)));
    assert_int_equal(inode_find_chunk(inode, 1)->activity->keep_bytes, 7);
    assert_int_equal(fixture_set_size(f, ino, 5 * CORE_CHUNK_BYTES_SMALL), WIRE_OK);
    assert_int_equal(inode->size_epoch, epoch + 1);
    assert_int_equal(inode_find_chunk(inode, 1)->activity->keep_bytes, 7);
    assert_int_equal(fixture_set_size(f, ino, CORE_CHUNK_BYTES_SMALL), WIRE_OK);
    assert_int_equal(inode->file.chunk_count, 1);
    assert_int_equal(f->core.chunks.unsettled_count, 0);
    /* A length learned before the cut is void. */
    union wire_any late = {.publish = {.ino = ino, .size_epoch = epoch, .length = 3 * CORE_CHUNK_BYTES_SMALL}};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_publish, &late), WIRE_OK);
    assert_int_equal(inode->size, CORE_CHUNK_BYTES_SMALL);
    fixture_destroy(f);
}

/* Whoever has a lease may be writing, and must hear of the cut before its write is acknowledged. */
static void a_cut_empties_chunks_that_are_leased_and_frees_them_later(void **state)
{
    struct core_fixture *f = fixture_create(2);
    (void)state;
    inode_id ino = fixture_make_file(f, "a");
    struct inode *inode = namespace_find(&f->core.names, ino);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fixture_lease(f, ino, i, 2), WIRE_OK);
    assert_int_equal(fixture_publish(f, ino, 3 * CORE_CHUNK_BYTES_SMALL, 0, true), WIRE_OK);
    assert_int_equal(fixture_set_size(f, ino, 0), WIRE_OK);
    assert_null(inode_find_chunk(inode, 0));
    for (uint32_t i = 1; i < 3; i++) {
        assert_true(chunk_is_unsettled(inode_find_chunk(inode, i)));
        assert_int_equal(inode_find_chunk(inode, i)->activity->keep_bytes, 0);
    }
    assert_int_equal(fixture_publish(f, ino, 0, 1, false), WIRE_OK);
    assert_int_equal(fixture_publish(f, ino, 0, 2, false), WIRE_OK);
    assert_int_equal(inode->file.chunk_count, 0);
    assert_int_equal(f->core.chunks.unsettled_count, 0);
    fixture_destroy(f);
}

static void directories_move_with_their_link_counts(void **state)
{
    struct core_fixture *f = fixture_create(1);
    union wire_any request = {.mknod = {.parent = ROOT_INODE, .name = wire_text("a"), .mode = S_IFDIR}};
    (void)state;
    assert_int_equal(fixture_ask(f, WIRE_TYPE_mknod, &request), WIRE_OK);
    inode_id a = f->core.names.next_ino - 1;
    request.mknod = (struct wire_mknod){.parent = a, .name = wire_text("b"), .mode = S_IFDIR};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_mknod, &request), WIRE_OK);
    inode_id b = f->core.names.next_ino - 1;
    request.rename = (struct wire_rename){ROOT_INODE, wire_text("a"), b, wire_text("c"), 0};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_rename, &request), WIRE_INVALID);
    request.rename = (struct wire_rename){a, wire_text("b"), ROOT_INODE, wire_text("a"), 0};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_rename, &request), WIRE_NOT_EMPTY);
    request.rename = (struct wire_rename){a, wire_text("b"), ROOT_INODE, wire_text("b"), 0};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_rename, &request), WIRE_OK);
    assert_int_equal(f->core.names.root->nlink, 4);
    assert_int_equal(namespace_find(&f->core.names, a)->nlink, 2);
    request.rename = (struct wire_rename){ROOT_INODE, wire_text("b"), ROOT_INODE, wire_text("a"), 0};
    assert_int_equal(fixture_ask(f, WIRE_TYPE_rename, &request), WIRE_OK);
    assert_null(namespace_find(&f->core.names, a));
    assert_int_equal(f->core.names.root->nlink, 3);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_and_snapshot_give_the_same_state),
        cmocka_unit_test(a_cut_image_is_refused), cmocka_unit_test(an_append_right_of_nobody_is_refused),
        cmocka_unit_test(an_image_with_its_numbers_twice_is_refused),
        cmocka_unit_test(a_failed_change_changes_nothing),
        cmocka_unit_test(releases_of_several_files_pass_over_what_is_gone),
        cmocka_unit_test(an_unlinked_file_lives_until_its_last_release),
        cmocka_unit_test(a_session_takes_all_it_had_with_it),
        cmocka_unit_test(a_cut_frees_what_is_beyond_and_unsettles_the_last_chunk),
        cmocka_unit_test(a_cut_empties_chunks_that_are_leased_and_frees_them_later),
        cmocka_unit_test(directories_move_with_their_link_counts),
    };
    log_init("test", LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
