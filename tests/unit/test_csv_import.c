/* SPDX-License-Identifier: Apache-2.0
 *
 * Earlier figures from a CSV: what is accepted, what is refused and in which words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include "iobench/csv_import.h"
#include "tests/unit/synthetic_result.h"

static const char header[] = "deployment,test,block_bytes,threads,mb_per_s\n";

/* Reads the text from memory of its exact size. */
static int import(const char *text, struct result *r, char why[256])
{
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size + 1);
    result_init(r);
    why[0] = '\0';
    int error = csv_import_text(copy, size, r, why, 256);
    free(copy);
    return error;
}

static void rows_become_samples(void **unused)
{
    (void)unused;
    static struct result r;
    char why[256];
    assert_int_equal(import("\"mb_per_s\", threads,note,test,block_bytes,deployment\r\n"
                            "12.5,2,x,random-read,4096,a b\r\n"
                            "\n"
                            "13,2,,random-read,4096,a b\r\n"
                            "7,1,,write,8192,other",
                            &r, why),
                     0);
    assert_true(r.earlier_figures);
    assert_int_equal(r.sample_count, 3);
    assert_int_equal(r.scenario_count, 2);
    assert_string_equal(r.scenarios[0].name, "a b");
    assert_int_equal(r.samples[0].bytes, 12500000);
    assert_int_equal(r.samples[0].elapsed_ns, 1000000000);
    assert_int_equal(r.samples[0].test, TEST_RANDOM_READ);
    assert_int_equal(r.samples[0].round, 0);
    assert_int_equal(r.samples[1].round, 1);
    assert_int_equal(r.samples[2].scenario, 1);
    assert_int_equal(r.samples[2].round, 0);
    assert_int_equal(r.block_count, 2);
    assert_int_equal(r.thread_count, 2);
    result_fini(&r);
}

static void check(const char *rows, const char *expected)
{
    static struct result r;
    char text[4096], why[256];
    (void)snprintf(text, sizeof text, "%s%s", header, rows);
    int error = import(text, &r, why);
    assert_int_equal(error, -EINVAL);
    if (!strstr(why, expected))
        fail_msg("'%s' does not say '%s'", why, expected);
    assert_null(strchr(why, '\n'));
    result_fini(&r);
}

static void wrong_rows_are_named_with_their_line(void **unused)
{
    (void)unused;
    static struct result r;
    char why[256];
    check("", "no figures");
    check("a,write,4096,1,7\na,wright,4096,1,7\n", "line 3: test is none of write");
    check("a,write,4k,1,7\n", "line 2: block_bytes");
    check("a,write,0,1,7\n", "line 2: block_bytes");
    check("a,write,4096,0,7\n", "line 2: threads");
    check("a,write,4096,1,\n", "line 2: mb_per_s");
    check("a,write,4096,1,nan\n", "line 2: mb_per_s");
    check("a,write,4096,1,-1\n", "line 2: mb_per_s");
    check("a,write,4096,1,0\n", "line 2: mb_per_s");
    check("a,write,4096,1,1e999\n", "line 2: mb_per_s");
    check("a,write,4096,1,7 MB\n", "line 2: mb_per_s");
    check("a,write,4096,1\n", "line 2: too few fields");
    check(",write,4096,1,7\n", "line 2: a deployment");
    check("\xff,write,4096,1,7\n", "line 2: a deployment");
    assert_int_equal(import("deployment,test,block_bytes,mb_per_s\n", &r, why), -EINVAL);
    assert_non_null(strstr(why, "threads"));
    result_fini(&r);
    assert_int_equal(import("", &r, why), -EINVAL);
    result_fini(&r);
    assert_int_equal(csv_import_read("/nonexistent.csv", &r, why, sizeof why), -ENOENT);
    assert_int_equal(csv_import_read("/dev/null", &r, why, sizeof why), -EINVAL);
}

static void too_many_of_anything_is_refused(void **unused)
{
    (void)unused;
    static char text[1 << 16];
    static struct result r;
    static const struct {
        const char *row, *expected;
        int count;
    } rows[] = {{"name%d,write,4096,1,7\n", "deployments", 17},
                {"a,write,%d,1,7\n", "block sizes", 33},
                {"a,write,4096,%d,7\n", "thread counts", 33},
                {"a,write,4096,1,7%d\n", "1000 runs", 1001}};
    char why[256];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t used = (size_t)snprintf(text, sizeof text, "%s", header);
        for (int n = 1; n <= rows[i].count; n++) {
            const char *place = strstr(rows[i].row, "%d");
            used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%d%s", (int)(place - rows[i].row), rows[i].row, n,
                                     place + 2);
        }
        assert_int_equal(import(text, &r, why), -EINVAL);
        assert_non_null(strstr(why, rows[i].expected));
        result_fini(&r);
    }
}

static void random_damage_never_crashes(void **unused)
{
    (void)unused;
    static const char good[] = "deployment,test,block_bytes,threads,mb_per_s\nbare,write,4096,1,217\ndocker,write,4096,1,\"200\"\n";
    static struct result r;
    char text[sizeof good], why[256];
    uint64_t state = 3;
    for (int i = 0; i < 5000; i++) {
        memcpy(text, good, sizeof good);
        for (int n = 0; n < 1 + i % 4; n++)
            text[synthetic_random(&state) % (sizeof good - 1)] = (char)synthetic_random(&state);
        char *copy = malloc(sizeof good);
        assert_non_null(copy);
        memcpy(copy, text, sizeof good);
        result_init(&r);
        why[0] = '\0';
        int error = csv_import_text(copy, sizeof good - 1, &r, why, sizeof why);
        assert_true(error == 0 || (why[0] && !strchr(why, '\n')));
        result_fini(&r);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_samples),
        cmocka_unit_test(wrong_rows_are_named_with_their_line),
        cmocka_unit_test(too_many_of_anything_is_refused),
        cmocka_unit_test(random_damage_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
