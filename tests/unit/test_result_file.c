/* SPDX-License-Identifier: Apache-2.0
 *
 * Results on disk: what is written is read back to the last bit, damage of any kind is one line and never a crash, large results
 * are fast.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "iobench/result_file.h"
#include "iobench/result_json.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/synthetic_result.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { INSTRUMENTED = 1, DAMAGES = 1000 };
#else
enum { INSTRUMENTED = 0, DAMAGES = 20000 };
#endif

static char dir[SCRATCH_PATH];

static const char *in_dir(const char *name)
{
    static char path[2 * SCRATCH_PATH];
    return scratch_path(dir, name, path);
}

static int make_dir(void **unused)
{
    (void)unused;
    scratch_make(dir);
    return 0;
}

static int remove_dir(void **unused)
{
    (void)unused;
    scratch_remove(dir);
    return 0;
}

/* The whole file, with a NUL behind it; the caller frees. */
static char *slurp(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    *size = (size_t)status.st_size;
    char *text = malloc(*size + 1);
    assert_non_null(text);
    assert_int_equal(read(fd, text, *size), (ssize_t)*size);
    text[*size] = '\0';
    close(fd);
    return text;
}

static void store(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
}

static void make(struct result *r, uint32_t scenarios, uint32_t blocks, uint32_t threads, uint32_t rounds)
{
    const struct synthetic_plan plan = {.scenarios = scenarios, .blocks = blocks, .threads = threads, .rounds = rounds,
                                        .loss = 0.05, .noise = 0.03, .seed = 42};
    result_init(r);
    synthetic_result(r, &plan);
}

static void assert_same_sample(const struct sample *a, const struct sample *b)
{
    assert_int_equal(a->scenario, b->scenario);
    assert_int_equal(a->round, b->round);
    assert_int_equal(a->position, b->position);
    assert_int_equal(a->test, b->test);
    assert_int_equal(a->block_bytes, b->block_bytes);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->failed, b->failed);
    assert_string_equal(a->error ? a->error : "", b->error ? b->error : "");
    assert_string_equal(a->mark, b->mark);
    assert_int_equal(a->start_wall_ns, b->start_wall_ns);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->operations, b->operations);
    assert_int_equal(a->elapsed_ns, b->elapsed_ns);
    assert_int_equal(a->first_done_ns, b->first_done_ns);
    assert_int_equal(a->first_done_bytes, b->first_done_bytes);
    assert_int_equal(a->flush_ns, b->flush_ns);
    assert_memory_equal(&a->latency, &b->latency, sizeof a->latency);
    assert_true(fabs(a->cpu.machine_busy_s - b->cpu.machine_busy_s) <= 1e-9);
    assert_true(fabs(a->cpu.unattributed_s - b->cpu.unattributed_s) <= 1e-9);
    assert_int_equal(a->served_known, b->served_known);
    assert_int_equal(a->served_read_bytes, b->served_read_bytes);
    assert_int_equal(a->served_write_requests, b->served_write_requests);
}

static void what_is_written_is_read(void **unused)
{
    (void)unused;
    static struct result a, b;
    char why[RESULT_FILE_WHY];
    make(&a, 5, 2, 2, 3);
    a.samples[1].failed = true;
    sample_set_error(&a.samples[1], "/mnt/\"x\\y\"\n\t\x01 caf\xc3\xa9: No space left on device");
    strcpy(a.samples[2].mark, "cache-not-cold");
    a.samples[3].served_known = false;
    a.samples[3].served_read_bytes = 0;
    a.samples[4].cpu.unattributed_s = -0.25;
    strcpy(a.label, "a label, with \"quotes\"");
    a.complete = false;
    a.smoke_test = true;
    assert_int_equal(result_file_write(&a, dir), 0);
    for (int by_file = 0; by_file < 2; by_file++) {
        result_init(&b);
        assert_int_equal(result_file_read(by_file ? in_dir("results.json") : dir, &b, why, sizeof why), 0);
        assert_int_equal(b.sample_count, a.sample_count);
        for (size_t i = 0; i < a.sample_count; i++) {
            a.samples[3].served_read_requests = 0;
            assert_same_sample(&a.samples[i], &b.samples[i]);
        }
        assert_string_equal(a.label, b.label);
        assert_string_equal(a.command_line, b.command_line);
        assert_int_equal(a.seed, b.seed);
        assert_false(b.complete);
        assert_true(b.smoke_test);
        assert_int_equal(a.cache, b.cache);
        assert_int_equal(a.block_count, b.block_count);
        assert_int_equal(a.block_bytes[1], b.block_bytes[1]);
        assert_int_equal(a.threads[1], b.threads[1]);
        assert_int_equal(a.tests[3], b.tests[3]);
        assert_int_equal(b.scenario_count, 5);
        assert_true(b.scenarios[4].a_a_arm);
        assert_string_equal(a.scenarios[2].directory, b.scenarios[2].directory);
        assert_string_equal(a.environment.cpu_model, b.environment.cpu_model);
        assert_int_equal(a.environment.memory_bytes, b.environment.memory_bytes);
        result_fini(&b);
    }
    result_fini(&a);
}

