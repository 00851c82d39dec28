/* SPDX-License-Identifier: Apache-2.0 */
#include "client/master_session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client/believable.h"
#include "client/log_gate.h"
#include "client/retry.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/stream.h"

enum {
    CONNECT_TIMEOUT_MS = 3000,
    CALL_TIMEOUT_MS = 20000, /* longer than the master lets a request wait before it answers TIMED_OUT */
    SLOTS_LIMIT = 1000,
};

struct master_slot {
    struct stream stream; /* fd -1: not connected */
    uint32_t index;
    uint32_t sequence;   /* of the request that is or was last under way */
    uint32_t generation; /* of the session that index and sequence belong to */
    struct master_slot *next_free;
    struct master_slot *next_of_all;
};

struct master_session {
    struct master_session_options options;
    char node[WIRE_HOST_LIMIT + 1];
    struct master_welcome welcome;
    uint32_t timeout_ms; /* of a silent session */
    _Atomic int64_t last_reply_ns;
    struct log_gate gate;
    atomic_bool silent; /* a line said that the master does not answer */

    pthread_mutex_t renew_lock; /* one thread begins a new session; taken before lock */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t slot_free;
    pthread_cond_t ending; /* monotonic clock */
    bool end;
    uint64_t id;
    _Atomic uint32_t generation; /* read without the lock, too */
    struct master_slot *free_slots, *all_slots;
    uint32_t slot_count;

    pthread_t keepalive_thread;
};

/* ---- hello ---- */

/* Connects and says hello. 0; a negative errno; or the positive wire status of a refusal. The stream is closed unless 0. */
static int say_hello(struct master_session *session, struct stream *stream, uint64_t id, uint32_t slot,
                     struct wire_hello_reply *welcome)
{
    int rc = stream_connect(&session->options.master, CONNECT_TIMEOUT_MS, stream);
    if (rc < 0)
        return rc;
    union wire_any request = {.hello = {.protocol = WIRE_PROTOCOL,
                                        .role = WIRE_ROLE_CLIENT,
                                        .cluster = session->welcome.cluster,
                                        .session = id,
                                        .slot = slot,
                                        .exclusive = session->options.exclusive,
                                        .node = wire_text(session->node)}};
    struct wire_header header;
    const void *body;
    rc = stream_call(stream, WIRE_TYPE_hello, 0, &request, &header, &body);
    if (rc == 0 && header.status != WIRE_OK)
        rc = header.status;
    if (rc == 0)
        rc = wire_get_hello_reply(body, header.body_bytes, welcome);
    if (rc == 0)
        rc = stream_set_timeout(stream, CALL_TIMEOUT_MS);
    if (rc != 0)
        stream_close(stream);
    return rc;
}

static void log_silence(struct master_session *session, int error)
{
    if (!log_gate_open(&session->gate))
        return;
    char text[ADDRESS_TEXT];
    log_warning("no service from the master at %s (%s); trying again",
                units_format_address(&session->options.master, text), strerror(-error));
    atomic_store(&session->silent, true);
}

static void note_answer(struct master_session *session)
{
    atomic_store_explicit(&session->last_reply_ns, clock_mono_ns(), memory_order_relaxed);
    if (atomic_load_explicit(&session->silent, memory_order_relaxed) && atomic_exchange(&session->silent, false))
        log_info("the master answers again");
}

/* What a cluster is does not change while a client lives, so only the first welcome is kept. */
static bool take_welcome(struct master_session *session, const struct wire_hello_reply *reply)
{
    struct master_welcome *welcome = &session->welcome;
    if (reply->session == 0 || reply->block_bytes != WIRE_BLOCK_BYTES || reply->chunk_bytes < reply->block_bytes ||
        reply->chunk_bytes % reply->block_bytes != 0)
        return false;
    if (session->generation == 0) {
        welcome->cluster = reply->cluster;
        welcome->chunk_bytes = reply->chunk_bytes;
        welcome->block_bytes = reply->block_bytes;
        session->timeout_ms = reply->session_timeout_ms;
        if (!wire_copy_text(reply->journal, welcome->journal, sizeof welcome->journal))
            return false;
    } else if (welcome->cluster != reply->cluster || welcome->chunk_bytes != reply->chunk_bytes) {
        return false;
    }
    SCOPE_UNLOCK(&session->lock);
    session->id = reply->session;
    session->generation++;
    return true;
}

