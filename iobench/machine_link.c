/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/machine_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/control.h"
#include "common/options.h"
#include "common/scope.h"
#include "iobench/histogram.h"
#include "iobench/machine_wire.h"
#include "iobench/machines.h"
#include "iobench/text_print.h"

enum { OPEN_MS = 30000, CLOSE_MS = 30000, WHY = 1400 };

/* A look that took longer says little about the clocks; one that is old, too, since clocks drift. */
#define CLOCK_AGE_NS (60 * NS_PER_S)

struct machine_link {
    char name[ADDRESS_TEXT], directory[RESULT_TEXT];
    struct control_client *client;
    uint64_t session;
    bool open;
    char why[WHY], boot_id[RESULT_NAME];
    int64_t ahead_ns, round_trip_ns, measured_ns; /* its clock less ours, by the quickest look */
    const char *phase;
    struct result found;   /* configuration, environment, scenarios as the worker sees them */
    struct result figures; /* with the last cell's sample */
    struct histogram latency;
};

int machine_link_create(const struct address *address, const char *name, const char *directory, struct machine_link **link)
{
    struct machine_link *l = check_alloc(calloc(1, sizeof *l));
    text_print(l->name, sizeof l->name, "%s", name);
    text_print(l->directory, sizeof l->directory, "%s", directory ? directory : "");
    text_print(l->why, sizeof l->why, "worker %s: not open", name);
    l->phase = "preparing";
    result_init(&l->found);
    result_init(&l->figures);
    int rc = control_connect(address, &l->client);
    if (rc < 0) {
        free(l);
        return rc;
    }
    *link = l;
    return 0;
}

void machine_link_destroy(struct machine_link *link)
{
    control_client_destroy(link->client);
    result_fini(&link->found);
    result_fini(&link->figures);
    free(link);
}

const char *machine_link_name(const struct machine_link *link)
{
    return link->name;
}

const char *machine_link_why(const struct machine_link *link)
{
    return link->why;
}

bool machine_link_is_open(const struct machine_link *link)
{
    return link->open;
}

const char *machine_link_phase(const struct machine_link *link)
{
    return link->phase;
}

static int lose(struct machine_link *l, const char *reason)
{
    l->open = false;
    text_print(l->why, sizeof l->why, "worker %s: %s", l->name, reason);
    return -EIO;
}

static int ask(struct machine_link *l, uint16_t type, const union wire_any *request, int timeout_ms, union wire_any *reply)
{
    struct wire_header header;
    char reason[128];
    int rc = control_call(l->client, type, request, timeout_ms, &header, reply);
    if (rc == -ETIMEDOUT) {
        text_print(reason, sizeof reason, "no answer for %d s (is `iobench worker` still running there?)", timeout_ms / 1000);
        return lose(l, reason);
    }
    if (rc < 0)
        return lose(l, strerror(-rc));
    if (header.status == WIRE_NO_SESSION)
        return lose(l, "it was started anew in the middle of the sweep");
    return header.status == WIRE_OK ? 0 : lose(l, wire_status_text(header.status));
}

bool machine_link_answers(struct machine_link *l, int timeout_ms)
{
    union wire_any request = {.bench_poll = {.session = l->session, .what = WIRE_BENCH_LOOK}}, reply;
    struct wire_header header;
    return control_call(l->client, WIRE_TYPE_bench_poll, &request, timeout_ms, &header, &reply) == 0;
}

int machine_link_open(struct machine_link *l, uint64_t session, const struct result *config, uint64_t seed, uint64_t space_bytes)
{
    SCOPE_FREE struct result *mine = check_alloc(malloc(sizeof *mine));
    *mine = *config;
    mine->samples = NULL;
    mine->sample_count = 0;
    mine->machine_count = 0;
    mine->seed = seed;
    if (l->directory[0])
        text_print(mine->scenarios[0].directory, sizeof mine->scenarios[0].directory, "%s", l->directory);
    size_t bytes;
    SCOPE_FREE char *text = machine_wire_text(mine, &bytes);
    if (!text || bytes > WIRE_BENCH_RESULT_LIMIT)
        return lose(l, "the configuration is too large");
    l->session = session;
    l->measured_ns = 0;
    union wire_any request = {.bench_open = {WIRE_PROTOCOL, wire_text(options_version()), session, space_bytes,
                                             wire_bytes_of(text, bytes)}};
    union wire_any reply;
    if (ask(l, WIRE_TYPE_bench_open, &request, OPEN_MS, &reply) < 0)
        return -EIO;
    char error[1025], why[MACHINE_WIRE_WHY];
    const struct wire_bench_open_reply *opened = &reply.bench_open_reply;
    if (!wire_copy_text(opened->error, error, sizeof error) || error[0])
        return lose(l, error);
    if (!wire_copy_text(opened->boot_id, l->boot_id, sizeof l->boot_id))
        l->boot_id[0] = '\0';
    result_fini(&l->found);
    result_init(&l->found);
    if (machine_wire_result(opened->found.data, opened->found.length, &l->found, why) < 0)
        return lose(l, why);
    l->open = true;
    return 0;
}

