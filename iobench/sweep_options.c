/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/sweep_options.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/units.h"
#include "iobench/axis.h"
#include "iobench/cluster_control.h"
#include "iobench/engine.h"
#include "iobench/file_set.h"
#include "iobench/plan.h"
#include "iobench/scenario_list.h"
#include "iobench/sweep_adaptive.h"
#include "iobench/text_print.h"

enum { AXIS_ROOM = 32 };
#define BLOCK_LIMIT (256 * MIB)

static const char about[] =
    "Measures file systems side by side: the same cells (test, block size, threads) in interleaved rounds, each\n"
    "worker with a file of its own. Rates count all bytes from the release of the workers to the end of the last\n"
    "one, for writers with fsync and close. write, append and fwrite make a new file (creating it comes before the\n"
    "clock starts); other tests of data use files prepared before, the random ones each block once in a seeded order.";

static const char closing[] =
    "tests     write rewrite read reread random-write random-read mixed backward-read stride-read record-rewrite\n"
    "          append; stdio: fwrite frewrite fread freread; pwritev, preadv: vector-write vector-rewrite\n"
    "          vector-read vector-reread; names: create stat open readdir rename unlink\n"
    "sets      article (write,read,random-write,random-read), iozone (its modes 0 to 12), metadata (the names),\n"
    "          probe (random-read,random-write of 128, 1k and 4k)\n"
    "engines   sync (pread, pwrite), vectored (preadv, pwritev), libaio (with --depth), mmap (with --msync), stdio,\n"
    "          calf (calf's own library without the kernel; the directory must lie on a calf mount)\n"
    "\n"
    "A scenario A is DIR/A/mnt of --state, as docker/cluster.sh starts it, and must be mounted; A=DIR is any\n"
    "existing directory. The first one is the baseline. LIST is 4k,64k; MIN-MAX doubles from MIN to MAX.\n"
    "\n"
    "With --workers, the cells run on those machines, --threads on each, and the figures are those of all together; DIR\n"
    "is where a worker's files stand if not in the scenario's directory. See iobench worker --help.\n"
    "\n"
    "presets   quick    4k,64k,1024k; 1,4 threads; 3 rounds; 8m, 32m, 64m per worker: a smoke test\n"
    "          article  4k-2048k; 1-16 threads; 6 rounds; 4m to 64m per worker\n"
    "          full     the same with 10 rounds and 64m at every block size\n"
    "\n"
    "--until-width goes by how wide the intervals are and never by what they say, so it cannot find a difference\n"
    "that is not there. Fewer than six rounds have no interval.\n"
    "\n"
    "One Ctrl-C saves what is there, removes the test files and stops what --up started; --resume --out DIR\n"
    "goes on.\n"
    "\n"
    "  iobench sweep /mnt/storage\n"
    "  iobench sweep --up --preset quick --scenarios bare,docker-bridge\n"
    "  iobench sweep --scenarios old=/mnt/old,new=/mnt/new --block 4k-64k --threads 1,8 --cache direct\n"
    "  iobench sweep --scenarios bare,docker-bridge --until-width 3% --max-rounds 40\n"
    "\n"
    "exit status: 0 done, 1 failed or interrupted (also when any worker failed), 2 wrong usage or input";

