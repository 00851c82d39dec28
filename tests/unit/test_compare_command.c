/* SPDX-License-Identifier: Apache-2.0
 *
 * `iobench compare` as scripts see it: what it prints on which stream, and its exit status.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iobench/compare_command.h"
#include "iobench/result_file.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/synthetic_result.h"

static char dir[SCRATCH_PATH];
static const char article[] = "docs/examples/moosefs-docker-article.csv";

static struct {
    int status;
    size_t out_size, err_size;
    char *out, *err;
} last;

static void redirect(const char *name, int fd)
{
    char path[2 * SCRATCH_PATH];
    int file = open(scratch_path(dir, name, path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(99);
}

static char *collect(const char *name, size_t *size)
{
    *size = 0;
    char *text = (char *)scratch_read(dir, name, size);
    assert_non_null(text);
    text[*size] = '\0';
    return text;
}

/* Runs "compare" with up to five arguments in a process of its own. */
static void run(const char *a, const char *b, const char *c, const char *d)
{
    char *argv[] = {(char *)"compare", (char *)a, (char *)b, (char *)c, (char *)d, NULL};
    int argc = 0, status;
    while (argv[argc])
        argc++;
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        redirect("out", STDOUT_FILENO);
        redirect("err", STDERR_FILENO);
        int exit_status = compare_command(argc, argv);
        (void)fflush(NULL);
        _exit(exit_status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    last.status = WEXITSTATUS(status);
    free(last.out);
    free(last.err);
    last.out = collect("out", &last.out_size);
    last.err = collect("err", &last.err_size);
}

static void expect_wrong(const char *part)
{
    assert_int_equal(last.status, 2);
    assert_int_equal(last.out_size, 0);
    /* One line. */
    assert_ptr_equal(strchr(last.err, '\n'), last.err + last.err_size - 1);
    if (!strstr(last.err, part))
        fail_msg("'%s' does not say '%s'", last.err, part);
}

static void store(struct synthetic_plan plan)
{
    static struct result r;
    result_init(&r);
    synthetic_result(&r, &plan);
    assert_int_equal(result_file_write(&r, dir), 0);
    result_fini(&r);
}

static int set_up(void **unused)
{
    (void)unused;
    scratch_make(dir);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    scratch_remove(dir);
    free(last.out);
    free(last.err);
    return 0;
}

static void a_stored_result_prints_its_table_byte_for_byte(void **unused)
{
    (void)unused;
    char path[2 * SCRATCH_PATH];
    size_t size;
    for (uint32_t rounds = 1; rounds <= 10; rounds += 3) {
        store((struct synthetic_plan){.scenarios = 5, .blocks = 3, .threads = 2, .rounds = rounds, .loss = 0.04, .noise = 0.03, .seed = rounds});
        for (int by_file = 0; by_file < 2; by_file++) {
            const char *what = by_file ? scratch_path(dir, "results.json", path) : dir;
            run(what, NULL, NULL, NULL);
            char *table = collect("table.txt", &size);
            assert_int_equal(last.status, 0);
            assert_int_equal(last.err_size, 0);
            assert_true(size > 1000);
            assert_int_equal(last.out_size, size);
            assert_memory_equal(last.out, table, size);
            free(table);
        }
        run(dir, "--markdown", NULL, NULL);
        char *table = collect("table.md", &size);
        assert_int_equal(last.out_size, size);
        assert_memory_equal(last.out, table, size);
        free(table);
    }
}

/* A result that is read and written again gives the same tables: nothing is lost on the way. */
static void a_result_survives_being_written_again(void **unused)
{
    (void)unused;
    static struct result r;
    char why[RESULT_FILE_WHY];
    size_t before_size, after_size;
    store((struct synthetic_plan){.scenarios = 4, .blocks = 2, .threads = 2, .rounds = 7, .loss = 0.04, .noise = 0.03, .seed = 1});
    char *before = collect("results.json", &before_size);
    result_init(&r);
    assert_int_equal(result_file_read(dir, &r, why, sizeof why), 0);
    assert_int_equal(result_file_write(&r, dir), 0);
    char *after = collect("results.json", &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    free(before);
    free(after);
    result_fini(&r);
}

static void the_article_by_default_against_bare(void **unused)
{
    (void)unused;
    run(article, NULL, NULL, NULL);
    assert_int_equal(last.status, 0);
    assert_non_null(strstr(last.out, "docker reached 92.15% of the throughput of bare"));
    run(article, "--baseline", "docker", NULL);
    assert_int_equal(last.status, 0);
    assert_non_null(strstr(last.out, "bare reached 108.52% of the throughput of docker"));
    assert_non_null(strstr(last.out, "Single runs"));
}

static void the_gate_says_no_with_three(void **unused)
{
    (void)unused;
    run(article, "--fail-below", "92.1", NULL);
    assert_int_equal(last.status, 0);
    assert_int_equal(last.err_size, 0);
    run(article, "--fail-below=92.2%", NULL, NULL);
    assert_int_equal(last.status, 3);
    assert_true(last.out_size > 0);
    assert_string_equal(last.err, "iobench compare: docker is at 92.15% of bare, below 92.2%\n");
    /* Any one of several deployments. */
    store((struct synthetic_plan){.scenarios = 3, .blocks = 1, .threads = 1, .rounds = 6, .loss = 0.1, .seed = 1});
    run(dir, "--fail-below", "85", NULL);
    assert_int_equal(last.status, 3);
    assert_non_null(strstr(last.err, "docker-host"));
    assert_null(strstr(last.err, "bare-net"));
    run(dir, "--fail-below", "80", NULL);
    assert_int_equal(last.status, 0);
}

static void the_gate_does_not_pass_on_failed_cells(void **unused)
{
    (void)unused;
    static struct result r;
    const struct synthetic_plan plan = {.scenarios = 2, .blocks = 1, .threads = 1, .rounds = 6, .seed = 1};
    result_init(&r);
    synthetic_result(&r, &plan);
    r.samples[1].failed = true;
    assert_int_equal(result_file_write(&r, dir), 0);
    result_fini(&r);
    run(dir, "--fail-below", "50", NULL);
    assert_int_equal(last.status, 3);
    assert_non_null(strstr(last.err, "failed"));
}

static void json_and_csv_parse(void **unused)
{
    (void)unused;
    json_error_t error;
    store((struct synthetic_plan){.scenarios = 5, .blocks = 2, .threads = 1, .rounds = 10, .loss = 0.1, .noise = 0.01, .seed = 1});
    run(dir, "--json", NULL, NULL);
    assert_int_equal(last.status, 0);
    json_t *root = json_loads(last.out, 0, &error);
    assert_non_null(root);
    assert_int_equal(json_array_size(json_object_get(root, "cells")), 8);
    json_t *overall = json_array_get(json_object_get(json_array_get(json_object_get(root, "means"), 0), "deployments"), 2);
    double percent = json_real_value(json_object_get(json_object_get(overall, "throughput"), "percent"));
    assert_true(percent > 80 && percent < 82);
    assert_string_equal(json_string_value(json_object_get(overall, "verdict")), "slower");
    json_decref(root);
    run(dir, "--csv", NULL, NULL);
    assert_int_equal(last.status, 0);
    size_t commas = 0, in_line = 0, lines = 0;
    for (const char *at = last.out; *at; at++) {
        in_line += *at == ',';
        if (*at != '\n')
            continue;
        assert_true(commas == 0 || commas == in_line);
        commas = in_line;
        in_line = 0;
        lines++;
    }
    assert_int_equal(lines, 1 + 8 * 5 + (1 + 4 + 2 + 1) * 4);
}

static void wrong_usage_is_one_line(void **unused)
{
    (void)unused;
    run(NULL, NULL, NULL, NULL);
    expect_wrong("compare");
    run(article, "--fail-below", "much", NULL);
    expect_wrong("--fail-below");
    run(article, "--json", "--csv", NULL);
    expect_wrong("exclude");
    run(article, "--baseline", "metal", NULL);
    expect_wrong("docker, bare");
    run(article, "--nonsense", NULL, NULL);
    expect_wrong("nonsense");
}

static void wrong_input_is_one_line(void **unused)
{
    (void)unused;
    char path[2 * SCRATCH_PATH];
    scratch_empty(dir);
    run(dir, NULL, NULL, NULL);
    expect_wrong("no results.json");
    run("/nonexistent", NULL, NULL, NULL);
    expect_wrong("/nonexistent");
    assert_int_equal(scratch_write(dir, "results.json", "", 0), 0);
    run(dir, NULL, NULL, NULL);
    expect_wrong("empty");
    assert_int_equal(scratch_write(dir, "results.json", "{\"jobs\": []}", 12), 0);
    run(dir, NULL, NULL, NULL);
    expect_wrong("no result of iobench");
    run(article, dir, NULL, NULL);
    expect_wrong("no result of iobench");
    assert_int_equal(scratch_write(dir, "x.csv", "a,b\n", 4), 0);
    run(scratch_path(dir, "x.csv", path), NULL, NULL, NULL);
    expect_wrong("line 1");
    run("docs/examples", NULL, NULL, NULL);
    expect_wrong("no results.json");
}

static void damaged_results_are_one_line(void **unused)
{
    (void)unused;
    size_t size;
    uint64_t state = 9;
    store((struct synthetic_plan){.scenarios = 2, .blocks = 1, .threads = 1, .rounds = 2, .seed = 1});
    char *text = collect("results.json", &size);
    size_t checksum_at = (size_t)(strstr(text, "\"fnv1a64\"") - text);
    for (int i = 0; i < 60; i++) {
        size_t at = synthetic_random(&state) % checksum_at;
        if (i % 2) {
            assert_int_equal(scratch_write(dir, "results.json", text, at), 0);
        } else {
            char before = text[at];
            text[at] = (char)(before ^ (1 << synthetic_random(&state) % 8));
            assert_int_equal(scratch_write(dir, "results.json", text, size), 0);
            text[at] = before;
        }
        run(dir, NULL, NULL, NULL);
        expect_wrong("results.json: ");
    }
    free(text);
}

static void several_results_stand_in_one_table(void **unused)
{
    (void)unused;
    store((struct synthetic_plan){.scenarios = 1, .blocks = 1, .threads = 1, .rounds = 10, .noise = 0.01, .seed = 1});
    run(dir, dir, "--baseline", "bare#2");
    assert_int_equal(last.status, 0);
    assert_non_null(strstr(last.out, "rank test"));
    assert_non_null(strstr(last.out, "of the throughput of bare#2"));
}

static bool says(const char *text)
{
    return strstr(last.out, text) != NULL;
}

static void other_benchmarks_words(void **unused)
{
    (void)unused;
    store((struct synthetic_plan){.scenarios = 2, .blocks = 1, .threads = 2, .rounds = 2, .noise = 0.01, .seed = 1});
    run(dir, "--format", "iozone", NULL);
    assert_int_equal(last.status, 0);
    assert_true(says("Output is in kBytes/sec") && says("Record Size 4 kB") && says("Children see throughput for  1 initial writers"));
    assert_true(says("Parent sees throughput for  1 random readers") && says("Min throughput per process"));
    run(dir, "--format", "fio", NULL);
    assert_int_equal(last.status, 0);
    static struct result r;
    char why[RESULT_FILE_WHY];
    result_init(&r);
    assert_int_equal(result_file_read(dir, &r, why, sizeof why), 0);
    json_t *root = json_loads(last.out, 0, NULL), *jobs = json_object_get(root, "jobs");
    assert_int_equal(json_array_size(jobs), r.sample_count);
    for (size_t i = 0; i < r.sample_count; i++) {
        const struct sample *s = &r.samples[i];
        json_t *job = json_array_get(jobs, i);
        json_t *part = json_object_get(job, s->test == TEST_READ || s->test == TEST_RANDOM_READ ? "read" : "write");
        assert_int_equal(json_integer_value(json_object_get(part, "io_bytes")), (json_int_t)s->bytes);
        assert_true(llabs(json_integer_value(json_object_get(part, "bw_bytes")) - (json_int_t)((double)s->bytes * 1e9 / (double)s->elapsed_ns)) <= 1);
        json_t *percentiles = json_object_get(json_object_get(part, "lat_ns"), "percentile");
        assert_int_equal(json_integer_value(json_object_get(percentiles, "99.000000")), (json_int_t)s->latency.p99_ns);
    }
    json_decref(root);
    result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_result_prints_its_table_byte_for_byte),
        cmocka_unit_test(a_result_survives_being_written_again),
        cmocka_unit_test(the_article_by_default_against_bare),
        cmocka_unit_test(the_gate_says_no_with_three),
        cmocka_unit_test(the_gate_does_not_pass_on_failed_cells),
        cmocka_unit_test(json_and_csv_parse),
        cmocka_unit_test(wrong_usage_is_one_line),
        cmocka_unit_test(wrong_input_is_one_line),
        cmocka_unit_test(damaged_results_are_one_line),
        cmocka_unit_test(other_benchmarks_words),
        cmocka_unit_test(several_results_stand_in_one_table),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
