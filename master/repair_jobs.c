/* SPDX-License-Identifier: Apache-2.0 */
#include "master/repair_jobs.h"

#include <stdlib.h>

#include "common/check.h"
#include "common/log.h"

/* ---- the list ---- */

static struct repair_job *job_of(const struct chunk *chunk)
{
    return chunk->activity ? chunk->activity->repair : NULL;
}

static struct repair_job *add_job(struct core *core, struct chunk *chunk, server_id source, server_id target,
                                  uint8_t why, struct core_time now)
{
    struct repair_state *r = &core->repair;
    struct repair_job *job = check_alloc(calloc(1, sizeof *job));
    job->chunk = chunk;
    job->source = source;
    job->target = target;
    job->why = why;
    job->started_ns = now.mono_ns;
    job->next = r->jobs;
    if (r->jobs)
        r->jobs->previous = job;
    r->jobs = job;
    r->job_count++;
    servers_find(&core->servers, source)->copies_out++;
    servers_find(&core->servers, target)->copies_in++;
    chunk_activity_of(chunk)->repair = job;
    return job;
}

static void end_job(struct core *core, struct repair_job *job)
{
    struct repair_state *r = &core->repair;
    struct chunk *chunk = job->chunk;
    if (job->previous)
        job->previous->next = job->next;
    else
        r->jobs = job->next;
    if (job->next)
        job->next->previous = job->previous;
    r->job_count--;
    servers_find(&core->servers, job->source)->copies_out--;
    servers_find(&core->servers, job->target)->copies_in--;
    chunk->activity->repair = NULL;
    chunk_rest(chunk);
    core->wake |= job->fenced;
    free(job);
}

void repair_cancel(struct core *core, struct chunk *chunk)
{
    if (job_of(chunk))
        end_job(core, job_of(chunk));
}

void repair_jobs_fini(struct core *core)
{
    while (core->repair.jobs)
        end_job(core, core->repair.jobs);
}

/* ---- the set of copies ---- */

/* Records the set of a settled chunk, with one more server or without one (0: none). */
static void record_set(struct core *core, const struct chunk *chunk, server_id with, server_id without, int64_t wall_ns)
{
    uint8_t data[(WIRE_COPIES_LIMIT + 1) * 16];
    struct wire_out room = wire_out_on(data, sizeof data);
    union wire_any record = {
        .j_copies = {.chunk_id = chunk->node.id, .version = chunk->version, .blocks = WIRE_BLOCKS_UNKNOWN}};
    const struct chunk_copy *copies = chunk_copies((struct chunk *)(uintptr_t)chunk);
    for (uint8_t i = 0; i <= chunk->copy_count; i++) {
        struct wire_server server = {.id = i < chunk->copy_count ? copies[i].server : with};
        if (server.id && server.id != without)
            CHECK(wire_append_server(&room, &record.j_copies.servers, &server));
    }
    CHECK(core_decide(core, WIRE_TYPE_j_copies, &record, wall_ns) == WIRE_OK);
}

/* A copy that is bad or too much goes: first the record, then the file. What its server does not have needs no
 * deletion; an older version that it may have is found at its next report. */
static void drop_copy(struct core *core, struct chunk *chunk, server_id victim, struct core_time now)
{
    struct server *server = servers_find(&core->servers, victim);
    uint8_t bits = chunk_find_copy(chunk, victim)->bits;
    CHECK(chunk->copy_count > 1);
    record_set(core, chunk, 0, victim, now.wall_ns);
    if (bits & COPY_LOST && bits & COPY_DAMAGED)
        server_queue_delete(&core->servers, server, chunk->node.id, WIRE_QUARANTINED);
    else if (!(bits & COPY_LOST))
        server_queue_delete(&core->servers, server, chunk->node.id, chunk->version);
    log_debug("chunk %llu: the copy on chunkserver %u goes", (unsigned long long)chunk->node.id, victim);
}

/* ---- beginning ---- */

static void send_copy(struct core *core, struct repair_job *job)
{
    job->state = REPAIR_COPYING;
    job->number = server_queue(servers_find(&core->servers, job->target),
                               (struct server_command){.action = WIRE_ACTION_COPY,
                                                       .chunk = job->chunk->node.id,
                                                       .version = job->chunk->version,
                                                       .source = job->source});
}

void repair_jobs_copy(struct core *core, struct chunk *chunk, server_id source, server_id target, uint8_t why,
                      struct core_time now)
{
    CHECK(!chunk_is_unsettled(chunk) && !chunk_is_leased(chunk) && !job_of(chunk));
    send_copy(core, add_job(core, chunk, source, target, why, now));
}

static bool begin_copy(struct core *core, struct chunk *chunk, const struct repair_need *need, struct core_time now)
{
    const struct server *source = servers_find(&core->servers, need->source);
    const struct server *target = servers_find(&core->servers, need->target);
    if (source->copies_out >= REPAIR_COPIES_OUT || target->copies_in >= REPAIR_COPIES_IN ||
        server_has_command(target, chunk->node.id))
        return false;
    if (!need->fence) {
        repair_jobs_copy(core, chunk, need->source, need->target, need->class, now);
        return true;
    }
    if (!chunk_ops_raise(core, chunk, NULL, 0, now))
        return false;
    struct repair_job *job = add_job(core, chunk, need->source, need->target, need->class, now);
    job->state = REPAIR_FENCING;
    job->fenced = true;
    return true;
}