int sweep_options_parse(int argc, char **argv, struct sweep_options *o)
{
    *o = (struct sweep_options){.preset = PLAN_ARTICLE, .cache = CACHE_COLD};
    o->state = CLUSTER_CONTROL_DEFAULT_STATE;
    const struct option_row mine[] = {
        {"scenarios", 's', OPTION_TEXT, "A,B=DIR,...", "what to compare", &o->scenarios, false, 0, 0, NULL},
        {"up", 0, OPTION_FLAG, NULL, "start scenarios that are not mounted, and stop them again", &o->up, false, 0,
         0, NULL},
        {"preset", 'p', OPTION_CHOICE, PLAN_PRESET_WORDS, "what is not given otherwise (article)", &o->preset,
         false, 0, 0, &o->preset_given},
        {"tests", 't', OPTION_TEXT, "LIST", "tests or sets of tests, see below (article)", &o->tests, false, 0,
         0, NULL},
        {"block", 'b', OPTION_TEXT, "LIST|MIN-MAX", "block sizes", &o->blocks, false, 0, 0, NULL},
        {"threads", 'j', OPTION_TEXT, "LIST|MIN-MAX", "workers at a time", &o->threads, false, 0, 0, NULL},
        {"size", 0, OPTION_SIZE, "BYTES", "of each worker's file (by block size)", &o->size_bytes, false, 512, 0,
         NULL},
        {"rounds", 'r', OPTION_NUMBER, "N", "runs of each cell", &o->rounds, false, 1, 1000, NULL},
        {"until-width", 0, OPTION_TEXT, "PERCENT", "add whole rounds until every 95% interval is that narrow", &o->until_width,
         false, 0, 0, NULL},
        {"max-rounds", 0, OPTION_NUMBER, "N", "with --until-width: not more than N rounds (30)", &o->max_rounds, false, 1, 1000,
         NULL},
        {"cache", 'c', OPTION_CHOICE, "cold|direct|warm",
         "page cache dropped and proven so, O_DIRECT, or filled (cold)", &o->cache, false, 0, 0, &o->cache_given},
        {"engine", 0, OPTION_TEXT, "NAME", "how blocks are moved, see below (sync)", &o->engine, false, 0, 0,
         NULL},
        {"verify", 0, OPTION_FLAG, NULL, "compare the data; lowers the rates of readers", &o->verify, false, 0, 0,
         NULL},
        {"aa", 0, OPTION_FLAG, NULL, "add the baseline a second time, to show the noise", &o->a_a, false, 0, 0,
         NULL},
        {"label", 0, OPTION_TEXT, "NAME", "of the result (the preset)", &o->label, false, 0, 0, NULL},
        {"seed", 0, OPTION_NUMBER, "N", "of all random orders (drawn)", &o->seed, false, 0, INT64_MAX,
         &o->seed_given},
        {"out", 'o', OPTION_TEXT, "DIR", "result directory (results/TIME-LABEL)", &o->out, false, 0, 0, NULL},
        {"resume", 0, OPTION_FLAG, NULL, "go on with the interrupted result in --out", &o->resume, false, 0, 0,
         NULL},
        {"keep", 0, OPTION_FLAG, NULL, "leave the test files where they are", &o->keep, false, 0, 0, NULL},
        {"dry-run", 'n', OPTION_FLAG, NULL, "print the plan and stop", &o->dry_run, false, 0, 0, NULL},
        {"state", 0, OPTION_TEXT, "DIR", "where scenarios are (/run/calf)", &o->state, false, 0, 0, NULL},
        {"chunkservers", 0, OPTION_NUMBER, "N", "of each scenario that --up starts", &o->chunkservers, false, 1,
         32, NULL},
        {"clients", 0, OPTION_NUMBER, "N", "mounts of each scenario to spread the workers over (1)", &o->clients, false, 1, 32,
         NULL},
        {"workers", 'w', OPTION_TEXT, "HOST:PORT[=DIR],...", "have `iobench worker` there run each cell, all at once", &o->workers, false,
         0, 0, NULL},
        {"cluster-size", 0, OPTION_SIZE, "BYTES", "of each chunkserver that --up starts (1g, or what the plan needs)", &o->chunkserver_bytes,
         false, MIB, 0, NULL},
    };
    enum { MINE = sizeof mine / sizeof mine[0] };
    struct option_row rows[MINE + SWEEP_AXES_OPTIONS + 1] = {0};
    memcpy(rows, mine, sizeof mine);
    (void)sweep_axes_rows(&o->axes, rows + MINE);
    const struct options table = {
        "iobench sweep", "DIR | --scenarios A,B=DIR,... [options]", about, closing, rows, 0, 1};
    char **positional;
    int rc = options_parse(&table, argc, argv, &positional);
    if (rc != OPTIONS_GO_ON)
        return rc;
    o->directory = positional[0];
    return OPTIONS_GO_ON;
}

