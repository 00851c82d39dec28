/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "iobench/interrupt.h"
#include "iobench/workers.h"
#include "scratch_dir.h"

enum { THREADS = 3 };

static char dir[SCRATCH_PATH], paths[THREADS][2 * SCRATCH_PATH];
static struct worker_file files[THREADS];
static struct fill_pattern pattern;

static struct workers_job job_of(enum test_kind test, uint64_t block)
{
    return (struct workers_job){.engine = &engine_sync, .workload = workload_of(test), .pattern = &pattern,
                                .files = files, .threads = THREADS, .block_bytes = block, .file_bytes = MIB, .seed = 11, .load = {.depth = 1}};
}

static int run(const struct workers_job *job, struct workers_outcome *outcome)
{
    struct workers *workers;
    assert_int_equal(workers_create(job, &workers), 0);
    int rc = workers_await(workers, WORKERS_READY, NULL);
    if (rc == 0) {
        workers_release(workers);
        rc = workers_await(workers, WORKERS_DONE, NULL);
    }
    workers_outcome(workers, outcome);
    workers_destroy(workers);
    return rc;
}

static int set_up(void **state)
{
    (void)state;
    scratch_empty(dir);
    for (uint32_t i = 0; i < THREADS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "w.%u", i);
        (void)scratch_path(dir, name, paths[i]);
        files[i] = (struct worker_file){.path = paths[i], .identity = {i, 1}};
    }
    return 0;
}

static void write_then_read_then_rewrite(void **state)
{
    (void)state;
    struct workers_outcome o;
    struct workers_job job = job_of(TEST_WRITE, 4096);
    assert_int_equal(run(&job, &o), 0);
    assert_false(o.failed);
    assert_int_equal(o.bytes, THREADS * MIB);
    assert_int_equal(o.operations, THREADS * MIB / 4096);
    assert_true(o.elapsed_ns > 0 && o.first_done_ns > 0 && o.first_done_ns <= o.elapsed_ns);
    assert_true(o.first_done_bytes >= MIB && o.first_done_bytes <= o.bytes);
    assert_true(o.flush_ns > 0 && o.cpu_s > 0 && o.latency.min_ns > 0 && o.latency.max_ns >= o.latency.p50_ns);
    for (uint32_t i = 0; i < THREADS; i++)
        files[i].identity.generation = 2;
    job = job_of(TEST_RANDOM_WRITE, 4096);
    assert_int_equal(run(&job, &o), 0);
    /* Every block was rewritten, so every reader, in whatever order and size, finds the new generation. */
    static const enum test_kind readers[] = {TEST_READ, TEST_RANDOM_READ};
    for (size_t i = 0; i < 2; i++) {
        job = job_of(readers[i], i ? 65536 : 512);
        job.verify = true;
        assert_int_equal(run(&job, &o), 0);
        assert_int_equal(o.bytes, THREADS * MIB);
    }
}

static void a_flipped_bit_is_found(void **state)
{
    (void)state;
    struct workers_outcome o;
    struct workers_job job = job_of(TEST_WRITE, 4096);
    assert_int_equal(run(&job, &o), 0);
    int fd = open(paths[1], O_RDWR);
    unsigned char byte;
    assert_int_equal(pread(fd, &byte, 1, 777777), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 777777), 1);
    (void)close(fd);
    job = job_of(TEST_RANDOM_READ, 4096);
    assert_int_equal(run(&job, &o), 0);
    job.verify = true;
    assert_int_equal(run(&job, &o), -EIO);
    assert_true(o.failed);
    assert_non_null(strstr(o.error, "w.1: wrong data at 777777: expected 0x"));
}