bool repair_jobs_begin(struct core *core, struct chunk *chunk, const struct repair_need *need, struct core_time now)
{
    if (need->only_raise)
        return chunk_ops_raise(core, chunk, NULL, 0, now);
    if (need->victim && need->fence) {
        uint16_t without = (uint16_t)need->victim;
        return chunk_ops_raise(core, chunk, &without, 1, now);
    }
    if (need->victim) {
        drop_copy(core, chunk, need->victim, now);
        chunk->queued = false;
        repair_note(core, chunk); /* there may be more; it stands in the queue again */
        return true;
    }
    if (need->target)
        return begin_copy(core, chunk, need, now);
    record_set(core, chunk, 0, 0, now.wall_ns); /* all are equal */
    return true;
}

void repair_raised(struct core *core, struct chunk *chunk, struct core_time now)
{
    struct repair_job *job = job_of(chunk);
    (void)now;
    if (job) {
        const struct chunk_copy *source = chunk_find_copy(chunk, job->source);
        bool can_go_on = !chunk_is_unsettled(chunk) && source && repair_is_good(core, chunk, source) &&
                         servers_find(&core->servers, job->target)->connected;
        if (can_go_on) {
            send_copy(core, job);
            return;
        }
        end_job(core, job);
    }
    repair_note(core, chunk);
}

/* ---- ending ---- */

static uint32_t good_copies(const struct core *core, struct chunk *chunk)
{
    uint32_t good = 0;
    for (uint8_t i = 0; i < chunk->copy_count; i++)
        good += repair_is_good(core, chunk, &chunk_copies(chunk)[i]);
    return good;
}

/* The copy is verified and stored: from this record on it counts. */
static void take_copy(struct core *core, struct repair_job *job, struct core_time now)
{
    struct chunk *chunk = job->chunk;
    struct chunk_copy *copy = chunk_find_copy(chunk, job->target);
    core->repair.copies_made++;
    if (copy)
        copy->bits = (uint8_t)(COPY_REPORTED | (chunk->bits & CHUNK_UNEQUAL ? COPY_EQUAL : 0));
    else
        record_set(core, chunk, job->target, 0, now.wall_ns);
    if (job->why == REPAIR_BALANCE && !copy && good_copies(core, chunk) > chunk->owner->goal)
        drop_copy(core, chunk, job->source, now);
}

/* The status says whose fault it was. */
static void take_failure(struct core *core, struct repair_job *job, uint16_t status, struct core_time now)
{
    struct chunk_copy *source = chunk_find_copy(job->chunk, job->source);
    core->repair.copies_failed++;
    log_warning("chunk %llu: no copy from chunkserver %u to %u: %s", (unsigned long long)job->chunk->node.id, job->source,
                job->target, wire_status_text(status));
    if (status == WIRE_NO_SPACE)
        servers_find(&core->servers, job->target)->full_until_ns = now.mono_ns + REPAIR_FULL_NS;
    else if (source && status == WIRE_DAMAGED)
        source->bits |= COPY_DAMAGED;
    else if (source && (status == WIRE_NO_CHUNK || status == WIRE_WRONG_VERSION))
        source->bits |= COPY_LOST;
    else
        repair_look_at(core, now.mono_ns + REPAIR_FAILED_NS);
}

/* Nobody waits for this copy any more. If it was made, and is none of the chunk's, it goes. */
static void take_late_result(struct core *core, struct server *server, const struct server_command *command,
                             uint16_t status)
{
    struct chunk *chunk = chunk_table_find(&core->chunks, command->chunk);
    if (status == WIRE_OK && !(chunk && chunk_find_copy(chunk, server->id)))
        server_queue_delete(&core->servers, server, command->chunk, command->version);
}

void repair_result(struct core *core, struct server *server, const struct server_command *command, uint16_t status,
                   struct core_time now)
{
    struct chunk *chunk = chunk_table_find(&core->chunks, command->chunk);
    struct repair_job *job = chunk ? job_of(chunk) : NULL;
    if (!job || job->state != REPAIR_COPYING || job->number != command->number || job->target != server->id) {
        take_late_result(core, server, command, status);
        return;
    }
    bool valid = !chunk_is_unsettled(chunk) && chunk->version == command->version;
    if (!valid)
        take_late_result(core, server, command, status);
    else if (status == WIRE_OK)
        take_copy(core, job, now);
    else
        take_failure(core, job, status, now);
    end_job(core, job);
    if (valid && (status == WIRE_OK || status == WIRE_NO_SPACE || status == WIRE_DAMAGED || status == WIRE_NO_CHUNK))
        repair_note(core, chunk);
    repair_run(core, now);
    repair_balance(core, now);
}

void repair_server_gone(struct core *core, const struct server *server, struct core_time now)
{
    struct repair_state *r = &core->repair;
    for (struct repair_job *job = r->jobs, *next; job; job = next) {
        next = job->next;
        if (job->source != server->id && job->target != server->id)
            continue;
        struct chunk *chunk = job->chunk;
        end_job(core, job);
        repair_note(core, chunk);
    }
    repair_look_at(core, now.mono_ns + (r->patience_ns ? r->patience_ns : REPAIR_PATIENCE_NS));
}

void repair_jobs_tick(struct core *core, struct core_time now)
{
    for (struct repair_job *job = core->repair.jobs, *next; job; job = next) {
        next = job->next;
        if (now.mono_ns - job->started_ns < REPAIR_JOB_NS)
            continue;
        struct chunk *chunk = job->chunk;
        log_warning("chunk %llu: the copy to chunkserver %u takes too long; given up", (unsigned long long)chunk->node.id,
                    job->target);
        end_job(core, job);
        repair_note(core, chunk);
    }
}