static int wrong_axis(const char *option, const char *reason, char why[SWEEP_OPTIONS_WHY])
{
    text_print(why, SWEEP_OPTIONS_WHY, "--%s %s", option, reason);
    return -EINVAL;
}

static int take_blocks(const char *text, struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    char reason[160];
    static const struct axis_limits limits = {AXIS_SIZES, FILL_GRAIN, BLOCK_LIMIT, FILL_GRAIN, AXIS_ROOM};
    int rc = axis_parse(text, &limits, config->block_bytes, &config->block_count, reason, sizeof reason);
    return rc < 0 ? wrong_axis("block", reason, why) : 0;
}

static int take_threads(const char *text, struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    char reason[160];
    uint64_t values[AXIS_ROOM];
    static const struct axis_limits limits = {AXIS_NUMBERS, 1, FILE_SET_FILES, 1, AXIS_ROOM};
    int rc = axis_parse(text, &limits, values, &config->thread_count, reason, sizeof reason);
    if (rc < 0)
        return wrong_axis("threads", reason, why);
    for (uint32_t i = 0; i < config->thread_count; i++)
        config->threads[i] = (uint32_t)values[i];
    return 0;
}

static bool has_test(const struct result *config, enum test_kind test)
{
    for (uint32_t i = 0; i < config->test_count; i++)
        if (config->tests[i] == test)
            return true;
    return false;
}

static int take_test(const char *name, struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    enum test_kind tests[TEST_KINDS];
    size_t count = test_kind_expand(name, tests);
    if (count == 0) {
        char all[400];
        test_kind_list(all, sizeof all);
        text_print(why, SWEEP_OPTIONS_WHY, "--tests '%.40s': not one of %s", name, all);
        return -EINVAL;
    }
    if (count == 1 && has_test(config, tests[0])) {
        text_print(why, SWEEP_OPTIONS_WHY, "--tests '%s': the same test twice", name);
        return -EINVAL;
    }
    for (size_t i = 0; i < count; i++)
        if (!has_test(config, tests[i]))
            config->tests[config->test_count++] = tests[i];
    return 0;
}

static int take_tests(const char *text, struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    char copy[512], *rest = NULL;
    text_print(copy, sizeof copy, "%s", text);
    config->test_count = 0;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        int rc = take_test(name, config, why);
        if (rc < 0)
            return rc;
    }
    if (config->test_count > 0)
        return 0;
    text_print(why, SWEEP_OPTIONS_WHY, "--tests names no test");
    return -EINVAL;
}

/* The preset of the options, or that of the stored result where none was given. */
static const struct plan_preset *preset_of(const struct sweep_options *o, const struct result *stored)
{
    if (stored && !o->preset_given)
        for (unsigned i = 0; i < PLAN_PRESETS; i++)
            if (strcmp(plan_preset((enum plan_preset_number)i)->name, stored->preset) == 0)
                return plan_preset((enum plan_preset_number)i);
    return plan_preset((enum plan_preset_number)o->preset);
}

#define PROBE_BLOCKS "128,1k,4k"

static bool is_probe(const struct sweep_options *o)
{
    return o->tests && strcmp(o->tests, "probe") == 0;
}

static int take_axes(const struct sweep_options *o, const struct plan_preset *preset, bool keep,
                     struct result *config, char why[SWEEP_OPTIONS_WHY])
{
    int rc = 0;
    if (o->blocks || !keep)
        rc = take_blocks(o->blocks ? o->blocks : is_probe(o) ? PROBE_BLOCKS : preset->blocks, config, why);
    if (rc == 0 && (o->threads || !keep))
        rc = take_threads(o->threads ? o->threads : preset->threads, config, why);
    if (rc == 0 && (o->tests || !keep))
        rc = take_tests(o->tests ? o->tests : preset->tests, config, why);
    return rc;
}

