/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/machines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/options.h"
#include "common/scope.h"
#include "iobench/access_pattern.h"
#include "iobench/interrupt.h"
#include "iobench/machine_link.h"
#include "iobench/machine_merge.h"
#include "iobench/served_check.h"
#include "iobench/text_print.h"

#define POLL_NS (50 * NS_PER_MS)
#define RELEASE_AHEAD_NS (50 * NS_PER_MS)
#define STOP_GRACE_NS (15 * NS_PER_S)
#define COUNTERS_LAG_NS (1500 * NS_PER_MS)
#define COUNTERS_POLL_NS (100 * NS_PER_MS)
enum { PINGS = 5, REOPEN_MS = 300 };

struct machines {
    uint32_t count;
    uint64_t session, space_bytes;
    struct machine_link *links[MACHINE_LIMIT];
};

/* A cell in progress. */
struct together {
    struct machines *all;
    const struct result *config;
    struct progress *progress;
    uint32_t scenario;
    struct sample *sample;
    int64_t released_ns; /* 0: not yet */
    char error[RESULT_TEXT];
};

static int add(struct machines *all, char *entry, const struct result *config, char why[MACHINES_WHY])
{
    struct address address;
    char *directory = strchr(entry, '=');
    if (directory)
        *directory++ = '\0';
    if (all->count == MACHINE_LIMIT || units_parse_address(entry, &address) < 0 || !address.host[0] || address.port == 0) {
        text_print(why, MACHINES_WHY, "--workers '%.64s': %s", entry,
                   all->count == MACHINE_LIMIT ? "too many (64 at most)" : "not HOST:PORT or HOST:PORT=DIR");
        return -EINVAL;
    }
    if (directory && (config->scenario_count != 1 || directory[0] != '/')) {
        text_print(why, MACHINES_WHY, "--workers '%.64s=%.64s': a directory must be absolute, and is for a sweep of one scenario",
                   entry, directory);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < all->count; i++)
        if (strcmp(machine_link_name(all->links[i]), entry) == 0) {
            text_print(why, MACHINES_WHY, "--workers '%.64s': the same worker twice", entry);
            return -EINVAL;
        }
    int rc = machine_link_create(&address, entry, directory, &all->links[all->count]);
    if (rc < 0) {
        text_print(why, MACHINES_WHY, "--workers '%.64s': %s", entry, strerror(-rc));
        return -EINVAL;
    }
    all->count++;
    return 0;
}

int machines_create(const char *list, const struct result *config, struct machines **machines, char why[MACHINES_WHY])
{
    struct machines *all = check_alloc(calloc(1, sizeof *all));
    SCOPE_FREE char *copy = check_alloc(strdup(list));
    char *rest = NULL;
    int rc = 0;
    all->session = access_pattern_mix((uint64_t)clock_wall_ns(), (uint64_t)clock_mono_ns());
    for (char *entry = strtok_r(copy, ",", &rest); entry && rc == 0; entry = strtok_r(NULL, ",", &rest))
        rc = add(all, entry, config, why);
    if (rc == 0 && all->count == 0) {
        text_print(why, MACHINES_WHY, "--workers names none");
        rc = -EINVAL;
    }
    if (rc < 0)
        machines_destroy(all);
    else
        *machines = all;
    return rc;
}

void machines_destroy(struct machines *machines)
{
    for (uint32_t i = 0; i < machines->count; i++)
        machine_link_destroy(machines->links[i]);
    free(machines);
}

static int open_one(struct machines *all, uint32_t index, const struct result *config)
{
    /* Each machine has its own files, data and orders. */
    uint64_t seed = access_pattern_mix(config->seed, index) >> 1;
    return machine_link_open(all->links[index], all->session, config, seed, all->space_bytes);
}