/* Asks for a session. The connection is not kept: each slot makes its own. 0, a negative errno, or a wire status. */
static int begin_session(struct master_session *session)
{
    struct stream stream;
    struct wire_hello_reply reply;
    int rc = say_hello(session, &stream, 0, 0, &reply);
    if (rc != 0)
        return rc;
    bool fits = take_welcome(session, &reply);
    stream_close(&stream);
    return fits ? 0 : WIRE_WRONG_GEOMETRY;
}

static bool is_passing(int rc)
{
    return rc < 0 || rc == WIRE_TIMED_OUT || rc == WIRE_AGAIN || rc == WIRE_BUSY;
}

static int refusal(struct master_session *session, int status)
{
    char text[ADDRESS_TEXT];
    log_error("the master at %s refuses this client: %s", units_format_address(&session->options.master, text),
              wire_status_text((uint16_t)status));
    return -wire_status_errno((uint16_t)status);
}

/* A new session in place of the one of generation `seen`, unless another thread was faster. 0 or a negative errno. */
static int renew_session(struct master_session *session, uint32_t seen)
{
    SCOPE_UNLOCK(&session->renew_lock);
    if (master_session_generation(session) != seen)
        return 0;
    int rc = begin_session(session);
    if (rc == 0)
        log_warning("the master did not know this client's session any more and began a new one; "
                    "what was written and not yet synced may be lost");
    return rc > 0 ? -wire_status_errno((uint16_t)rc) : rc;
}

/* ---- slots ---- */

static struct master_slot *take_slot(struct master_session *session)
{
    SCOPE_UNLOCK(&session->lock);
    while (!session->free_slots && session->slot_count == SLOTS_LIMIT)
        (void)pthread_cond_wait(&session->slot_free, &session->lock);
    struct master_slot *slot = session->free_slots;
    if (slot) {
        session->free_slots = slot->next_free;
        return slot;
    }
    slot = check_alloc(calloc(1, sizeof *slot));
    slot->stream.fd = -1;
    slot->index = session->slot_count++;
    slot->next_of_all = session->all_slots;
    session->all_slots = slot;
    return slot;
}

static void give_slot(struct master_session *session, struct master_slot *slot)
{
    SCOPE_UNLOCK(&session->lock);
    slot->next_free = session->free_slots;
    session->free_slots = slot;
    (void)pthread_cond_signal(&session->slot_free);
}

/* Sees to it that the slot is connected in the present generation. 0, a negative errno, or a wire status. */
static int connect_slot(struct master_session *session, struct master_slot *slot)
{
    uint64_t id;
    uint32_t generation;
    {
        SCOPE_UNLOCK(&session->lock);
        id = session->id;
        generation = session->generation;
    }
    if (slot->generation != generation) {
        stream_close(&slot->stream);
        slot->generation = generation;
        slot->sequence = 1;
    }
    if (slot->stream.fd >= 0)
        return 0;
    struct wire_hello_reply reply;
    return say_hello(session, &slot->stream, id, slot->index, &reply);
}

/* ---- calls ---- */

struct attempt {
    const union wire_any *request;
    uint16_t type;
    uint32_t generation; /* the only one in which the call is of use, or MASTER_ANY_GENERATION */
    uint32_t sent_in;    /* generation in which the request was sent and its answer did not come; 0: none */
    int final;           /* a negative errno that no further try would change */
    int64_t asked_ns;    /* before the first try */
    struct wire_header header;
    const void *body;
};

static bool is_change(uint16_t type)
{
    switch (type) {
#define CLASS_query false
#define CLASS_change true
#define CLASS_derived true
#define CHANGE_CASE(name, number, class, payload, reply_payload, meaning)                                            \
    case number:                                                                                                     \
        return CLASS_##class;
        WIRE_MASTER_MESSAGES(CHANGE_CASE)
#undef CHANGE_CASE
    }
    return true;
}

