/* SPDX-License-Identifier: Apache-2.0
 *
 * Repair, draining, goals and balance on pretended servers that do what they are told, fail, go and come back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/log.h"
#include "tests/unit/repair_cluster.h"

static void a_lost_copy_is_made_anew_after_a_while(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 2);
    cluster_run(c, 2);
    cluster_lose(c, 2);
    cluster_run(c, 8);
    assert_int_equal(c->copies, 0); /* it may be restarting */
    cluster_run(c, 5);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    assert_non_null(chunk_find_copy(chunk, 3));
    assert_int_equal(c->deletions, 0);
    /* The one that was missed comes back: there is one too many, and two stay. */
    cluster_come_back(c, 2);
    cluster_run(c, 3);
    assert_int_equal(chunk->copy_count, 2);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    assert_int_equal(c->deletions, 1);
    assert_true(repair_is_idle(&c->f->core));
    cluster_destroy(c);
}

static void a_copy_counts_only_when_its_record_is_made(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 1);
    c->stuck[2] = c->stuck[3] = true;
    cluster_run(c, 3);
    assert_int_equal(c->f->core.repair.job_count, 1);
    assert_int_equal(chunk->copy_count, 1);
    size_t records = c->f->count;
    c->stuck[2] = c->stuck[3] = false;
    cluster_run(c, 1);
    assert_int_equal(chunk->copy_count, 2);
    assert_int_equal(c->f->count, records + 1);
    assert_int_equal(c->f->records[records].change.type, WIRE_TYPE_j_copies);
    cluster_destroy(c);
}

/* lizardfs#297: the source dies in the middle of a copy. */
static void a_source_that_dies_in_the_middle_loses_nothing(void **state)
{
    struct repair_cluster *c = cluster_create(4);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 2);
    cluster_run(c, 2);
    cluster_lose(c, 2);
    c->stuck[3] = c->stuck[4] = true;
    cluster_run(c, 12);
    assert_int_equal(c->f->core.repair.job_count, 1);
    cluster_lose(c, 1);
    c->stuck[3] = c->stuck[4] = false;
    cluster_run(c, 20);
    assert_int_equal(c->f->core.repair.job_count, 0);
    /* Whoever comes back first has it, and it is whole again from there. */
    cluster_come_back(c, 2);
    cluster_run(c, 3);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    cluster_destroy(c);
}

static void a_damaged_copy_is_replaced_in_its_place(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 2);
    cluster_run(c, 2);
    cluster_damage(c, 2, chunk->node.id);
    cluster_run(c, 1);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    assert_int_equal(chunk_find_copy(chunk, 2)->bits, COPY_REPORTED);
    /* Where there is no room for that, another server gets one, and then the damaged one goes. */
    struct chunk *other = cluster_file(c, "other", 1, 1);
    cluster_damage(c, 1, other->node.id);
    cluster_run(c, 3);
    assert_int_equal(other->copy_count, 1); /* the only copy stays, whatever it is */
    assert_int_equal(c->deletions, 0);
    cluster_destroy(c);
}

static void a_damaged_copy_goes_after_another_is_good(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 2);
    cluster_run(c, 2);
    c->full[2] = true;
    cluster_damage(c, 2, chunk->node.id);
    cluster_run(c, 3);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    assert_non_null(chunk_find_copy(chunk, 3));
    assert_null(chunk_find_copy(chunk, 2));
    assert_null(cluster_copy(c, 2, chunk->node.id));
    cluster_destroy(c);
}

static void a_damaged_source_is_given_up(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 3, 2);
    cluster_copy(c, 1, chunk->node.id)->damaged = true; /* nobody knows yet */
    cluster_run(c, 5);
    assert_int_equal(cluster_true_copies(c, chunk), 3);
    cluster_destroy(c);
}

static void a_chunk_under_a_lease_gets_a_new_version_first(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 1);
    inode_id ino = chunk->owner->node.id;
    assert_int_equal(fixture_lease(c->f, ino, 0, 1), WIRE_OK);
    c->stuck[1] = true;
    cluster_run(c, 3);
    assert_int_equal(chunk->version, 2);
    assert_true(repair_keeps_writers(chunk));
    assert_int_equal(c->copies, 0); /* the source may still be written under the old version */
    c->stuck[1] = false;
    cluster_run(c, 2);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    assert_false(repair_keeps_writers(chunk));
    cluster_destroy(c);
}

