/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/worker_session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/scope.h"
#include "common/units.h"
#include "iobench/cell.h"
#include "iobench/environment.h"
#include "iobench/histogram.h"
#include "iobench/interrupt.h"
#include "iobench/machine_wire.h"
#include "iobench/plan.h"
#include "iobench/scenario.h"
#include "iobench/text_print.h"

#define TICK_NS (100 * NS_PER_MS)
#define BLOCK_LIMIT (256 * MIB)

struct worker_session {
    struct result result;
    struct load load;
    struct fill_pattern pattern;
    struct progress progress;
    struct cell_context context;
    struct cell_together together;
    struct scenario scenarios[RESULT_SCENARIOS];

    /* The cell in hand; the thread's own while it runs. */
    pthread_t thread;
    bool has_thread;
    struct plan_cell cell;
    uint32_t scenario;
    uint64_t order_seed;
    struct sample sample;
    struct histogram latency;
    bool cancelled;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* release or stop */
    struct worker_view view; /* lock */
    bool stop, released;     /* lock */
    int64_t release_ns;      /* lock */
};

static int refuse(char why[WORKER_SESSION_WHY], const char *reason)
{
    text_print(why, WORKER_SESSION_WHY, "%s", reason);
    return -EINVAL;
}

/* ---- how a cell is led: called by the thread that measures ---- */

static int at_the_gate(void *context, int64_t *release_mono_ns)
{
    struct worker_session *s = context;
    SCOPE_UNLOCK(&s->lock);
    s->view.state = WIRE_BENCH_READY;
    text_print(s->view.phase, sizeof s->view.phase, "ready");
    while (!s->released && !s->stop && !interrupt_requested()) {
        int64_t until = clock_mono_ns() + TICK_NS;
        struct timespec deadline = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
        (void)pthread_cond_timedwait(&s->changed, &s->lock, &deadline);
    }
    if (!s->released)
        return -ECANCELED;
    s->view.state = WIRE_BENCH_MOVING;
    *release_mono_ns = s->release_ns;
    return 0;
}

static bool on_tick(void *context, const char *phase, bool measured, uint64_t bytes)
{
    struct worker_session *s = context;
    SCOPE_UNLOCK(&s->lock);
    text_print(s->view.phase, sizeof s->view.phase, "%s", phase);
    s->view.bytes = measured ? bytes : 0;
    return s->stop;
}

static void *run_cell(void *argument)
{
    struct worker_session *s = argument;
    interrupt_block_here();
    int rc = cell_run(&s->context, &s->scenarios[s->scenario], &s->cell, s->order_seed, &s->sample);
    progress_clear(&s->progress);
    SCOPE_UNLOCK(&s->lock);
    s->cancelled = rc == -ECANCELED;
    s->view.state = WIRE_BENCH_OVER;
    return NULL;
}

/* ---- opening ---- */

static int check_config(const struct result *r, char why[WORKER_SESSION_WHY])
{
    if (!engine_find(r->engine))
        return refuse(why, "it asks for an engine that is not there");
    if (r->clients || r->shared_file || r->queue_depth > LOAD_DEPTH_MAX || r->duration_ns < 0 || r->warm_up_ns < 0 ||
        r->interval_ns < 0 || r->sample_count > 0)
        return refuse(why, "it asks for a load that workers do not take");
    for (uint32_t i = 0; i < r->block_count; i++) {
        uint64_t block = r->block_bytes[i], file = r->file_bytes_by_block[i];
        if (block == 0 || block > BLOCK_LIMIT || block % FILL_GRAIN || file == 0 || file % block)
            return refuse(why, "it asks for a block or file size that cannot be");
    }
    for (uint32_t i = 0; i < r->scenario_count; i++)
        if (strchr(r->scenarios[i].name, '/') || r->scenarios[i].directory[0] != '/')
            return refuse(why, "a scenario's name or directory cannot be");
    return 0;
}

static int attach_all(struct worker_session *s, uint64_t space_bytes, char why[WORKER_SESSION_WHY])
{
    struct result *r = &s->result;
    for (uint32_t i = 0; i < r->scenario_count; i++) {
        char reason[SCENARIO_WHY];
        s->scenarios[i].info = &r->scenarios[i];
        int rc = scenario_inspect(&s->scenarios[i], reason);
        if (rc == 0)
            rc = scenario_attach(&s->scenarios[i], r->seed, space_bytes, engine_find(r->engine), r->cache == CACHE_DIRECT,
                                 plan_probe_block(r), reason);
        if (rc < 0)
            return refuse(why, reason);
    }
    return 0;
}

static int prepare(struct worker_session *s, const struct wire_bench_open *asked, char why[WORKER_SESSION_WHY])
{
    char reason[MACHINE_WIRE_WHY], load_why[LOAD_WHY];
    if (machine_wire_result(asked->config.data, asked->config.length, &s->result, reason) < 0)
        return refuse(why, reason);
    if (check_config(&s->result, why) < 0)
        return -EINVAL;
    if (load_init(&s->load, &s->result, load_why) < 0)
        return refuse(why, load_why);
    environment_read(&s->result.environment);
    fill_pattern_init(&s->pattern, s->result.seed);
    s->together = (struct cell_together){at_the_gate, on_tick, &s->latency, s};
    s->context = (struct cell_context){.config = &s->result, .load = &s->load, .pattern = &s->pattern,
                                       .progress = &s->progress, .together = &s->together};
    progress_init(&s->progress, 0, 0);
    s->progress.quiet = true;
    return attach_all(s, asked->space_bytes, why);
}