static void the_one_that_fails_is_named(void **state)
{
    (void)state;
    struct workers_outcome o;
    struct workers_job job = job_of(TEST_WRITE, 4096);
    assert_int_equal(run(&job, &o), 0);
    assert_int_equal(truncate(paths[2], 8192), 0);
    job = job_of(TEST_READ, 4096);
    assert_int_equal(run(&job, &o), -EIO);
    assert_non_null(strstr(o.error, "w.2: read at 8192: the file ends before it should"));
    assert_int_equal(unlink(paths[0]), 0);
    assert_int_equal(run(&job, &o), -EIO);
    assert_non_null(strstr(o.error, "w.0: open: No such file"));
    files[1].path = "/nonexistent/dir/f";
    job = job_of(TEST_WRITE, 4096);
    int64_t begin = clock_mono_ns();
    assert_int_equal(run(&job, &o), -EIO);
    assert_non_null(strstr(o.error, "/nonexistent/dir/f: create: No such file"));
    assert_true(clock_mono_ns() - begin < 2 * NS_PER_S);
}

/* An engine that never comes back from its second block until it is let go. */
static atomic_bool let_go;

static int hanging_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    while (offset > 0 && !let_go)
        clock_sleep_ns(NS_PER_MS);
    return engine_sync.write(file, buffer, bytes, offset);
}

struct watch_state {
    unsigned ticks;
    char stuck[RESULT_TEXT];
};

static bool stop_after_a_while(void *context, struct workers *workers)
{
    struct watch_state *w = context;
    char text[RESULT_TEXT];
    if (workers_describe_stuck(workers, 200 * NS_PER_MS, text, sizeof text))
        memcpy(w->stuck, text, sizeof text);
    return ++w->ticks >= 6;
}

static void the_one_that_hangs_is_named(void **state)
{
    (void)state;
    struct engine hanging = engine_sync;
    hanging.write = hanging_write;
    struct workers_job job = job_of(TEST_WRITE, 4096);
    job.engine = &hanging;
    struct workers *workers;
    struct watch_state seen = {0};
    struct workers_watch watch = {stop_after_a_while, &seen};
    assert_int_equal(workers_create(&job, &workers), 0);
    assert_int_equal(workers_await(workers, WORKERS_READY, NULL), 0);
    workers_release(workers);
    assert_int_equal(workers_await(workers, WORKERS_DONE, &watch), -ETIMEDOUT);
    assert_non_null(strstr(seen.stuck, "I/O of "));
    let_go = true;
    workers_destroy(workers);
}

static bool stop_at_once(void *context, struct workers *workers)
{
    (void)workers;
    ++*(unsigned *)context;
    return true;
}

static int slow_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    clock_sleep_ns(20 * NS_PER_MS);
    return engine_sync.write(file, buffer, bytes, offset);
}

static void stopping_is_no_failure(void **state)
{
    (void)state;
    struct engine slow = engine_sync;
    slow.write = slow_write;
    struct workers_job job = job_of(TEST_WRITE, 4096);
    job.engine = &slow;
    struct workers *workers;
    struct workers_outcome o;
    unsigned ticks = 0;
    struct workers_watch watch = {stop_at_once, &ticks};
    assert_int_equal(workers_create(&job, &workers), 0);
    assert_int_equal(workers_await(workers, WORKERS_READY, NULL), 0);
    workers_release(workers);
    int64_t begin = clock_mono_ns();
    assert_int_equal(workers_await(workers, WORKERS_DONE, &watch), -ECANCELED);
    assert_true(clock_mono_ns() - begin < NS_PER_S);
    workers_outcome(workers, &o);
    assert_true(o.stopped);
    assert_false(o.failed);
    workers_destroy(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(write_then_read_then_rewrite, set_up),
        cmocka_unit_test_setup(a_flipped_bit_is_found, set_up),
        cmocka_unit_test_setup(the_one_that_fails_is_named, set_up),
        cmocka_unit_test_setup(the_one_that_hangs_is_named, set_up),
        cmocka_unit_test_setup(stopping_is_no_failure, set_up),
    };
    interrupt_install();
    fill_pattern_init(&pattern, 1);
    scratch_make(dir);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove(dir);
    return failed;
}