static void engines_and_axes_are_kept_too(void **unused)
{
    (void)unused;
    static struct result a, b;
    char why[RESULT_FILE_WHY];
    make(&a, 2, 1, 1, 2);
    a.sync = SYNC_DSYNC;
    a.queue_depth = 16;
    a.duration_ns = 3 * NS_PER_S;
    a.shared_file = true;
    strcpy(a.cpus, "0-3,8");
    a.tests[3] = TEST_STAT;
    struct sample *names = &a.samples[0], *series = &a.samples[1];
    names->test = TEST_STAT;
    names->block_bytes = 0;
    names->bytes = 0;
    series->worker_rates = (struct worker_rates){1, 2, 3, 2};
    series->pressure.io_ns = 77;
    series->fsync_ns = 5;
    struct sample_interval pieces[] = {{1000, 10}, {2000, 7}, {2500, 0}};
    struct sample with = {.intervals = pieces, .interval_count = 3}, copy;
    sample_copy(&copy, &with);
    series->intervals = copy.intervals;
    series->interval_count = 3;
    assert_int_equal(result_file_write(&a, dir), 0);
    result_init(&b);
    assert_int_equal(result_file_read(dir, &b, why, sizeof why), 0);
    assert_int_equal(b.sync, SYNC_DSYNC);
    assert_int_equal(b.queue_depth, 16);
    assert_int_equal(b.duration_ns, 3 * NS_PER_S);
    assert_true(b.shared_file && !b.processes && b.rate_limit == 0);
    assert_string_equal(b.cpus, "0-3,8");
    assert_int_equal(b.samples[0].test, TEST_STAT);
    assert_int_equal(b.samples[0].block_bytes, 0);
    assert_memory_equal(&b.samples[1].worker_rates, &series->worker_rates, sizeof series->worker_rates);
    assert_int_equal(b.samples[1].pressure.io_ns, 77);
    assert_int_equal(b.samples[1].fsync_ns, 5);
    assert_int_equal(b.samples[1].interval_count, 3);
    assert_int_equal(b.samples[1].intervals[1].end_ns, 2000);
    assert_int_equal(b.samples[1].intervals[1].operations, 7);
    assert_int_equal(b.samples[2].interval_count, 0);
    result_fini(&a);
    result_fini(&b);
}

/* A second opinion on the format: another parser reads the file, and finds the figures where they are documented. */
static void another_parser_reads_it(void **unused)
{
    (void)unused;
    static struct result a;
    json_error_t error;
    make(&a, 2, 1, 1, 2);
    sample_set_error(&a.samples[0], "not utf-8: \xff\xc3");
    a.samples[0].failed = true;
    assert_int_equal(result_file_write(&a, dir), 0);
    json_t *root = json_load_file(in_dir("results.json"), JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "format")), "iobench-result");
    json_t *sample = json_array_get(json_object_get(root, "samples"), 1);
    assert_int_equal(json_integer_value(json_object_get(sample, "elapsed_ns")), a.samples[1].elapsed_ns);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(sample, "latency_ns"), "p99")), 4000);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(root, "samples"), 0), "error")),
                        "not utf-8: \xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(json_string_value(json_object_get(root, "seed")), "18364758544493064720");
    json_decref(root);
    result_fini(&a);
}

static void samples_stand_in_the_csv(void **unused)
{
    (void)unused;
    static struct result a;
    size_t size, lines = 0;
    make(&a, 2, 1, 1, 2);
    sample_set_error(&a.samples[0], "a \"quoted\", one");
    a.samples[0].failed = true;
    assert_int_equal(result_file_write(&a, dir), 0);
    char *text = slurp(in_dir("samples.csv"), &size);
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, a.sample_count + 1);
    assert_non_null(strstr(text, ",latency_p50_ns,"));
    assert_non_null(strstr(text, ",cpu_machine_busy_ns,"));
    assert_non_null(strstr(text, "\"a \"\"quoted\"\", one\""));
    assert_non_null(strstr(text, "\nbare-net,0,"));
    free(text);
    result_fini(&a);
}

/* One reading of a damaged text: an error with one printable line, or (where a flip changed nothing that counts) a result. */
static int read_damaged(const char *text, size_t size)
{
    static struct result r;
    char why[RESULT_FILE_WHY] = "";
    char *copy = malloc(size ? size : 1); /* exact, so that the sanitizer sees a byte too far */
    assert_non_null(copy);
    memcpy(copy, text, size);
    result_init(&r);
    int error = result_json_read(copy, size, &r, why, sizeof why);
    if (error != 0) {
        assert_int_equal(error, -EINVAL);
        assert_true(why[0] && !strchr(why, '\n'));
    }
    result_fini(&r);
    free(copy);
    return error;
}