int machines_open(struct machines *machines, struct result *config, uint64_t space_bytes, char why[MACHINES_WHY])
{
    machines->space_bytes = space_bytes;
    for (uint32_t i = 0; i < machines->count; i++) {
        if (!machine_link_answers(machines->links[i], MACHINES_SILENT_MS)) {
            text_print(why, MACHINES_WHY, "worker %s: nobody answers: start it there with 'iobench worker --listen %s'",
                       machine_link_name(machines->links[i]), machine_link_name(machines->links[i]));
            return -EINVAL;
        }
        if (open_one(machines, i, config) < 0) {
            text_print(why, MACHINES_WHY, "%s", machine_link_why(machines->links[i]));
            return -EINVAL;
        }
    }
    machine_link_take_found(machines->links[0], config);
    for (uint32_t i = 0; i < machines->count; i++) {
        struct result_machine *machine = result_add_machine(config);
        text_print(machine->worker, sizeof machine->worker, "%s", machine_link_name(machines->links[i]));
        machine->environment = *machine_link_environment(machines->links[i]);
    }
    return 0;
}

int machines_close(struct machines *machines, char why[MACHINES_WHY])
{
    int worst = 0;
    for (uint32_t i = 0; i < machines->count; i++) {
        if (machine_link_close(machines->links[i]) == 0)
            continue;
        text_print(why, MACHINES_WHY, "%s", machine_link_why(machines->links[i]));
        worst = -EBUSY;
    }
    return worst;
}

/* ---- one cell ---- */

static bool takes_part(const struct together *t, uint32_t i)
{
    return machine_link_is_open(t->all->links[i]);
}

/* The first error of a cell is kept. */
static void note(struct together *t, uint32_t i)
{
    if (!t->error[0])
        text_print(t->error, sizeof t->error, "%s", machine_link_why(t->all->links[i]));
}

/* A worker that is back is taken up again. */
static uint32_t gather(struct together *t)
{
    uint32_t present = 0;
    for (uint32_t i = 0; i < t->all->count; i++) {
        if (!takes_part(t, i) && machine_link_answers(t->all->links[i], REOPEN_MS))
            (void)!open_one(t->all, i, t->config);
        present += takes_part(t, i);
    }
    return present;
}

static void begin(struct together *t, const struct plan_cell *cell, uint64_t order_seed)
{
    uint32_t test = 0;
    while (t->config->tests[test] != cell->test)
        test++;
    for (uint32_t i = 0; i < t->all->count; i++) {
        const struct wire_bench_run run = {t->all->session, t->scenario, test, cell->block_bytes, cell->file_bytes,
                                           cell->threads, access_pattern_mix(order_seed, i)};
        if (takes_part(t, i) && machine_link_run(t->all->links[i], &run) < 0)
            note(t, i);
    }
}

/* Asks everybody once. True when all that take part have come as far as `state`. */
static bool all_at(struct together *t, uint8_t state, bool *over_early)
{
    bool all = true;
    uint64_t bytes = 0;
    *over_early = false;
    for (uint32_t i = 0; i < t->all->count; i++) {
        struct machine_state seen;
        if (!takes_part(t, i))
            continue;
        if (machine_link_look(t->all->links[i], &seen) < 0) {
            note(t, i);
            *over_early = true;
            continue;
        }
        bytes += seen.bytes;
        all = all && seen.state >= state;
        /* A cell that was not released ends only when it has failed. */
        *over_early = *over_early || (seen.state == WIRE_BENCH_OVER && state != WIRE_BENCH_OVER);
        if (!t->released_ns && strcmp(t->progress->phase, seen.phase) != 0 && i == 0)
            progress_phase(t->progress, machine_link_phase(t->all->links[i]));
    }
    if (t->released_ns)
        progress_moving(t->progress, bytes, clock_mono_ns() - t->released_ns, NULL);
    return all;
}

/* Until all have come so far. 0; -EIO: something failed; -ECANCELED. */
static int await(struct together *t, uint8_t state)
{
    bool early;
    for (;;) {
        bool all = all_at(t, state, &early);
        if (interrupt_requested())
            return -ECANCELED;
        if (early || t->error[0])
            return -EIO;
        if (all)
            return 0;
        clock_sleep_ns(POLL_NS);
    }
}

/* Nobody may still be at work when the next cell begins. */
static void stop_all(struct together *t)
{
    bool early;
    int64_t until = clock_mono_ns() + STOP_GRACE_NS;
    for (uint32_t i = 0; i < t->all->count; i++)
        if (takes_part(t, i) && machine_link_stop(t->all->links[i]) < 0)
            note(t, i);
    t->released_ns = 0;
    while (!all_at(t, WIRE_BENCH_OVER, &early) && clock_mono_ns() < until)
        clock_sleep_ns(POLL_NS);
}