void machine_link_take_found(const struct machine_link *l, struct result *config)
{
    for (uint32_t i = 0; i < config->scenario_count && i < l->found.scenario_count; i++) {
        struct scenario_info *to = &config->scenarios[i];
        char name[RESULT_NAME], directory[RESULT_TEXT];
        bool a_a_arm = to->a_a_arm;
        text_print(name, sizeof name, "%s", to->name);
        text_print(directory, sizeof directory, "%s", to->directory);
        *to = l->found.scenarios[i];
        to->a_a_arm = a_a_arm;
        text_print(to->name, sizeof to->name, "%s", name);
        text_print(to->directory, sizeof to->directory, "%s", directory);
    }
}

const struct result_environment *machine_link_environment(const struct machine_link *l)
{
    return &l->found.environment;
}

int machine_link_run(struct machine_link *l, const struct wire_bench_run *run)
{
    union wire_any request = {.bench_run = *run}, reply;
    char error[1025];
    if (ask(l, WIRE_TYPE_bench_run, &request, MACHINES_SILENT_MS, &reply) < 0)
        return -EIO;
    if (!wire_copy_text(reply.bench_run_reply.error, error, sizeof error) || error[0])
        return lose(l, error);
    return 0;
}

static int poll_it(struct machine_link *l, uint8_t what, int64_t release_ns, int timeout_ms, union wire_any *reply)
{
    union wire_any request = {.bench_poll = {l->session, what, release_ns}};
    int64_t before = clock_mono_ns();
    if (ask(l, WIRE_TYPE_bench_poll, &request, timeout_ms, reply) < 0)
        return -EIO;
    int64_t now = clock_mono_ns(), took = now - before;
    if (l->measured_ns == 0 || took <= l->round_trip_ns || now - l->measured_ns > CLOCK_AGE_NS) {
        l->round_trip_ns = took;
        l->measured_ns = now;
        l->ahead_ns = reply->bench_poll_reply.mono_ns - (before + took / 2);
    }
    return 0;
}

/* The phase as a text that stays. */
static const char *known_phase(struct wire_bytes text)
{
    static const char *const phases[] = {"preparing", "dropping caches", "warming", "ready", "running",
                                         "flushing",  "verifying",       "removing"};
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
        if (text.length == strlen(phases[i]) && memcmp(text.data, phases[i], text.length) == 0)
            return phases[i];
    return "preparing";
}

int machine_link_look(struct machine_link *l, struct machine_state *state)
{
    union wire_any reply;
    if (poll_it(l, WIRE_BENCH_LOOK, 0, MACHINES_SILENT_MS, &reply) < 0)
        return -EIO;
    l->phase = known_phase(reply.bench_poll_reply.phase);
    *state = (struct machine_state){reply.bench_poll_reply.state, l->phase, reply.bench_poll_reply.bytes};
    return 0;
}

int machine_link_release(struct machine_link *l, int64_t our_mono_ns)
{
    union wire_any reply;
    return poll_it(l, WIRE_BENCH_RELEASE, our_mono_ns + l->ahead_ns, MACHINES_SILENT_MS, &reply);
}

int machine_link_stop(struct machine_link *l)
{
    union wire_any reply;
    return poll_it(l, WIRE_BENCH_STOP, 0, MACHINES_SILENT_MS, &reply);
}

int machine_link_served(struct machine_link *l, uint32_t scenario, struct served_counters *counters)
{
    union wire_any request = {.bench_served = {l->session, scenario}}, reply;
    if (ask(l, WIRE_TYPE_bench_served, &request, MACHINES_SILENT_MS, &reply) < 0)
        return -EIO;
    const struct wire_bench_served_reply *served = &reply.bench_served_reply;
    *counters = (struct served_counters){.known = served->known,
                                         .read_bytes = served->read_bytes,
                                         .read_requests = served->read_requests,
                                         .write_bytes = served->write_bytes,
                                         .write_requests = served->write_requests,
                                         .write_copies = served->write_copies};
    return 0;
}

int machine_link_take(struct machine_link *l, struct machine_part *part)
{
    union wire_any request = {.bench_take = {l->session}}, reply;
    char why[MACHINE_WIRE_WHY];
    if (ask(l, WIRE_TYPE_bench_take, &request, MACHINES_SILENT_MS, &reply) < 0)
        return -EIO;
    const struct wire_bench_take_reply *taken = &reply.bench_take_reply;
    if (taken->cancelled)
        return -ECANCELED;
    result_fini(&l->figures);
    result_init(&l->figures);
    if (machine_wire_result(taken->figures.data, taken->figures.length, &l->figures, why) < 0)
        return lose(l, why);
    if (l->figures.sample_count != 1 || machine_wire_unpack(taken->latency.data, taken->latency.length, &l->latency) < 0)
        return lose(l, "its figures are damaged");
    const struct sample *sample = &l->figures.samples[0];
    if (sample->failed) {
        text_print(l->why, sizeof l->why, "worker %s: %s", l->name, sample->error ? sample->error : "it failed");
        return -EIO;
    }
    *part = (struct machine_part){sample, &l->latency, l->boot_id};
    return 0;
}

int machine_link_close(struct machine_link *l)
{
    union wire_any reply;
    char error[1025];
    if (!l->open)
        return 0;
    if (poll_it(l, WIRE_BENCH_CLOSE, 0, CLOSE_MS, &reply) < 0)
        return -EIO;
    l->open = false;
    if (wire_copy_text(reply.bench_poll_reply.error, error, sizeof error) && !error[0])
        return 0;
    return lose(l, error);
}