/* One try. 0: there is a reply with status OK; a negative errno of the connection; or a wire status. */
static int try_once(struct master_session *session, struct master_slot *slot, struct attempt *attempt)
{
    int rc = connect_slot(session, slot);
    if (rc != 0)
        return rc;
    if (attempt->generation != MASTER_ANY_GENERATION && slot->generation != attempt->generation)
        attempt->final = -ENOTCONN;
    else if (attempt->sent_in && attempt->sent_in != slot->generation && is_change(attempt->type))
        attempt->final = -EIO; /* nobody knows whether the session that is over has carried it out */
    if (attempt->final)
        return 0;
    rc = stream_call(&slot->stream, attempt->type, slot->sequence, attempt->request, &attempt->header, &attempt->body);
    if (rc < 0) {
        stream_close(&slot->stream);
        attempt->sent_in = slot->generation;
        if (rc == -EBADMSG || rc == -EMSGSIZE)
            attempt->final = -EIO;
        return rc;
    }
    note_answer(session);
    believable_note(attempt->header.alone, attempt->asked_ns);
    return attempt->header.status;
}

static int run(struct master_session *session, struct master_slot *slot, struct attempt *attempt)
{
    struct retry retry;
    retry_start(&retry, session->options.retry_ns);
    slot->sequence++;
    for (;;) {
        int rc = try_once(session, slot, attempt);
        if (attempt->final || rc == 0)
            return attempt->final;
        if (rc == WIRE_NO_SESSION) {
            stream_close(&slot->stream);
            rc = renew_session(session, slot->generation);
            if (rc == 0)
                continue;
        }
        if (rc > 0 && !is_passing(rc) && rc != WIRE_NO_SERVERS && rc != WIRE_UNREACHABLE)
            return -wire_status_errno((uint16_t)rc);
        if (rc < 0) {
            log_silence(session, rc);
        } else {
            slot->sequence++; /* it was answered: asking again is a new request */
            attempt->sent_in = 0;
        }
        rc = retry_wait(&retry);
        if (rc < 0)
            return rc;
    }
}

int master_session_call(struct master_session *session, uint32_t generation, uint16_t type, const union wire_any *request,
                        struct master_call *call)
{
    if (generation != MASTER_ANY_GENERATION && master_session_generation(session) != generation)
        return -ENOTCONN;
    struct attempt attempt = {
        .type = type, .request = request, .generation = generation, .asked_ns = clock_mono_ns()};
    struct master_slot *slot = take_slot(session);
    int rc = run(session, slot, &attempt);
    if (rc == 0 && wire_get_any(type | WIRE_REPLY, attempt.body, attempt.header.body_bytes, &call->reply) < 0) {
        stream_close(&slot->stream);
        log_error("the master's reply to %s is malformed", wire_type_name(type));
        rc = -EIO;
    }
    if (rc < 0) {
        give_slot(session, slot);
        return rc;
    }
    call->slot = slot;
    call->generation = slot->generation;
    return 0;
}

void master_session_finish(struct master_session *session, struct master_call *call)
{
    give_slot(session, call->slot);
    call->slot = NULL;
}

/* ---- life ---- */

/* Waits for the end of the session, at most `ns`. */
static bool wait_for_end(struct master_session *session, int64_t ns)
{
    int64_t until = clock_mono_ns() + ns;
    struct timespec at = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    SCOPE_UNLOCK(&session->lock);
    while (!session->end && clock_mono_ns() < until)
        (void)pthread_cond_timedwait(&session->ending, &session->lock, &at);
    return session->end;
}

