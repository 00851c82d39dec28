/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/sweep_setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/options.h"
#include "common/sha256.h"
#include "common/units.h"
#include "iobench/cluster_control.h"
#include "iobench/environment.h"
#include "iobench/interrupt.h"
#include "iobench/result_file.h"
#include "iobench/scenario_list.h"
#include "iobench/sweep_resume.h"
#include "iobench/text_print.h"

static int wrong(const char *why)
{
    fprintf(stderr, "iobench sweep: %s\n", why);
    return SWEEP_WRONG;
}

/* What cluster.sh gives a cluster for which nothing else is said. */
enum { DEFAULT_CHUNKSERVERS = 2 };
#define DEFAULT_CHUNKSERVER_BYTES GIB

/* As large as the plan needs, and some more, since files do not come to servers evenly; 0 if the default will do. */
static uint64_t chunkserver_bytes(const struct sweep *s)
{
    uint64_t count = s->options.chunkservers ? s->options.chunkservers : DEFAULT_CHUNKSERVERS;
    uint64_t each = s->plan.space_bytes / count, step = 64 * MIB;
    each = (each + each / 8 + step - 1) / step * step;
    if (s->options.chunkserver_bytes || getenv("CALF_SIZE"))
        return s->options.chunkserver_bytes;
    return each > DEFAULT_CHUNKSERVER_BYTES ? each : 0;
}

static struct cluster_control control_of(const struct sweep *s)
{
    return (struct cluster_control){s->options.state, s->options.chunkservers, chunkserver_bytes(s), s->result.clients};
}

/* UTC time and label, without what a shell or a file system would trip over. */
static void name_out(struct sweep *s)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    text_print(s->out, sizeof s->out, "results/%s-%s", stamp, s->result.label);
    for (char *c = s->out + strlen("results/"); *c; c++)
        if (strchr("/ \t\n\"'\\$&;<>|*?`", *c))
            *c = '_';
}

static int read_stored(struct sweep *s, struct result *stored)
{
    char why[RESULT_FILE_WHY];
    if (!s->options.out)
        return wrong("--resume needs --out DIR, the result to go on with");
    result_init(stored);
    if (result_file_read(s->options.out, stored, why, sizeof why) < 0)
        return wrong(why);
    return SWEEP_DONE;
}

int sweep_setup_plan(struct sweep *s)
{
    struct result stored;
    char why[SWEEP_OPTIONS_WHY], load_why[LOAD_WHY], machines_why[MACHINES_WHY];
    bool resume = s->options.resume;
    result_init(&stored);
    int status = resume ? read_stored(s, &stored) : SWEEP_DONE;
    if (status == SWEEP_DONE && sweep_options_configure(&s->options, resume ? &stored : NULL, &s->result, why) < 0)
        status = wrong(why);
    if (status == SWEEP_DONE && resume && sweep_resume_settings_differ(&stored, &s->result, why, sizeof why))
        status = wrong(why);
    if (status == SWEEP_DONE && load_init(&s->load, &s->result, load_why) < 0)
        status = wrong(load_why);
    if (status == SWEEP_DONE && s->result.workers[0] &&
        machines_create(s->result.workers, &s->result, &s->machines, machines_why) < 0)
        status = wrong(machines_why);
    if (status == SWEEP_DONE) {
        plan_init(&s->plan, &s->result);
        s->have = check_alloc(calloc(s->plan.runs, 1));
        if (resume)
            sweep_resume_take(&stored, &s->plan, &s->result, s->have);
        if (s->options.out)
            text_print(s->out, sizeof s->out, "%s", s->options.out);
        else
            name_out(s);
    }
    result_fini(&stored);
    return status;
}