static void every_truncation_is_refused(void **unused)
{
    (void)unused;
    static struct result a;
    size_t size;
    make(&a, 2, 1, 1, 1);
    assert_int_equal(result_file_write(&a, dir), 0);
    char *text = slurp(in_dir("results.json"), &size);
    assert_int_equal(read_damaged(text, size), 0);
    for (size_t cut = 0; cut + 2 < size; cut++)
        assert_int_equal(read_damaged(text, cut), -EINVAL);
    free(text);
    result_fini(&a);
}

static void random_damage_is_refused(void **unused)
{
    (void)unused;
    static struct result a;
    size_t size, accepted = 0;
    uint64_t state = 5;
    make(&a, 3, 1, 1, 2);
    assert_int_equal(result_file_write(&a, dir), 0);
    char *text = slurp(in_dir("results.json"), &size);
    size_t hash_at = (size_t)(strstr(text, "\"fnv1a64\"") - text);
    for (int i = 0; i < DAMAGES; i++) {
        size_t at = synthetic_random(&state) % size;
        char before = text[at];
        text[at] = (char)(before ^ (1 << synthetic_random(&state) % 8));
        int error = read_damaged(text, size);
        accepted += error == 0;
        /* Only the name of the checksum itself can change unseen: then there is none. */
        assert_true(error != 0 || at > hash_at);
        text[at] = before;
    }
    assert_true(accepted < 100);
    /* Whole pieces cut out, doubled and moved. Without the checksum nothing but the structure guards it. */
    text[hash_at + 1] = 'x';
    for (int i = 0; i < DAMAGES; i++) {
        size_t from = synthetic_random(&state) % size, to = synthetic_random(&state) % size;
        size_t length = synthetic_random(&state) % 40;
        char *copy = malloc(size);
        memcpy(copy, text, size);
        if (from + length <= size && to + length <= size)
            memmove(copy + to, text + from, length);
        (void)read_damaged(copy, size);
        free(copy);
    }
    free(text);
    result_fini(&a);
}

static void check_why(const char *content, const char *expected)
{
    static struct result r;
    char why[RESULT_FILE_WHY] = "";
    store(in_dir("damaged.json"), content, strlen(content));
    result_init(&r);
    int error = result_file_read(in_dir("damaged.json"), &r, why, sizeof why);
    assert_int_equal(error, -EINVAL);
    assert_non_null(strstr(why, "damaged.json: "));
    if (!strstr(why, expected))
        fail_msg("'%s' does not say '%s'", why, expected);
    result_fini(&r);
}

static void other_files_are_told_apart(void **unused)
{
    (void)unused;
    static struct result r;
    char why[RESULT_FILE_WHY];
    check_why("", "empty");
    check_why("{}", "no result of iobench");
    check_why("[1,2]", "no result of iobench");
    check_why("{\"fio version\": \"fio-3.33\", \"jobs\": []}", "no result of iobench");
    check_why("\x7f" "ELF", "no result of iobench");
    check_why("{\"format\":\"iobench-result\",\"format_version\":2,\"shape\":{}}", "use a newer iobench");
    check_why("{\"format\":\"iobench-result\",\"format_version\":0}", "format version");
    check_why("{\"format\":\"iobench-result\",\"format_version\":1}", "a field is missing");
    check_why("{\"format\":\"iobench-result\",\"format_version\":1,\"x\":"
              "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deep");
    result_init(&r);
    assert_int_equal(result_file_read("/nonexistent/result", &r, why, sizeof why), -ENOENT);
    assert_non_null(strstr(why, "/nonexistent/result"));
    assert_int_equal(result_file_read("/", &r, why, sizeof why), -ENOENT);
    assert_non_null(strstr(why, "no results.json"));
    assert_int_equal(result_file_read("/dev/zero", &r, why, sizeof why), -EINVAL);
    result_fini(&r);
}

/* Changes one thing in a good text and expects the reason. */
static void check_change(const char *from, const char *to, const char *expected)
{
    static struct result a;
    size_t size;
    make(&a, 2, 1, 1, 1);
    assert_int_equal(result_file_write(&a, dir), 0);
    char *text = slurp(in_dir("results.json"), &size);
    char *at = strstr(text, from);
    assert_non_null(at);
    char *changed = malloc(size + strlen(to) + 1);
    (void)sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    check_why(changed, expected);
    free(changed);
    free(text);
    result_fini(&a);
}

