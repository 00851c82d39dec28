/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/master_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "chunkserver/chunk_format.h"
#include "chunkserver/copy_chunk.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

/* The master has no more commands under way than it can name in a few polls; what does not fit waits for it to ask again. */
enum { RESULTS_LIMIT = 16 * WIRE_COMMANDS_LIMIT, COPIES_LIMIT = 4 * WIRE_COMMANDS_LIMIT };

struct copy_job {
    uint64_t number;
    chunk_id id;
    uint32_t version;
    struct address source;
};

struct master_commands {
    struct store *store;
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_t copier;
    _Atomic bool stop;
    pthread_cond_t idle;
    _Atomic bool abandon; /* what is being copied is of an older registration */
    uint64_t running;     /* number of the command whose copy is being made; 0: none */
    unsigned result_count;
    struct wire_command_result results[RESULTS_LIMIT];
    unsigned copy_first, copy_count; /* a ring */
    struct copy_job copies[COPIES_LIMIT];
};

static void add_result_locked(struct master_commands *c, uint64_t number, int rc, uint32_t blocks)
{
    if (c->result_count == RESULTS_LIMIT) {
        log_error("result of command %" PRIu64 " is lost: the master does not listen", number);
        return;
    }
    c->results[c->result_count++] = (struct wire_command_result){number, wire_status_from_error(rc), blocks};
}

/* ---- copies ---- */

static void *copy_chunks(void *argument)
{
    struct master_commands *c = (struct master_commands *)argument;
    (void)pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->copy_count == 0 && !c->stop)
            (void)pthread_cond_wait(&c->more, &c->lock);
        if (c->stop)
            break;
        struct copy_job job = c->copies[c->copy_first];
        c->copy_first = (c->copy_first + 1) % COPIES_LIMIT;
        c->copy_count--;
        c->running = job.number;
        (void)pthread_mutex_unlock(&c->lock);
        int rc = copy_chunk_from(c->store, &job.source, job.id, job.version, &c->abandon);
        (void)pthread_mutex_lock(&c->lock);
        c->running = 0;
        (void)pthread_cond_broadcast(&c->idle);
        if (!c->abandon)
            add_result_locked(c, job.number, rc, WIRE_BLOCKS_UNKNOWN);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* The master asks again when an answer takes long, as a copy does. */
static bool is_known_locked(const struct master_commands *c, uint64_t number)
{
    bool known = c->running == number;
    for (unsigned i = 0; i < c->copy_count && !known; i++)
        known = c->copies[(c->copy_first + i) % COPIES_LIMIT].number == number;
    for (unsigned i = 0; i < c->result_count && !known; i++)
        known = c->results[i].number == number;
    return known;
}

static int enqueue_copy_locked(struct master_commands *c, const struct wire_command *command)
{
    if (is_known_locked(c, command->number))
        return 0;
    if (c->copy_count == COPIES_LIMIT)
        return -EAGAIN;
    struct copy_job *job = &c->copies[(c->copy_first + c->copy_count) % COPIES_LIMIT];
    *job = (struct copy_job){.number = command->number, .id = command->chunk_id, .version = command->version};
    job->source.port = command->source.port;
    if (command->version == 0 || !wire_copy_text(command->source.host, job->source.host, sizeof job->source.host))
        return -EINVAL;
    c->copy_count++;
    (void)pthread_cond_signal(&c->more);
    return 0;
}

/* ---- commands ---- */

static int execute(struct master_commands *c, const struct wire_command *m)
{
    const struct store_ops *ops = c->store->ops;
    switch (m->action) {
    case WIRE_ACTION_SET_VERSION:
        return ops->set_version(c->store, m->chunk_id, m->version, m->new_version, m->keep_bytes, m->create != 0);
    case WIRE_ACTION_DELETE:
        return ops->remove(c->store, m->chunk_id, m->version);
    }
    return -EOPNOTSUPP;
}

/* What the chunk has in the version it was just given. */
static uint32_t count_blocks(struct master_commands *c, const struct wire_command *m)
{
    uint8_t bits[CHUNK_FORMAT_BLOCKS_LIMIT / 8] = {0};
    uint32_t blocks = 0;
    if (m->action != WIRE_ACTION_SET_VERSION || c->store->ops->map(c->store, m->chunk_id, m->new_version, bits) < 0)
        return WIRE_BLOCKS_UNKNOWN;
    for (size_t i = 0; i < sizeof bits; i++)
        blocks += (uint32_t)__builtin_popcount(bits[i]);
    return blocks;
}

static void take_one(struct master_commands *c, const struct wire_command *command)
{
    char text[256];
    int rc;
    if (command->action == WIRE_ACTION_COPY) {
        SCOPE_UNLOCK(&c->lock);
        rc = enqueue_copy_locked(c, command);
        if (rc < 0)
            add_result_locked(c, command->number, rc, WIRE_BLOCKS_UNKNOWN);
    } else {
        rc = execute(c, command);
        uint32_t blocks = rc == 0 ? count_blocks(c, command) : WIRE_BLOCKS_UNKNOWN;
        SCOPE_UNLOCK(&c->lock);
        add_result_locked(c, command->number, rc, blocks);
    }
    (void)snprintf(text, sizeof text, "command %" PRIu64 ": action %u on chunk %016" PRIx64 " version %" PRIu32,
                   command->number, (unsigned)command->action, command->chunk_id, command->version);
    if (rc < 0)
        log_info("%s: %s", text, strerror(-rc));
    else
        log_debug("%s", text);
}

void master_commands_take(struct master_commands *commands, const struct wire_list *list)
{
    struct wire_list rest = *list;
    struct wire_command command;
    while (wire_next_command(&rest, &command))
        take_one(commands, &command);
}

unsigned master_commands_peek(struct master_commands *commands, struct wire_out *room, struct wire_list *results)
{
    SCOPE_UNLOCK(&commands->lock);
    unsigned count = 0;
    while (count < commands->result_count && count < WIRE_COMMANDS_LIMIT &&
           wire_append_command_result(room, results, &commands->results[count]))
        count++;
    return count;
}

void master_commands_told(struct master_commands *commands, unsigned count)
{
    SCOPE_UNLOCK(&commands->lock);
    CHECK(count <= commands->result_count);
    commands->result_count -= count;
    memmove(commands->results, commands->results + count, commands->result_count * sizeof *commands->results);
}

void master_commands_forget(struct master_commands *commands)
{
    SCOPE_UNLOCK(&commands->lock);
    commands->result_count = 0;
    commands->copy_count = 0;
    commands->abandon = true;
    while (commands->running)
        (void)pthread_cond_wait(&commands->idle, &commands->lock);
    commands->abandon = commands->stop;
}

struct master_commands *master_commands_create(struct store *store)
{
    struct master_commands *c = check_alloc(calloc(1, sizeof *c));
    c->store = store;
    CHECK(pthread_mutex_init(&c->lock, NULL) == 0);
    CHECK(pthread_cond_init(&c->more, NULL) == 0);
    CHECK(pthread_cond_init(&c->idle, NULL) == 0);
    CHECK(pthread_create(&c->copier, NULL, copy_chunks, c) == 0);
    return c;
}

void master_commands_destroy(struct master_commands *commands)
{
    {
        SCOPE_UNLOCK(&commands->lock);
        commands->stop = commands->abandon = true;
        (void)pthread_cond_signal(&commands->more);
    }
    (void)pthread_join(commands->copier, NULL);
    (void)pthread_mutex_destroy(&commands->lock);
    (void)pthread_cond_destroy(&commands->more);
    (void)pthread_cond_destroy(&commands->idle);
    free(commands);
}