static void *keep_alive(void *argument)
{
    struct master_session *session = argument;
    for (;;) {
        int64_t period = (int64_t)session->timeout_ms * NS_PER_MS / 4;
        int64_t quiet = clock_mono_ns() - atomic_load_explicit(&session->last_reply_ns, memory_order_relaxed);
        if (quiet >= period) {
            struct master_call call;
            union wire_any request = {.getattr = {0}}; /* the message has no fields */
            if (master_session_call(session, MASTER_ANY_GENERATION, WIRE_TYPE_keepalive, &request, &call) == 0)
                master_session_finish(session, &call);
            quiet = 0;
        }
        if (wait_for_end(session, period > quiet ? period - quiet : NS_PER_MS))
            return NULL;
    }
}

static void start_keepalive(struct master_session *session)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&session->keepalive_thread, NULL, keep_alive, session) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void free_session(struct master_session *session)
{
    while (session->all_slots) {
        struct master_slot *slot = session->all_slots;
        session->all_slots = slot->next_of_all;
        stream_close(&slot->stream);
        free(slot);
    }
    (void)pthread_cond_destroy(&session->ending);
    (void)pthread_cond_destroy(&session->slot_free);
    (void)pthread_mutex_destroy(&session->lock);
    (void)pthread_mutex_destroy(&session->renew_lock);
    free(session);
}

static void log_nobody(const struct master_session *session, int rc)
{
    char text[ADDRESS_TEXT];
    log_error("no service from a master at %s within %lld s: %s", units_format_address(&session->options.master, text),
              (long long)(session->options.wait_ns / NS_PER_S),
              rc < 0 ? strerror(-rc) : wire_status_text((uint16_t)rc));
}

int master_session_create(const struct master_session_options *options, struct master_session **session)
{
    struct master_session *s = check_alloc(calloc(1, sizeof *s));
    pthread_condattr_t monotonic;
    s->options = *options;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&s->renew_lock, NULL);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->slot_free, NULL);
    (void)pthread_cond_init(&s->ending, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    strncpy(s->node, options->node, sizeof s->node - 1);
    struct retry retry;
    retry_start(&retry, options->wait_ns ? options->wait_ns : INT64_MAX / 2);
    int rc;
    while (is_passing(rc = begin_session(s))) {
        if (rc != WIRE_AGAIN) /* the only other session is being told that it is not alone any more */
            log_silence(s, rc < 0 ? rc : -wire_status_errno((uint16_t)rc));
        int waited = retry_wait(&retry);
        if (waited == -EIO)
            log_nobody(s, rc);
        if (waited < 0) {
            rc = waited == -EIO ? -ETIMEDOUT : waited;
            break;
        }
    }
    if (rc > 0)
        rc = refusal(s, rc);
    if (rc < 0) {
        free_session(s);
        return rc;
    }
    note_answer(s);
    start_keepalive(s);
    *session = s;
    return 0;
}

/* One try; a master that is away ends the session by itself when it has been silent for long enough. */
static void end_at_master(struct master_session *session)
{
    union wire_any request = {.getattr = {0}}; /* the message has no fields */
    struct attempt attempt = {.type = WIRE_TYPE_session_end, .request = &request, .generation = session->generation};
    struct master_slot *slot = take_slot(session);
    slot->sequence++;
    int rc = connect_slot(session, slot);
    if (rc == 0)
        rc = stream_set_timeout(&slot->stream, CONNECT_TIMEOUT_MS);
    if (rc == 0)
        rc = try_once(session, slot, &attempt);
    if (rc != 0)
        log_info("the session ends without the master's knowledge");
    give_slot(session, slot);
}

void master_session_destroy(struct master_session *session)
{
    if (!session)
        return;
    {
        SCOPE_UNLOCK(&session->lock);
        session->end = true;
        (void)pthread_cond_broadcast(&session->ending);
    }
    (void)pthread_join(session->keepalive_thread, NULL);
    end_at_master(session);
    free_session(session);
}

const struct master_welcome *master_session_welcome(const struct master_session *session)
{
    return &session->welcome;
}

uint64_t master_session_id(struct master_session *session)
{
    SCOPE_UNLOCK(&session->lock);
    return session->id;
}

uint32_t master_session_generation(struct master_session *session)
{
    return atomic_load_explicit(&session->generation, memory_order_acquire);
}