static int take_sizes(const struct sweep_options *o, const struct plan_preset *preset, struct result *config,
                      char why[SWEEP_OPTIONS_WHY])
{
    if (o->size_bytes > 0)
        config->file_bytes = o->size_bytes;
    bool uniform = true;
    for (uint32_t i = 0; i < config->block_count; i++) {
        uint64_t *bytes = &config->file_bytes_by_block[i];
        *bytes = plan_file_bytes(preset, config->file_bytes, config->block_bytes[i]);
        uniform = uniform && *bytes == config->file_bytes_by_block[0];
        if (*bytes == 0) {
            char block[UNITS_TEXT];
            text_print(why, SWEEP_OPTIONS_WHY,
                       "a block of %s does not fit the file size per worker: give a larger --size",
                       units_format_size(config->block_bytes[i], block));
            return -EINVAL;
        }
    }
    if (config->file_bytes == 0 && uniform)
        config->file_bytes = config->file_bytes_by_block[0];
    return 0;
}

static uint64_t draw_seed(void)
{
    uint32_t drawn;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
        drawn = (uint32_t)clock_wall_ns();
    return drawn;
}

static int take_engine(const struct sweep_options *o, bool keep, struct result *config,
                       char why[SWEEP_OPTIONS_WHY])
{
    if (o->engine || !keep)
        text_print(config->engine, sizeof config->engine, "%s", o->engine ? o->engine : engine_sync.name);
    if (engine_find(config->engine))
        return 0;
    text_print(why, SWEEP_OPTIONS_WHY, "--engine '%s': there is %s", config->engine, engine_names());
    return -EINVAL;
}

int sweep_options_configure(const struct sweep_options *o, const struct result *stored, struct result *config,
                            char why[SWEEP_OPTIONS_WHY])
{
    bool keep = stored != NULL;
    const struct plan_preset *preset = preset_of(o, stored);
    result_init(config);
    if (keep) {
        *config = *stored;
        config->samples = NULL;
        config->machines = NULL;
        config->machine_count = 0;
        config->sample_count = config->sample_room = 0;
    }
    text_print(config->preset, sizeof config->preset, "%s", preset->name);
    config->smoke_test = preset->smoke_test;
    if (o->label || !keep)
        text_print(config->label, sizeof config->label, "%s", o->label ? o->label : preset->name);
    if (o->cache_given || !keep)
        config->cache = (enum cache_mode)o->cache;
    if (o->rounds > 0 || !keep)
        config->rounds_planned = o->rounds > 0 ? (uint32_t)o->rounds : preset->rounds;
    if (o->seed_given || !keep)
        config->seed = o->seed_given ? o->seed : draw_seed();
    if (o->clients > 0)
        config->clients = o->clients > 1 ? (uint32_t)o->clients : 0;
    if (o->verify)
        config->verify = true;
    if (o->workers)
        text_print(config->workers, sizeof config->workers, "%s", o->workers);
    if (config->workers[0] && (config->clients || o->axes.shared || strlen(config->workers) + 1 == sizeof config->workers)) {
        text_print(why, SWEEP_OPTIONS_WHY, "%s", config->clients ? "--workers with --clients: give each mount a worker of its own"
                   : o->axes.shared ? "--workers with --shared: files are not shared between machines" : "--workers is too long");
        return -EINVAL;
    }
    int rc = take_axes(o, preset, keep && !o->preset_given, config, why);
    if (rc == 0)
        rc = take_sizes(o, preset, config, why);
    if (rc == 0)
        rc = take_engine(o, keep, config, why);
    if (rc == 0)
        sweep_axes_take(&o->axes, keep, config);
    if (rc == 0 && (!keep || o->directory || o->scenarios))
        rc = scenario_list_parse(o, config, why);
    if (rc == 0)
        rc = sweep_adaptive_configure(o->until_width, (uint32_t)o->max_rounds, config, why, SWEEP_OPTIONS_WHY);
    return rc;
}
