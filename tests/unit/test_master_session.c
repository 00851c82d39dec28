/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/master_session.h"
#include "tests/unit/fake_cluster.h"

/* What the master of pretence does with changes (mkdir): breaks the connection or answers a status, so many times. */
static int breaks_left, statuses_left;
static uint16_t status_said;
static uint32_t seen[64], seen_slot[64];
static atomic_int seen_count;

static bool on_mknod(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    (void)cluster;
    if (request->type != WIRE_TYPE_mknod)
        return false;
    int n = atomic_fetch_add(&seen_count, 1);
    seen[n] = request->sequence;
    seen_slot[n] = request->slot;
    if (breaks_left > 0) {
        breaks_left--;
        reply->break_connection = true;
        return true;
    }
    if (statuses_left > 0) {
        statuses_left--;
        reply->status = status_said;
        return true;
    }
    return false;
}

struct fixture {
    struct fake_cluster *cluster;
    struct master_session *session;
};

static struct fixture set_up(void)
{
    struct fixture f = {.cluster = fake_cluster_start(1)};
    struct master_session_options options = {.master = f.cluster->master.address, .retry_ns = NS_PER_S, .node = "test"};
    f.cluster->on_master = on_mknod;
    breaks_left = statuses_left = 0;
    atomic_store(&seen_count, 0);
    assert_int_equal(master_session_create(&options, &f.session), 0);
    return f;
}

static void tear_down(struct fixture *f)
{
    master_session_destroy(f->session);
    fake_cluster_stop(f->cluster);
}

static int make_directory(struct fixture *f, uint32_t generation)
{
    struct master_call call;
    union wire_any request = {.mknod = {.parent = 1, .name = wire_text("d"), .mode = 040755}};
    int rc = master_session_call(f->session, generation, WIRE_TYPE_mknod, &request, &call);
    if (rc == 0)
        master_session_finish(f->session, &call);
    return rc;
}

static void test_a_lost_reply_is_asked_for_under_the_same_sequence(void **state)
{
    (void)state;
    struct fixture f = set_up();
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), 0);
    breaks_left = 3;
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), 0);
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), 0);
    assert_int_equal(seen_count, 6);
    const uint32_t expected[] = {1, 2, 2, 2, 2, 3};
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(seen[i], expected[i]);
        assert_int_equal(seen_slot[i], 0);
    }
    tear_down(&f);
}

static void test_an_answer_to_try_again_makes_a_new_request(void **state)
{
    (void)state;
    struct fixture f = set_up();
    statuses_left = 2;
    status_said = WIRE_TIMED_OUT;
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), 0);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 2);
    assert_int_equal(seen[2], 3);
    statuses_left = 1;
    status_said = WIRE_EXISTS;
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), -EEXIST);
    tear_down(&f);
}

static void test_the_limit_ends_it(void **state)
{
    (void)state;
    struct fixture f = set_up();
    statuses_left = 1 << 20;
    status_said = WIRE_NO_SERVERS;
    int64_t start = clock_mono_ns();
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), -EIO);
    assert_in_range(clock_mono_ns() - start, NS_PER_S, 3 * NS_PER_S);
    statuses_left = 0;
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), 0);
    tear_down(&f);
}

static void test_a_forgotten_session_is_replaced(void **state)
{
    (void)state;
    struct fixture f = set_up();
    assert_int_equal(make_directory(&f, 1), 0);
    statuses_left = 1;
    status_said = WIRE_NO_SESSION;
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), 0);
    assert_int_equal(f.cluster->sessions, 2);
    assert_int_equal(master_session_generation(f.session), 2);
    assert_int_equal(seen[2], 1); /* sequences begin anew */
    assert_int_equal(make_directory(&f, 1), -ENOTCONN);
    assert_int_equal(seen_count, 3); /* and was not even sent */
    tear_down(&f);
}

/* The connection breaks after the change may have been done, and the session is gone when it is repeated. */
static void test_a_change_of_unknown_fate_is_not_repeated_in_a_new_session(void **state)
{
    (void)state;
    struct fixture f = set_up();
    breaks_left = 1;
    statuses_left = 1;
    status_said = WIRE_NO_SESSION;
    assert_int_equal(make_directory(&f, MASTER_ANY_GENERATION), -EIO);
    assert_int_equal(seen_count, 2);
    tear_down(&f);
}

static void *call_often(void *argument)
{
    struct fixture *f = argument;
    for (int i = 0; i < 200; i++) {
        struct master_call call;
        union wire_any request = {.getattr = {.ino = 1}};
        assert_int_equal(master_session_call(f->session, MASTER_ANY_GENERATION, WIRE_TYPE_getattr, &request, &call), 0);
        master_session_finish(f->session, &call);
    }
    return NULL;
}

static void test_as_many_slots_as_threads_and_no_more(void **state)
{
    (void)state;
    struct fixture f = set_up();
    pthread_t threads[8];
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &f), 0);
    for (unsigned i = 0; i < 8; i++)
        (void)pthread_join(threads[i], NULL);
    assert_true(f.cluster->master.connections <= 9); /* and the first, which asked for the session */
    tear_down(&f);
}

static bool refuses(struct fake_cluster *cluster, const struct fake_request *request, struct fake_reply *reply)
{
    (void)cluster;
    (void)request;
    reply->status = WIRE_EXCLUSIVE;
    return true;
}

static void test_a_refusal_is_final(void **state)
{
    (void)state;
    struct fake_cluster *cluster = fake_cluster_start(1);
    struct master_session_options options = {
        .master = cluster->master.address, .exclusive = true, .retry_ns = NS_PER_S, .node = "test"};
    struct master_session *session;
    cluster->on_master = refuses;
    assert_int_equal(master_session_create(&options, &session), -EUSERS);
    fake_cluster_stop(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_reply_is_asked_for_under_the_same_sequence),
        cmocka_unit_test(test_an_answer_to_try_again_makes_a_new_request),
        cmocka_unit_test(test_the_limit_ends_it),
        cmocka_unit_test(test_a_forgotten_session_is_replaced),
        cmocka_unit_test(test_a_change_of_unknown_fate_is_not_repeated_in_a_new_session),
        cmocka_unit_test(test_as_many_slots_as_threads_and_no_more),
        cmocka_unit_test(test_a_refusal_is_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