/* Its server has just filled, another has room: it is copied there, and then goes on without the full one. */
static void a_chunk_that_grows_leaves_a_full_server(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 1, 1);
    assert_int_equal(fixture_lease(c->f, chunk->owner->node.id, 0, 1), WIRE_OK);
    cluster_run(c, 2);
    assert_false(repair_full(&c->f->core, chunk, 1, false, c->now)); /* a new chunk need not be moved */
    assert_true(repair_full(&c->f->core, chunk, 1, true, c->now));
    assert_true(repair_keeps_writers(chunk));
    for (int i = 0; i < 3 && chunk->copy_count == 1; i++)
        cluster_run(c, 1);
    if (chunk_find_copy(chunk, 1)) { /* else it was taken away as too much */
        assert_true(repair_full(&c->f->core, chunk, 1, true, c->now));
        cluster_run(c, 2);
    }
    assert_null(chunk_find_copy(chunk, 1));
    assert_int_equal(cluster_true_copies(c, chunk), 1);
    assert_true(chunk->version > 1);
    cluster_server(c, 1)->full_until_ns = c->now.mono_ns + NS_PER_S;
    assert_false(repair_full(&c->f->core, chunk, 2, true, c->now)); /* both are full */
    cluster_destroy(c);
}

static void a_copy_under_way_is_void_when_the_content_changes(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 1);
    c->stuck[2] = true;
    cluster_run(c, 2);
    assert_true(repair_is_copying(chunk));
    assert_int_equal(fixture_set_size(c->f, chunk->owner->node.id, 10), WIRE_OK);
    cluster_run(c, 1); /* the cut goes to the one copy there is */
    assert_int_equal(chunk->version, 2);
    assert_int_equal(chunk->copy_count, 1);
    c->stuck[2] = false;
    cluster_run(c, 4);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    cluster_destroy(c);
}

static void a_goal_that_rises_or_falls_is_met(void **state)
{
    struct repair_cluster *c = cluster_create(4);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 1, 1);
    union wire_any request = {.set_goal = {.ino = chunk->owner->node.id, .goal = 3}};
    cluster_run(c, 2);
    assert_int_equal(fixture_ask(c->f, WIRE_TYPE_set_goal, &request), WIRE_OK);
    cluster_run(c, 2);
    assert_int_equal(cluster_true_copies(c, chunk), 3);
    request.set_goal.goal = 1;
    assert_int_equal(fixture_ask(c->f, WIRE_TYPE_set_goal, &request), WIRE_OK);
    cluster_run(c, 2);
    assert_int_equal(chunk->copy_count, 1);
    assert_int_equal(cluster_true_copies(c, chunk), 1);
    assert_int_equal(c->deletions, 2);
    cluster_destroy(c);
}

static void drain(struct repair_cluster *c, server_id id, bool drain)
{
    union wire_any record = {.j_drain = {.server_id = id, .drain = drain}};
    assert_int_equal(fixture_decide(c->f, WIRE_TYPE_j_drain, &record), WIRE_OK);
}

static void a_server_is_emptied(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    struct chunk *chunks[10];
    char name[8];
    (void)state;
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        chunks[i] = cluster_file(c, name, (uint8_t)(1 + i % 2), 1 + (uint32_t)(i % 2));
    }
    assert_int_equal(fixture_lease(c->f, chunks[3]->owner->node.id, 0, 2), WIRE_OK); /* one is being written */
    cluster_run(c, 2);
    drain(c, 1, true);
    cluster_run(c, 15);
    for (int i = 0; i < 10; i++) {
        assert_null(chunk_find_copy(chunks[i], 1));
        assert_null(cluster_copy(c, 1, chunks[i]->node.id));
        assert_int_equal(cluster_true_copies(c, chunks[i]), 1 + i % 2);
    }
    assert_true(c->most_at_once <= 2 * REPAIR_COPIES_IN);
    drain(c, 1, false);
    cluster_destroy(c);
}

