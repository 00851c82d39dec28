/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_cluster.h"

static int told(struct fake_cluster *cluster, int *messages)
{
    (void)pthread_mutex_lock(&cluster->lock);
    int releases = cluster->releases;
    *messages = cluster->release_messages;
    (void)pthread_mutex_unlock(&cluster->lock);
    return releases;
}

static void open_and_close(struct fs *fs, int times)
{
    for (int i = 0; i < times; i++) {
        struct fs_handle *handle;
        assert_int_equal(fs_open(fs, FAKE_INO, 0, &handle, NULL), 0);
        fs_release(fs, handle);
    }
}

static void test_many_are_told_together(void **state)
{
    (void)state;
    struct fake_cluster *cluster = fake_cluster_start(1);
    struct fs *fs = fake_cluster_mount(cluster, NS_PER_S);
    int messages;
    open_and_close(fs, 200);
    fs_unmount(fs);
    assert_int_equal(told(cluster, &messages), 200);
    assert_true(messages < 200);
    fake_cluster_stop(cluster);
}

static void test_one_is_told_soon(void **state)
{
    (void)state;
    struct fake_cluster *cluster = fake_cluster_start(1);
    struct fs *fs = fake_cluster_mount(cluster, NS_PER_S);
    int messages;
    open_and_close(fs, 1);
    for (int i = 0; i < 5000 && told(cluster, &messages) == 0; i++)
        clock_sleep_ns(NS_PER_MS);
    assert_int_equal(told(cluster, &messages), 1);
    open_and_close(fs, 1);
    assert_int_equal(fs_unlink(fs, 1, "name"), 0); /* before the name goes */
    assert_int_equal(told(cluster, &messages), 2);
    fs_unmount(fs);
    assert_int_equal(told(cluster, &messages), 2);
    fake_cluster_stop(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_are_told_together),
        cmocka_unit_test(test_one_is_told_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
