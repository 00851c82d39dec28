/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "common/options.h"
#include "common/units.h"
#include "iobench/sweep_options.h"
#include "iobench/sweep_resume.h"

static char why[SWEEP_OPTIONS_WHY];

/* "a b c" as `iobench sweep a b c`. */
static int configure(const char *line, const struct result *stored, struct result *config)
{
    static char words[512];
    char *argv[32] = {(char[]){"sweep"}}, *rest = NULL;
    int argc = 1;
    (void)snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        argv[argc++] = w;
    struct sweep_options options;
    why[0] = '\0';
    if (sweep_options_parse(argc, argv, &options) != OPTIONS_GO_ON)
        return OPTIONS_WRONG;
    return sweep_options_configure(&options, stored, config, why);
}

static void a_directory_alone_is_the_article(void **state)
{
    (void)state;
    struct result r;
    assert_int_equal(configure("/srv/data/mnt", NULL, &r), 0);
    assert_string_equal(r.preset, "article");
    assert_false(r.smoke_test);
    assert_int_equal(r.block_count, 10);
    assert_int_equal(r.thread_count, 5);
    assert_int_equal(r.test_count, 4);
    assert_int_equal(r.rounds_planned, 6);
    assert_int_equal(r.file_bytes, 0);
    assert_int_equal(r.file_bytes_by_block[0], 4 * MIB);
    assert_int_equal(r.file_bytes_by_block[9], 64 * MIB);
    assert_int_equal(r.cache, CACHE_COLD);
    assert_int_equal(r.scenario_count, 1);
    assert_string_equal(r.scenarios[0].name, "data");
    assert_string_equal(r.scenarios[0].directory, "/srv/data/mnt");
}

static void names_directories_and_the_second_arm(void **state)
{
    (void)state;
    struct result r;
    assert_int_equal(configure("-s bare,x=/tmp/y --aa --preset quick --state /run/calf-nowhere", NULL, &r), 0);
    assert_int_equal(r.scenario_count, 3);
    assert_string_equal(r.scenarios[0].directory, "/run/calf-nowhere/bare/mnt");
    assert_string_equal(r.scenarios[1].directory, "/tmp/y");
    assert_string_equal(r.scenarios[2].name, "bare.aa");
    assert_true(r.scenarios[2].a_a_arm);
    assert_string_equal(r.scenarios[2].directory, r.scenarios[0].directory);
    assert_true(r.smoke_test);
    assert_int_equal(r.file_bytes, 0);
    assert_int_equal(r.file_bytes_by_block[0], 8 * MIB);
    assert_int_equal(r.file_bytes_by_block[2], 64 * MIB);
}

static void what_is_given_wins(void **state)
{
    (void)state;
    struct result r;
    assert_int_equal(configure("/d --block 8k-32k --threads 2,3 --tests read,write --size 1m --rounds 9 --cache direct "
                               "--seed 12345678901 --verify --label x/y",
                               NULL, &r),
                     0);
    assert_int_equal(r.block_count, 3);
    assert_int_equal(r.threads[1], 3);
    assert_int_equal(r.tests[0], TEST_READ);
    assert_int_equal(r.file_bytes, MIB);
    assert_int_equal(r.rounds_planned, 9);
    assert_int_equal(r.cache, CACHE_DIRECT);
    assert_int_equal(r.seed, INT64_C(12345678901));
    assert_true(r.verify);
    assert_string_equal(r.label, "x/y");
}