static void release(struct together *t)
{
    for (uint32_t i = 0; i < t->all->count; i++)
        for (int ping = 0; ping < PINGS && takes_part(t, i); ping++) {
            struct machine_state seen;
            if (machine_link_look(t->all->links[i], &seen) < 0)
                note(t, i);
        }
    int64_t when = clock_mono_ns() + RELEASE_AHEAD_NS;
    for (uint32_t i = 0; i < t->all->count && !t->error[0]; i++)
        if (takes_part(t, i) && machine_link_release(t->all->links[i], when) < 0)
            note(t, i);
    progress_phase(t->progress, "running");
    t->released_ns = when;
}

static void read_served(struct together *t, struct served_counters *counters)
{
    memset(counters, 0, sizeof *counters);
    for (uint32_t i = 0; i < t->all->count; i++)
        if (takes_part(t, i) && machine_link_served(t->all->links[i], t->scenario, counters) == 0)
            return;
}

/* As in cell.c: too little is believed only after a while, since counters trail behind. */
static void account_served(struct together *t, const struct served_counters *before)
{
    int64_t until = clock_mono_ns() + COUNTERS_LAG_NS;
    const char *mark = "";
    while (before->known) {
        struct served_counters after;
        read_served(t, &after);
        if (!after.known)
            return;
        served_counters_between(before, &after, t->sample);
        mark = served_check_mark(t->sample, t->config, after.write_copies);
        if (!mark[0] || clock_mono_ns() > until || interrupt_requested())
            break;
        clock_sleep_ns(COUNTERS_POLL_NS);
    }
    if (mark[0] && !t->sample->mark[0])
        text_print(t->sample->mark, sizeof t->sample->mark, "%s", mark);
}

/* The figures of all, if none failed. */
static int take(struct together *t, uint32_t present)
{
    struct machine_part parts[MACHINE_LIMIT];
    uint32_t count = 0;
    bool cancelled = false;
    for (uint32_t i = 0; i < t->all->count; i++) {
        struct machine_link *link = t->all->links[i];
        if (!takes_part(t, i))
            continue;
        int rc = machine_link_take(link, &parts[count]);
        cancelled = cancelled || rc == -ECANCELED;
        if (rc == 0)
            count++;
        else if (rc != -ECANCELED)
            note(t, i);
    }
    if (!t->error[0] && count == present && count > 0)
        machine_merge(parts, count, t->sample);
    else if (!t->error[0] && !cancelled)
        text_print(t->error, sizeof t->error, "a worker was lost");
    return t->error[0] ? -EIO : cancelled ? -ECANCELED : 0;
}

int machines_run(struct machines *machines, const struct result *config, struct progress *progress, uint32_t scenario,
                 const struct plan_cell *cell, uint64_t order_seed, struct sample *sample)
{
    struct together t = {machines, config, progress, scenario, sample, 0, ""};
    struct served_counters before = {.known = false};
    sample->start_wall_ns = clock_wall_ns();
    progress_phase(progress, "preparing");
    uint32_t present = gather(&t);
    if (present == 0)
        note(&t, 0);
    else
        begin(&t, cell, order_seed);
    int rc = t.error[0] ? -EIO : await(&t, WIRE_BENCH_READY);
    if (rc == 0) {
        read_served(&t, &before);
        release(&t);
        rc = await(&t, WIRE_BENCH_OVER);
    }
    if (rc != 0)
        stop_all(&t);
    int taken = take(&t, present);
    if (rc == -ECANCELED || interrupt_requested()) {
        sample_fini(sample);
        return -ECANCELED;
    }
    if (rc < 0 || taken < 0) {
        sample->failed = true;
        sample_set_error(sample, t.error[0] ? t.error : "a worker stopped");
        return 0;
    }
    account_served(&t, &before);
    if (present < machines->count && !sample->mark[0])
        text_print(sample->mark, sizeof sample->mark, "worker-missing");
    return 0;
}