static void who_has_one_copy_left_comes_first(void **state)
{
    struct repair_cluster *c = cluster_create(4);
    char name[8];
    (void)state;
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        (void)cluster_file(c, name, 3, 2);
    }
    struct chunk *last = cluster_file(c, "last", 3, 1);
    for (server_id id = 1; id <= 4; id++)
        c->stuck[id] = true;
    cluster_tick(c);
    bool found = false;
    for (const struct repair_job *job = c->f->core.repair.jobs; job; job = job->next)
        found |= job->chunk == last;
    assert_true(found);
    assert_true(c->f->core.repair.job_count <= REPAIR_COPIES_IN * 2 && c->f->core.repair.job_count > 0);
    cluster_destroy(c);
}

static void copies_that_a_dead_writer_left_are_made_equal(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 2);
    union wire_any end = {.j_session_end = {.session = c->f->session}};
    assert_int_equal(fixture_lease(c->f, chunk->owner->node.id, 0, 2), WIRE_OK);
    cluster_copy(c, 2, chunk->node.id)->content = 9; /* half of a write reached it, and nobody was told */
    assert_int_equal(fixture_decide(c->f, WIRE_TYPE_j_session_end, &end), WIRE_OK);
    cluster_run(c, 4);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    assert_int_equal(chunk->bits, 0);
    assert_int_equal(c->copies, 1);
    cluster_destroy(c);
}

/* Another writer has it before repair comes to it, and gives it back in good order. */
static void unequal_copies_are_looked_at_when_the_next_writer_is_done(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 2);
    inode_id ino = chunk->owner->node.id;
    union wire_any end = {.j_session_end = {.session = c->f->session}};
    assert_int_equal(fixture_lease(c->f, ino, 0, 2), WIRE_OK);
    cluster_copy(c, 2, chunk->node.id)->content = 9;
    assert_int_equal(fixture_decide(c->f, WIRE_TYPE_j_session_end, &end), WIRE_OK);
    c->stuck[1] = c->stuck[2] = true;
    cluster_run(c, 1);
    assert_int_equal(fixture_begin_session(c->f, 78), WIRE_OK);
    for (server_id id = 1; id <= 2; id++) { /* the new version is taken, and the lease is there at once */
        c->stuck[id] = false;
        cluster_serve(c, id);
    }
    assert_false(chunk_is_unsettled(chunk));
    assert_int_equal(fixture_lease(c->f, ino, 0, 2), WIRE_OK);
    cluster_run(c, 20);
    assert_int_equal(c->copies, 0);
    assert_int_equal(fixture_publish(c->f, ino, 100, 0, true), WIRE_OK);
    cluster_run(c, 4);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    assert_int_equal(chunk->bits & CHUNK_UNEQUAL, 0);
    cluster_destroy(c);
}

static void a_chunk_made_with_too_few_copies_gets_the_others(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    cluster_run(c, 20); /* what is looked at when a master starts is over */
    assert_true(repair_is_idle(&c->f->core));
    struct chunk *chunk = cluster_file(c, "file", 2, 1); /* the other server had no room at that moment */
    cluster_run(c, 60);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    cluster_destroy(c);
}

static void an_unfinished_copy_that_is_reported_goes(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 2);
    cluster_run(c, 2);
    /* As if the master had been killed while server 3 made it, and somebody had written since. */
    (void)cluster_put(c, 3, (struct pretended_copy){chunk->node.id, chunk->version, 1, false});
    cluster_lose(c, 1);
    cluster_come_back(c, 3);
    cluster_run(c, 3);
    assert_non_null(cluster_copy(c, 3, chunk->node.id)); /* one good copy only: on doubt it stays */
    cluster_come_back(c, 1);
    cluster_run(c, 6);
    assert_null(cluster_copy(c, 3, chunk->node.id));
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    cluster_destroy(c);
}