static int start_scenario(struct sweep *s, struct scenario *scenario)
{
    struct cluster_control control = control_of(s);
    const char *name = scenario->info->name;
    fprintf(stderr, "starting %s\n", name);
    /* Before the call: an `up` that is ended halfway leaves something to take down, too. */
    scenario->started = true;
    int rc = cluster_control_up(&control, name);
    if (rc == 0)
        return SWEEP_DONE;
    if (rc == -EINTR)
        return SWEEP_FAILED;
    if (rc == -ENOENT) {
        scenario->started = false;
        fprintf(stderr, "iobench sweep: --up: there is no %s: set CALF_CLUSTER_SH to cluster.sh\n",
                cluster_control_script());
        return SWEEP_WRONG;
    }
    fprintf(stderr, "iobench sweep: --up: cluster.sh could not start %s (%s)\n", name,
            rc < 0              ? strerror(-rc)
            : rc == SWEEP_WRONG ? "it refused"
                                : "see above");
    return rc == SWEEP_WRONG ? SWEEP_WRONG : SWEEP_FAILED;
}

static int bring_up(struct sweep *s)
{
    for (uint32_t i = 0; i < s->result.scenario_count; i++) {
        struct scenario *scenario = &s->scenarios[i];
        if (interrupt_requested())
            return SWEEP_FAILED;
        if (!scenario->by_name || scenario->info->a_a_arm || !s->options.up || scenario_is_mounted(scenario))
            continue;
        int status = start_scenario(s, scenario);
        if (status != SWEEP_DONE)
            return status;
    }
    return SWEEP_DONE;
}

static int refuse_same_device(const struct scenario *a, const struct scenario *b)
{
    char why[SCENARIO_WHY];
    text_print(why, sizeof why,
               "scenarios %s and %s are the same device (%s, %s): comparing them says nothing; for the noise of one, "
               "use --aa",
               a->info->name, b->info->name, b->info->device, b->info->fs_type);
    return wrong(why);
}

static int inspect(struct sweep *s)
{
    char why[SCENARIO_WHY];
    for (uint32_t i = 0; i < s->result.scenario_count; i++) {
        struct scenario *scenario = &s->scenarios[i];
        struct scenario_info stored = *scenario->info;
        if (scenario_inspect(scenario, why) < 0)
            return wrong(why);
        if (s->options.resume && sweep_resume_scenario_differs(&stored, scenario->info, why, sizeof why))
            return wrong(why);
        for (uint32_t k = 0; k < i; k++)
            if (scenario_same_device(scenario, &s->scenarios[k]))
                return refuse_same_device(&s->scenarios[k], scenario);
    }
    return SWEEP_DONE;
}

/* The workers of other machines look at their own mounts. */
static int attach_machines(struct sweep *s)
{
    char why[MACHINES_WHY];
    struct scenario_info stored[RESULT_SCENARIOS];
    memcpy(stored, s->result.scenarios, sizeof stored);
    if (machines_open(s->machines, &s->result, s->plan.space_bytes, why) < 0)
        return wrong(why);
    for (uint32_t i = 0; s->options.resume && i < s->result.scenario_count; i++)
        if (sweep_resume_scenario_differs(&stored[i], &s->result.scenarios[i], why, sizeof why))
            return wrong(why);
    return SWEEP_DONE;
}

static int attach(struct sweep *s)
{
    char why[SCENARIO_WHY];
    const struct result *r = &s->result;
    for (uint32_t i = 0; i < r->scenario_count; i++) {
        /* An A/A arm keeps its files on the baseline's device. */
        uint64_t needed = s->plan.space_bytes;
        for (uint32_t k = 0; k < r->scenario_count; k++)
            if (k != i && strcmp(r->scenarios[k].device, r->scenarios[i].device) == 0)
                needed += s->plan.space_bytes;
        int rc = scenario_attach(&s->scenarios[i], r->seed, needed, engine_find(r->engine), r->cache == CACHE_DIRECT,
                                 plan_probe_block(r), why);
        if (rc < 0)
            return wrong(why);
        if (interrupt_requested())
            return SWEEP_FAILED;
    }
    return SWEEP_DONE;
}