static void wrong_content_is_named(void **unused)
{
    (void)unused;
    check_change("\"scenario\":1", "\"scenario\":2", "checksum");
    check_change("\"scenario\":1", "\"scenario\":-1", "negative");
    check_change("\"threads\":1", "\"threads\":1.5", "whole number");
    check_change("\"round\":0", "\"round\":1000", "round is beyond");
    check_change("\"test\":\"read\"", "\"test\":\"raed\"", "unknown name");
    check_change("\"name\":\"bare-net\"", "\"name\":\"bare\"", "one name");
    check_change("\"elapsed_ns\":", "\"elapsed_nx\":", "missing");
    check_change("\"seed\":\"", "\"seed\":\"x", "damaged");
    check_change("\"kernel\":\"6.18.5\"", "\"kernel\":\"6.18.5\",\"kernel\":7", "string was expected");
    check_change("\"cpus\":2", "\"cpus\":99999999999", "too large");
    check_change("\"hostname\":\"testhost\"", "\"hostname\":\"testhosttesthosttesthosttesthosttesthosttesthosttesthosttesthost\"",
                 "longer than its field");
    check_change("\n}\n", "\n}\nx", "after its end");
}

/* Where a file was edited by hand and the checksum taken out, its content counts. Unknown members are read over. */
static void edited_by_hand_is_read_without_a_checksum(void **unused)
{
    (void)unused;
    static struct result a, b;
    size_t size;
    char why[RESULT_FILE_WHY];
    make(&a, 2, 1, 1, 1);
    assert_int_equal(result_file_write(&a, dir), 0);
    char *text = slurp(in_dir("results.json"), &size);
    char *checksum = strstr(text, ",\n\"fnv1a64\"");
    assert_non_null(checksum);
    *checksum = '\0';
    text = realloc(text, size + 200);
    assert_non_null(text);
    strcat(text, ",\n \"note\" : [ {\"a\": -1.5e+3, \"b\": [true, false, null, \"\\ud83d\\ude00\"]}, [] ] }");
    store(in_dir("damaged.json"), text, strlen(text));
    result_init(&b);
    int error = result_file_read(in_dir("damaged.json"), &b, why, sizeof why);
    if (error != 0)
        fail_msg("%s", why);
    assert_int_equal(b.sample_count, a.sample_count);
    result_fini(&b);
    free(text);
    result_fini(&a);
}

static void writing_says_what_went_wrong(void **unused)
{
    (void)unused;
    static struct result a;
    make(&a, 1, 1, 1, 1);
    assert_int_equal(result_file_write(&a, "/nonexistent/dir"), -ENOENT);
    assert_int_equal(result_file_write(&a, "/dev/null"), -ENOTDIR);
    result_fini(&a);
}

/* Writes and reads once; the CPU time of both, since other programs may run beside this one. */
static int64_t time_both_ways(const struct result *a)
{
    static struct result b;
    char why[RESULT_FILE_WHY];
    result_init(&b);
    int64_t start = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    assert_int_equal(result_file_write(a, dir), 0); /* the tables, too */
    int64_t written = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    assert_int_equal(result_file_read(dir, &b, why, sizeof why), 0);
    int64_t end = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    print_message("%zu samples: written and tabulated in %.2f s of CPU time, read in %.2f s\n", b.sample_count,
                  (double)(written - start) / 1e9, (double)(end - written) / 1e9);
    result_fini(&b);
    return end - start;
}

/* A neighbour on the machine makes CPU time longer, too: the best of three counts. */
static void a_hundred_thousand_samples_are_fast(void **unused)
{
    (void)unused;
    static struct result a;
    struct rusage usage;
    int64_t best = INT64_MAX;
    make(&a, 5, 10, 5, INSTRUMENTED ? 5 : 100);
    assert_true(INSTRUMENTED || a.sample_count == 100000);
    for (int attempt = 0; attempt < 3 && best >= 2 * NS_PER_S; attempt++) {
        int64_t spent = time_both_ways(&a);
        best = spent < best ? spent : best;
    }
    (void)getrusage(RUSAGE_SELF, &usage);
    print_message("at most %ld MB in memory, both copies\n", usage.ru_maxrss / 1024);
    result_fini(&a);
    assert_true(INSTRUMENTED || best < 2 * NS_PER_S);
    assert_true(INSTRUMENTED || usage.ru_maxrss / 1024 < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(engines_and_axes_are_kept_too),
        cmocka_unit_test(another_parser_reads_it),
        cmocka_unit_test(samples_stand_in_the_csv),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(random_damage_is_refused),
        cmocka_unit_test(other_files_are_told_apart),
        cmocka_unit_test(wrong_content_is_named),
        cmocka_unit_test(edited_by_hand_is_read_without_a_checksum),
        cmocka_unit_test(writing_says_what_went_wrong),
        cmocka_unit_test(a_hundred_thousand_samples_are_fast),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