static void sets_axes_and_their_defaults(void **state)
{
    (void)state;
    struct result r;
    assert_int_equal(configure("/d --tests probe --depth 8 --engine libaio", NULL, &r), 0);
    assert_int_equal(r.block_count, 3);
    assert_int_equal(r.block_bytes[0], 128);
    assert_int_equal(r.test_count, 2);
    assert_int_equal(r.queue_depth, 8);
    assert_int_equal(r.read_percent, 0);
    assert_int_equal(configure("/d --tests write,iozone,metadata --files 50 --sync dsync --duration 3 --shared", NULL, &r), 0);
    assert_int_equal(r.test_count, 18 + 6);
    assert_int_equal(r.read_percent, 70);
    assert_int_equal(r.stride_blocks, 17);
    assert_int_equal(r.files_per_worker, 50);
    assert_int_equal(r.sync, SYNC_DSYNC);
    assert_int_equal(r.duration_ns, INT64_C(3000000000));
    assert_true(r.shared_file);
    /* Going on keeps what is stored, and another setting is said. */
    struct result again;
    assert_int_equal(configure("--resume", &r, &again), 0);
    assert_false(sweep_resume_settings_differ(&r, &again, why, sizeof why));
    assert_int_equal(configure("--resume --sync none", &r, &again), 0);
    assert_true(sweep_resume_settings_differ(&r, &again, why, sizeof why));
    assert_non_null(strstr(why, "--sync was 'dsync' and is 'none'"));
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *why;
    } rows[] = {
        {"", "give a directory"},
        {"/d --scenarios a=/b", "not both"},
        {"--scenarios a=/b,a=/c", "twice"},
        {"--scenarios a=", "no directory"},
        {"--scenarios /some/where", "needs a name"},
        {"--scenarios a..b/=x", "a name is"},
        {"--scenarios ,", "names none"},
        {"/d --tests read,reed", "not one of"},
        {"/d --tests read,read", "twice"},
        {"/d --block 4k --size 1k", "larger --size"},
        {"/d --engine warp", "there is sync"},
        {"/d --threads 300", "from 1 to 256"},
        {"-s a=/b,c=/d --until-width x", "not 'x'"},
        {"-s a=/b,c=/d --until-width 0", "not '0'"},
        {"-s a=/b,c=/d --max-rounds 9", "goes with --until-width"},
        {"-s a=/b,c=/d --until-width 3 --rounds 9 --max-rounds 8", "less than the rounds"},
        {"/d --until-width 3%", "second scenario"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct result r;
        assert_int_equal(configure(rows[i].line, NULL, &r), -EINVAL);
        assert_non_null(strstr(why, rows[i].why));
    }
}

static void resuming_takes_the_stored_settings(void **state)
{
    (void)state;
    struct result stored, now;
    char text[256];
    assert_int_equal(configure("-s a=/x,b=/y --aa -p quick --rounds 4 --block 4k,12k --seed 5 --cache warm", NULL, &stored),
                     0);
    assert_int_equal(configure("--resume --out r", &stored, &now), 0);
    assert_false(sweep_resume_settings_differ(&stored, &now, text, sizeof text));
    assert_int_equal(now.scenario_count, 3);
    assert_int_equal(now.seed, 5);
    assert_int_equal(configure("--resume --out r -s a=/x,b=/y --aa --rounds 4", &stored, &now), 0);
    assert_false(sweep_resume_settings_differ(&stored, &now, text, sizeof text));
    static const struct {
        const char *line, *why;
    } rows[] = {
        {"--rounds 5", "--rounds was 4 and is 5"}, {"--cache cold", "--cache"},      {"--block 4k", "--block"},
        {"--threads 1", "--threads"},              {"--seed 6", "--seed"},           {"--verify", "--verify"},
        {"-p article", "--preset"},                {"--size 1m", "--size"},          {"--tests read", "--tests"},
        {"-s a=/x", "number of scenarios"},        {"-s a=/x,c=/y --aa", "a scenario was 'b'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(configure(rows[i].line, &stored, &now), 0);
        assert_true(sweep_resume_settings_differ(&stored, &now, text, sizeof text));
        assert_non_null(strstr(text, rows[i].why));
    }
}

static void failed_samples_are_taken_again(void **state)
{
    (void)state;
    struct result stored, now;
    struct plan plan;
    uint8_t have[64] = {0};
    assert_int_equal(configure("/x --block 4k --threads 1 --tests write,read --rounds 2", NULL, &stored), 0);
    now = stored;
    plan_init(&plan, &stored);
    assert_int_equal(plan.runs, 4);
    struct sample kept = {.test = TEST_READ, .block_bytes = 4096, .threads = 1, .round = 1, .bytes = 7};
    struct sample failed = {.test = TEST_WRITE, .block_bytes = 4096, .threads = 1, .failed = true};
    *result_add_sample(&stored) = kept;
    *result_add_sample(&stored) = failed;
    *result_add_sample(&stored) = kept; /* twice the same run counts once */
    sweep_resume_take(&stored, &plan, &now, have);
    assert_int_equal(now.sample_count, 1);
    assert_int_equal(now.samples[0].bytes, 7);
    assert_int_equal(have[sweep_resume_run_number(&plan, 1, 1, 0)], 1);
    assert_int_equal(have[sweep_resume_run_number(&plan, 0, 0, 0)], 0);
    plan_fini(&plan);
    result_fini(&stored);
    result_fini(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_alone_is_the_article),
        cmocka_unit_test(names_directories_and_the_second_arm),
        cmocka_unit_test(what_is_given_wins),
        cmocka_unit_test(sets_axes_and_their_defaults),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(resuming_takes_the_stored_settings),
        cmocka_unit_test(failed_samples_are_taken_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