/* mkdir -p. */
static int make_directories(const char *path)
{
    char partial[PATH_MAX];
    text_print(partial, sizeof partial, "%s", path);
    for (char *c = partial + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(partial, 0777) < 0 && errno != EEXIST)
            return -errno;
        *c = '/';
    }
    return mkdir(partial, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static int make_out(struct sweep *s)
{
    char why[PATH_MAX + 256], file[PATH_MAX + 32];
    text_print(file, sizeof file, "%s/results.json", s->out);
    if (!s->options.resume && access(file, F_OK) == 0) {
        text_print(why, sizeof why, "%s holds a result already: --resume goes on with it, or choose another --out",
                   s->out);
        return wrong(why);
    }
    int rc = make_directories(s->out);
    if (rc == 0 && access(s->out, W_OK) < 0)
        rc = -errno;
    if (rc < 0) {
        text_print(why, sizeof why, "cannot write results to %s: %s", s->out, strerror(-rc));
        return wrong(why);
    }
    return SWEEP_DONE;
}

static void fill_result_head(struct sweep *s)
{
    struct result *r = &s->result;
    text_print(r->version, sizeof r->version, "%s", options_version());
    if (sha256_of_file("/proc/self/exe", r->iobench_hash) < 0)
        fprintf(stderr, "iobench sweep: cannot read this program for its hash; the result has none\n");
    environment_read(&r->environment);
    const char *warning = environment_idle_warning(&r->environment);
    if (warning)
        fprintf(stderr, "note: %s\n", warning);
    if (r->started_wall_ns == 0)
        r->started_wall_ns = clock_wall_ns();
}

int sweep_setup_scenarios(struct sweep *s)
{
    struct result *r = &s->result;
    for (uint32_t i = 0; i < r->scenario_count; i++) {
        char mount[RESULT_TEXT];
        const char *name = r->scenarios[r->scenarios[i].a_a_arm ? 0 : i].name;
        s->scenarios[i].info = &r->scenarios[i];
        s->scenarios[i].by_name = scenario_list_mount_of(s->options.state, name, mount) == 0 &&
                                  strcmp(mount, r->scenarios[i].directory) == 0;
        s->scenarios[i].instances = s->scenarios[i].by_name ? r->clients : 0;
    }
    for (uint32_t i = 0; i < r->scenario_count; i++)
        s->scenarios[i].keep_files = s->options.keep;
    int status = make_out(s);
    if (status == SWEEP_DONE)
        status = bring_up(s);
    if (status == SWEEP_DONE && !s->machines)
        status = inspect(s);
    if (status == SWEEP_DONE) {
        char why[SWEEP_OPTIONS_WHY];
        struct result before = *r;
        fill_result_head(s);
        if (s->options.resume && sweep_resume_machine_differs(&before, r, why, sizeof why))
            status = wrong(why);
    }
    if (status == SWEEP_DONE)
        status = s->machines ? attach_machines(s) : attach(s);
    if (status != SWEEP_DONE) {
        /* Which succeeds only where nothing is in it: ours, made a moment ago. */
        (void)rmdir(s->out);
        if (!s->options.out)
            (void)rmdir("results");
    }
    return status;
}

bool sweep_setup_undo(struct sweep *s)
{
    bool clean = true;
    char why[MACHINES_WHY];
    if (s->machines && machines_close(s->machines, why) < 0) {
        fprintf(stderr, "iobench sweep: %s\n", why);
        clean = false;
    }
    for (uint32_t i = 0; i < s->result.scenario_count; i++) {
        struct scenario *scenario = &s->scenarios[i];
        /* Asking a file system that does not answer would hang us, too. */
        int rc = scenario->given_up ? -EBUSY : scenario_detach(scenario);
        if (rc < 0 && !scenario->started) {
            fprintf(stderr, "iobench sweep: test files stay in %s: %s\n", scenario->run_directory, strerror(-rc));
            clean = false;
        }
    }
    for (uint32_t i = 0; i < s->result.scenario_count; i++) {
        struct scenario *scenario = &s->scenarios[i];
        struct cluster_control control = control_of(s);
        if (!scenario->started)
            continue;
        int rc = cluster_control_down(&control, scenario->info->name);
        if (rc == 0)
            continue;
        fprintf(stderr, "iobench sweep: %s could not be stopped (%s): run '%s down %s'\n", scenario->info->name,
                rc < 0 ? strerror(-rc) : "see above", cluster_control_script(), scenario->info->name);
        clean = false;
    }
    return clean;
}