static void nothing_is_deleted_while_there_are_not_enough(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 3, 2);
    cluster_damage(c, 2, chunk->node.id);
    c->full[2] = true;
    cluster_run(c, 40);
    assert_int_equal(chunk->copy_count, 2);
    assert_int_equal(c->deletions, 0);
    assert_int_equal(repair_queue_length(&c->f->core), 1); /* it is said that it waits */
    cluster_destroy(c);
}

static void a_bad_copy_stays_while_a_good_one_is_only_expected_back(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 3);
    cluster_damage(c, 3, chunk->node.id);
    c->full[3] = true;
    cluster_lose(c, 2);
    cluster_run(c, 5);
    assert_int_equal(c->deletions, 0);
    cluster_come_back(c, 2);
    cluster_run(c, 3);
    assert_int_equal(c->deletions, 1);
    assert_int_equal(cluster_true_copies(c, chunk), 2);
    cluster_destroy(c);
}

static void a_copy_that_nobody_waits_for_any_more_goes(void **state)
{
    struct repair_cluster *c = cluster_create(2);
    (void)state;
    struct chunk *chunk = cluster_file(c, "file", 2, 1);
    c->stuck[2] = true;
    cluster_run(c, 2);
    assert_true(repair_is_copying(chunk));
    chunk->owner->goal = 1;
    repair_cancel(&c->f->core, chunk);
    c->stuck[2] = false;
    cluster_run(c, 2);
    assert_int_equal(chunk->copy_count, 1);
    assert_null(cluster_copy(c, 2, chunk->node.id));
    assert_int_equal(cluster_true_copies(c, chunk), 1);
    cluster_destroy(c);
}

static void a_new_server_gets_its_share_and_then_it_is_quiet(void **state)
{
    struct repair_cluster *c = cluster_create(3);
    char name[8];
    (void)state;
    for (server_id id = 1; id <= 3; id++)
        cluster_server(c, id)->total_bytes = 64 * CLUSTER_COPY_BYTES;
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        (void)cluster_file(c, name, 2, 2);
    }
    cluster_run(c, 60);
    uint64_t used[4];
    for (server_id id = 1; id <= 3; id++)
        used[id] = cluster_server(c, id)->used_bytes / CLUSTER_COPY_BYTES;
    assert_int_equal(used[1] + used[2] + used[3], 80);
    for (server_id id = 1; id <= 3; id++)
        assert_in_range(used[id], 24, 30);
    unsigned copies = c->copies;
    cluster_run(c, 60);
    assert_int_equal(c->copies, copies);
    assert_true(c->most_at_once <= 2);
    cluster_destroy(c);
}

int main(void)
{
    log_init("test_repair", LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_copy_is_made_anew_after_a_while),
        cmocka_unit_test(a_copy_counts_only_when_its_record_is_made),
        cmocka_unit_test(a_source_that_dies_in_the_middle_loses_nothing),
        cmocka_unit_test(a_damaged_copy_is_replaced_in_its_place),
        cmocka_unit_test(a_damaged_copy_goes_after_another_is_good),
        cmocka_unit_test(a_damaged_source_is_given_up),
        cmocka_unit_test(a_chunk_under_a_lease_gets_a_new_version_first),
        cmocka_unit_test(a_chunk_that_grows_leaves_a_full_server),
        cmocka_unit_test(a_copy_under_way_is_void_when_the_content_changes),
        cmocka_unit_test(a_goal_that_rises_or_falls_is_met),
        cmocka_unit_test(a_server_is_emptied),
        cmocka_unit_test(who_has_one_copy_left_comes_first),
        cmocka_unit_test(copies_that_a_dead_writer_left_are_made_equal),
        cmocka_unit_test(unequal_copies_are_looked_at_when_the_next_writer_is_done),
        cmocka_unit_test(a_chunk_made_with_too_few_copies_gets_the_others),
        cmocka_unit_test(an_unfinished_copy_that_is_reported_goes),
        cmocka_unit_test(nothing_is_deleted_while_there_are_not_enough),
        cmocka_unit_test(a_bad_copy_stays_while_a_good_one_is_only_expected_back),
        cmocka_unit_test(a_copy_that_nobody_waits_for_any_more_goes),
        cmocka_unit_test(a_new_server_gets_its_share_and_then_it_is_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
