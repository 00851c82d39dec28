/* SPDX-License-Identifier: Apache-2.0
 *
 * The queues: which chunks are looked at, and in which order they get their turn. Jobs are in repair_jobs.c.
 */
#include "master/repair.h"

#include <stdlib.h>

#include "common/check.h"
#include "common/log.h"
#include "master/chunk_reports.h"
#include "master/repair_jobs.h"

enum { NEW_A_RUN = 10000, QUEUE_FIRST = 64 };

#define JUDGE_SUSPECTS_NS (5 * NS_PER_S)

/* ---- a queue ---- */

static void push(struct repair_queue *queue, chunk_id id)
{
    if (queue->count == queue->room) {
        size_t room = queue->room ? 2 * queue->room : QUEUE_FIRST;
        chunk_id *ids = check_alloc(malloc(room * sizeof *ids));
        for (size_t i = 0; i < queue->count; i++)
            ids[i] = queue->ids[(queue->first + i) % queue->room];
        free(queue->ids);
        queue->ids = ids;
        queue->first = 0;
        queue->room = room;
    }
    queue->ids[(queue->first + queue->count++) % queue->room] = id;
}

static chunk_id pop(struct repair_queue *queue)
{
    chunk_id id = queue->ids[queue->first];
    queue->first = (queue->first + 1) % queue->room;
    queue->count--;
    return id;
}

void repair_note(struct core *core, struct chunk *chunk)
{
    if (chunk->queued)
        return;
    chunk->queued = true;
    push(&core->repair.queues[REPAIR_NEW], chunk->node.id);
}

uint64_t repair_queue_length(const struct core *core)
{
    uint64_t sum = core->repair.unmet_last;
    for (int i = 0; i < REPAIR_NEW; i++)
        sum += core->repair.queues[i].count;
    return sum;
}

bool repair_is_idle(const struct core *core)
{
    const struct repair_state *r = &core->repair;
    bool idle = r->started && !r->look && !r->passing && !r->jobs;
    for (int i = 0; i < REPAIR_CLASSES; i++)
        idle = idle && r->queues[i].count == 0;
    return idle;
}

void repair_fini(struct core *core)
{
    repair_jobs_fini(core);
    for (int i = 0; i < REPAIR_CLASSES; i++)
        free(core->repair.queues[i].ids);
    core->repair = (struct repair_state){0};
}

/* ---- running ---- */

/* One chunk from a queue gets its turn. */
static void take_turn(struct core *core, int class, struct core_time now)
{
    struct repair_state *r = &core->repair;
    struct chunk *chunk = chunk_table_find(&core->chunks, pop(&r->queues[class]));
    struct repair_need need;
    if (!chunk)
        return;
    repair_judge(core, chunk, now, &need);
    r->unmet += need.unmet;
    if (need.unmet)
        repair_look_at(core, now.mono_ns + REPAIR_UNMET_NS);
    if (need.class != REPAIR_NOTHING &&
        (need.class != class || !repair_jobs_begin(core, chunk, &need, now)))
        push(&r->queues[need.class], chunk->node.id);
    else
        chunk->queued = false;
}

void repair_run(struct core *core, struct core_time now)
{
    struct repair_queue *queues = core->repair.queues;
    for (int i = 0; i < NEW_A_RUN && queues[REPAIR_NEW].count; i++)
        take_turn(core, REPAIR_NEW, now);
    for (int class = 0; class < REPAIR_NEW; class++) {
        size_t tries = queues[class].count < REPAIR_TRIES ? queues[class].count : REPAIR_TRIES;
        while (tries-- && queues[class].count)
            take_turn(core, class, now);
    }
}

/* ---- passes over all chunks ---- */

void repair_look_at(struct core *core, int64_t when_ns)
{
    struct repair_state *r = &core->repair;
    if (r->look_ns == 0 || when_ns < r->look_ns)
        r->look_ns = when_ns;
}

/* Whole buckets of the table, so that what comes and goes meanwhile does no harm; when the table grows, from the start. */
static void pass(struct core *core)
{
    struct repair_state *r = &core->repair;
    const struct id_table *table = &core->chunks.table;
    int looked = 0;
    if (r->buckets != table->bucket_count) {
        r->buckets = table->bucket_count;
        r->bucket = 0;
    }
    while (r->bucket < r->buckets && looked < REPAIR_PASS_CHUNKS)
        for (struct id_node *node = table->buckets[r->bucket++]; node; node = node->next, looked++)
            repair_note(core, (struct chunk *)node);
    r->passing = r->bucket < r->buckets;
}

static void go_over_all(struct core *core, struct core_time now)
{
    struct repair_state *r = &core->repair;
    if (!r->started) {
        r->started = r->look = true;
        repair_look_at(core, core->all_known_ns + (r->patience_ns ? r->patience_ns : REPAIR_PATIENCE_NS));
    }
    if (r->look_ns && now.mono_ns >= r->look_ns) {
        r->look = true;
        r->look_ns = 0;
    }
    if (r->look && !r->passing) {
        r->look = false;
        r->passing = true;
        r->bucket = r->buckets = 0;
        r->unmet = 0;
    }
    if (r->passing)
        pass(core);
}

static void say_that_it_is_done(const struct core *core)
{
    const struct repair_state *r = &core->repair;
    if (r->unmet_last)
        log_warning("repair: %llu chunks want a copy for which there is no chunkserver with room",
                    (unsigned long long)r->unmet_last);
    else
        log_info("repair: nothing waits any more; %llu copies made since the start", (unsigned long long)r->copies_made);
}

void repair_tick(struct core *core, struct core_time now)
{
    struct repair_state *r = &core->repair;
    bool was_idle = repair_is_idle(core);
    uint64_t unmet_before = r->unmet_last;
    go_over_all(core, now);
    repair_jobs_tick(core, now);
    repair_run(core, now);
    if (!r->passing)
        r->unmet_last = r->unmet;
    if (now.mono_ns / JUDGE_SUSPECTS_NS != (now.mono_ns - NS_PER_S) / JUDGE_SUSPECTS_NS)
        chunk_reports_judge(core);
    if (repair_is_idle(core) && (r->unmet_last != unmet_before || (!was_idle && r->copies_made != r->copies_said))) {
        r->copies_said = r->copies_made;
        say_that_it_is_done(core);
    }
    repair_balance(core, now);
}
