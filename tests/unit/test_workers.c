/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "iobench/interrupt.h"
#include "iobench/worker_names.h"
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

/* A flush that takes long is inside of the window: what is not on the storage was not written. */
static int slow_flush(struct engine_file *file)
{
    clock_sleep_ns(300 * NS_PER_MS);
    return engine_sync.flush(file);
}

static void fsync_is_inside_of_the_window(void **state)
{
    (void)state;
    struct engine slow = engine_sync;
    struct workers_outcome o;
    slow.flush = slow_flush;
    struct workers_job job = job_of(TEST_WRITE, 65536);
    job.engine = &slow;
    assert_int_equal(run(&job, &o), 0);
    assert_true(o.elapsed_ns >= 300 * NS_PER_MS && o.fsync_ns >= 300 * NS_PER_MS && o.flush_ns >= o.fsync_ns);
    assert_true(o.first_done_ns >= 300 * NS_PER_MS);
    job.load.sync = SYNC_NONE;
    assert_int_equal(run(&job, &o), 0);
    assert_true(o.fsync_ns < 300 * NS_PER_MS);
}

static void every_engine_moves_the_same_bytes(void **state)
{
    (void)state;
    static const struct engine *const engines[] = {&engine_sync, &engine_vectored, &engine_aio, &engine_mmap, &engine_stdio};
    static const enum test_kind tests[] = {TEST_WRITE, TEST_READ, TEST_RANDOM_WRITE, TEST_BACKWARD_READ, TEST_MIXED};
    struct workers_outcome o;
    uint32_t generation = 1;
    for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++)
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
            struct workers_job job = job_of(tests[t], 4096);
            for (uint32_t i = 0; job.workload->writes && i < THREADS; i++) {
                files[i].oldest = job.workload->reads ? generation : 0;
                files[i].identity.generation = generation + 1;
            }
            generation += job.workload->writes;
            job.engine = engines[e];
            job.load.depth = engines[e]->submit ? 7 : 1;
            job.load.read_percent = 50;
            job.load.processes = t % 2 == 0;
            job.verify = true;
            if (run(&job, &o) != 0)
                fail_msg("%s %s: %s", engines[e]->name, test_kind_name(tests[t]), o.error);
            assert_int_equal(o.bytes, THREADS * MIB);
            /* A second opinion: plain reads. */
            job = job_of(TEST_READ, 65536);
            job.verify = true;
            assert_int_equal(run(&job, &o), 0);
        }
}

/* A worker process that is killed fails its cell by name, and nobody waits for it. */
static int dying_write(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    if (offset > 0)
        (void)raise(SIGKILL);
    return engine_sync.write(file, buffer, bytes, offset);
}

static void a_killed_process_is_named(void **state)
{
    (void)state;
    struct engine dying = engine_sync;
    struct workers_outcome o;
    dying.write = dying_write;
    struct workers_job job = job_of(TEST_WRITE, 4096);
    job.engine = &dying;
    job.load.processes = true;
    int64_t begin = clock_mono_ns();
    assert_int_equal(run(&job, &o), -EIO);
    assert_non_null(strstr(o.error, "was ended by signal 9"));
    assert_true(clock_mono_ns() - begin < 4 * NS_PER_S);
}

/* The file is cut while it is mapped: an error, not the end of the program. */
static void a_mapping_that_breaks_is_an_error(void **state)
{
    (void)state;
    struct workers_outcome o;
    struct workers_job job = job_of(TEST_WRITE, 4096);
    assert_int_equal(run(&job, &o), 0);
    assert_int_equal(truncate(paths[1], 8192), 0);
    job = job_of(TEST_READ, 4096);
    job.engine = &engine_mmap;
    assert_int_equal(run(&job, &o), -EIO);
    assert_non_null(strstr(o.error, "w.1: read at 8192: the file ends before it should"));
}

/* A storage that stands still for a while is late for every operation that was due meanwhile. */
static int hiccup_read(struct engine_file *file, void *buffer, size_t bytes, uint64_t offset)
{
    if (offset == 0)
        clock_sleep_ns(200 * NS_PER_MS);
    return engine_sync.read(file, buffer, bytes, offset);
}

static void limited_latency_counts_from_when_it_was_due(void **state)
{
    (void)state;
    struct engine hiccup = engine_sync;
    struct workers_outcome o;
    struct workers_job job = job_of(TEST_WRITE, 65536);
    assert_int_equal(run(&job, &o), 0);
    hiccup.read = hiccup_read;
    job = job_of(TEST_READ, 65536); /* 16 blocks each */
    job.engine = &hiccup;
    job.threads = 1;
    job.load.rate_limit = 100;
    assert_int_equal(run(&job, &o), 0);
    assert_true(o.elapsed_ns >= 150 * NS_PER_MS);
    /* Due at 0, 10, 20, ... ms, all begun after 200: the median waited 100 ms or so. */
    assert_true(o.latency.p50_ns >= 60 * NS_PER_MS && o.latency.max_ns >= 200 * NS_PER_MS);
}

static void names_are_made_and_counted(void **state)
{
    (void)state;
    static const enum test_kind tests[] = {TEST_CREATE, TEST_STAT, TEST_OPEN, TEST_READDIR, TEST_RENAME, TEST_UNLINK};
    struct workers_outcome o;
    for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
        struct workers_job job = job_of(tests[t], 1);
        job.file_bytes = 0;
        job.load.files_per_worker = 23;
        job.verify = true;
        if (run(&job, &o) != 0)
            fail_msg("%s: %s", test_kind_name(tests[t]), o.error);
        assert_int_equal(o.bytes, 0);
        assert_int_equal(o.operations, THREADS * (tests[t] == TEST_READDIR ? WORKER_NAMES_PASSES : 23));
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(worker_names_remove(paths[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(write_then_read_then_rewrite, set_up),
        cmocka_unit_test_setup(a_flipped_bit_is_found, set_up),
        cmocka_unit_test_setup(the_one_that_fails_is_named, set_up),
        cmocka_unit_test_setup(the_one_that_hangs_is_named, set_up),
        cmocka_unit_test_setup(stopping_is_no_failure, set_up),
        cmocka_unit_test_setup(fsync_is_inside_of_the_window, set_up),
        cmocka_unit_test_setup(every_engine_moves_the_same_bytes, set_up),
        cmocka_unit_test_setup(a_killed_process_is_named, set_up),
        cmocka_unit_test_setup(a_mapping_that_breaks_is_an_error, set_up),
        cmocka_unit_test_setup(limited_latency_counts_from_when_it_was_due, set_up),
        cmocka_unit_test_setup(names_are_made_and_counted, set_up),
    };
    interrupt_install();
    fill_pattern_init(&pattern, 1);
    scratch_make(dir);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove(dir);
    return failed;
}