int worker_session_open(const struct wire_bench_open *asked, struct worker_session **session, char why[WORKER_SESSION_WHY])
{
    struct worker_session *s = check_alloc(calloc(1, sizeof *s));
    pthread_condattr_t monotonic;
    result_init(&s->result);
    CHECK(pthread_mutex_init(&s->lock, NULL) == 0 && pthread_condattr_init(&monotonic) == 0);
    CHECK(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&s->changed, &monotonic) == 0);
    (void)pthread_condattr_destroy(&monotonic);
    if (prepare(s, asked, why) == 0) {
        *session = s;
        return 0;
    }
    char stays[WORKER_SESSION_WHY];
    (void)!worker_session_close(s, stays);
    return -EINVAL;
}

char *worker_session_text(struct worker_session *session, size_t *bytes)
{
    return machine_wire_text(&session->result, bytes);
}

const char *worker_session_mount(const struct worker_session *session, uint32_t scenario)
{
    return scenario < session->result.scenario_count ? session->scenarios[scenario].mount_point : NULL;
}

/* ---- running ---- */

static int take_cell(struct worker_session *s, const struct wire_bench_run *asked, char why[WORKER_SESSION_WHY])
{
    const struct result *r = &s->result;
    bool size = false, threads = false;
    if (asked->scenario >= r->scenario_count || asked->test >= r->test_count || asked->threads > FILE_SET_FILES)
        return refuse(why, "no such scenario, test or number of threads");
    enum test_kind test = r->tests[asked->test];
    for (uint32_t i = 0; i < r->block_count; i++)
        size = size || (asked->block_bytes == r->block_bytes[i] && asked->file_bytes == r->file_bytes_by_block[i]);
    for (uint32_t i = 0; i < r->thread_count; i++)
        threads = threads || (asked->threads == r->threads[i] && asked->threads > 0);
    if (test_kind_counts_operations(test))
        size = asked->block_bytes == 0 && asked->file_bytes == 0;
    if (!size || !threads)
        return refuse(why, "a cell that is none of the configuration's");
    s->cell = (struct plan_cell){.test = test, .block_bytes = asked->block_bytes, .file_bytes = asked->file_bytes,
                                 .threads = asked->threads};
    s->scenario = asked->scenario;
    s->order_seed = asked->order_seed;
    s->sample = (struct sample){.scenario = asked->scenario, .test = test, .block_bytes = asked->block_bytes,
                                .threads = asked->threads};
    return 0;
}

int worker_session_run(struct worker_session *s, const struct wire_bench_run *asked, char why[WORKER_SESSION_WHY])
{
    if (s->has_thread)
        return refuse(why, "a cell runs already");
    if (take_cell(s, asked, why) < 0)
        return -EINVAL;
    char text[RESULT_NAME];
    histogram_init(&s->latency);
    progress_run(&s->progress, 0, 0, 0, s->result.scenarios[s->scenario].name, plan_cell_text(&s->cell, text));
    {
        SCOPE_UNLOCK(&s->lock);
        s->stop = s->released = false;
        s->view = (struct worker_view){.state = WIRE_BENCH_PREPARING};
    }
    int rc = pthread_create(&s->thread, NULL, run_cell, s);
    if (rc != 0)
        return refuse(why, strerror(rc));
    s->has_thread = true;
    return 0;
}

void worker_session_look(struct worker_session *session, struct worker_view *view)
{
    SCOPE_UNLOCK(&session->lock);
    *view = session->view;
}

void worker_session_release(struct worker_session *session, int64_t release_mono_ns)
{
    SCOPE_UNLOCK(&session->lock);
    session->released = true;
    session->release_ns = release_mono_ns;
    (void)pthread_cond_broadcast(&session->changed);
}

void worker_session_stop(struct worker_session *session)
{
    SCOPE_UNLOCK(&session->lock);
    session->stop = true;
    (void)pthread_cond_broadcast(&session->changed);
}

static void end_cell(struct worker_session *s)
{
    if (!s->has_thread)
        return;
    (void)pthread_join(s->thread, NULL);
    s->has_thread = false;
    s->view = (struct worker_view){.state = WIRE_BENCH_IDLE};
}

int worker_session_take(struct worker_session *s, char **text, size_t *bytes, uint8_t *packed, size_t *packed_bytes)
{
    struct worker_view view;
    worker_session_look(s, &view);
    if (view.state != WIRE_BENCH_OVER)
        return -EAGAIN;
    end_cell(s);
    *text = NULL;
    *bytes = *packed_bytes = 0;
    if (!s->cancelled) {
        s->result.samples = &s->sample;
        s->result.sample_count = 1;
        *text = machine_wire_text(&s->result, bytes);
        s->result.samples = NULL;
        s->result.sample_count = 0;
        *packed_bytes = machine_wire_pack(&s->latency, packed);
        if (!*text)
            return -ENOMEM;
    }
    sample_fini(&s->sample);
    return 0;
}

/* ---- closing ---- */

int worker_session_close(struct worker_session *s, char why[WORKER_SESSION_WHY])
{
    int worst = 0;
    bool given_up = false;
    worker_session_stop(s);
    end_cell(s);
    sample_fini(&s->sample);
    why[0] = '\0';
    for (uint32_t i = 0; i < s->result.scenario_count; i++) {
        struct scenario *scenario = &s->scenarios[i];
        given_up = given_up || scenario->given_up;
        int rc = scenario->given_up ? -EBUSY : scenario_detach(scenario);
        if (rc == 0)
            continue;
        worst = -EBUSY;
        text_print(why, WORKER_SESSION_WHY, "test files stay in %s: %s", scenario->run_directory, strerror(-rc));
    }
    /* Workers that never came back may still look at it. */
    if (given_up)
        return worst;
    result_fini(&s->result);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
    return worst;
}
