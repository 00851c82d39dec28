/* SPDX-License-Identifier: Apache-2.0 */
#include "chunkserver/master_link.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "chunkserver/master_commands.h"
#include "chunkserver/own_address.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/control.h"
#include "common/log.h"
#include "common/scope.h"

enum {
    CALL_TIMEOUT_MS = 5000, /* well above the second for which the master holds a poll */
    LEAVE_TIMEOUT_MS = 500, /* a master that is away does not hold up the end */
    RETRY_MS = 300,
    LOG_EVERY_S = 10,
    RESULT_BYTES = 16, /* at most, of a record in a poll */
};

struct master_link {
    struct master_link_options options;
    struct control_client *client;
    struct master_commands *commands;
    pthread_t thread;
    _Atomic bool stop;
    bool prefaulted;
    uint64_t start;
    uint32_t server_id;
    int64_t trouble_ns; /* of the last line about a master that is away; 0: all is well */
    uint8_t list_room[2][WIRE_COMMANDS_LIMIT * RESULT_BYTES];
    uint8_t report_room[WIRE_REPORT_LIMIT * RESULT_BYTES];
};

static void log_trouble(struct master_link *link, const char *what)
{
    char text[ADDRESS_TEXT];
    int64_t now = clock_mono_ns();
    if (link->stop || (link->trouble_ns && now - link->trouble_ns < LOG_EVERY_S * NS_PER_S))
        return;
    link->trouble_ns = now;
    log_warning("master at %s: %s; trying on", units_format_address(&link->options.master, text), what);
}

static void wait_to_retry(const struct master_link *link)
{
    for (int waited = 0; waited < RETRY_MS && !link->stop; waited += 50)
        clock_sleep_ns(50 * NS_PER_MS);
}

/* ---- registration ---- */

static bool is_refusal(uint16_t status)
{
    return status == WIRE_WRONG_CLUSTER || status == WIRE_WRONG_PROTOCOL || status == WIRE_WRONG_GEOMETRY;
}

static int refuse(struct master_link *link, const char *why)
{
    char text[ADDRESS_TEXT];
    log_error("master at %s: this store cannot be used: %s", units_format_address(&link->options.master, text), why);
    link->stop = true;
    link->options.refused();
    return -ECONNREFUSED;
}

/* The first master that an empty store meets gives it cluster and geometry; any other must agree. */
static int agree(struct master_link *link, const struct wire_server_register_reply *m)
{
    struct store *store = link->options.store;
    struct store_geometry geometry = {m->chunk_bytes, m->block_bytes};
    if (!store->ready) {
        int rc = store->ops->adopt(store, m->cluster, &geometry);
        if (rc == -EINVAL)
            return refuse(link, "the geometry it asks for is not supported");
        if (rc < 0)
            return refuse(link, strerror(-rc));
        log_info("the store joins cluster %016" PRIx64 ", chunks of %" PRIu32 " bytes", m->cluster, m->chunk_bytes);
        return 0;
    }
    if (m->cluster != store->identity.cluster)
        return refuse(link, wire_status_text(WIRE_WRONG_CLUSTER));
    if (geometry.chunk_bytes != store->identity.geometry.chunk_bytes ||
        geometry.block_bytes != store->identity.geometry.block_bytes)
        return refuse(link, wire_status_text(WIRE_WRONG_GEOMETRY));
    return 0;
}

static int register_part(struct master_link *link, union wire_any *request)
{
    union wire_any value;
    struct wire_header reply;
    int rc = control_call(link->client, WIRE_TYPE_server_register, request, CALL_TIMEOUT_MS, &reply, &value);
    if (rc < 0) {
        log_trouble(link, rc == -ETIMEDOUT ? "does not answer" : strerror(-rc));
        return rc;
    }
    if (is_refusal(reply.status))
        return refuse(link, wire_status_text(reply.status));
    if (reply.status != WIRE_OK) {
        log_trouble(link, wire_status_text(reply.status));
        return -EAGAIN;
    }
    link->server_id = value.server_register_reply.server_id;
    link->options.store->server_id = link->server_id;
    return agree(link, &value.server_register_reply);
}

static int fill_registration(struct master_link *link, struct wire_server_register *m, struct address *own)
{
    struct store_usage usage;
    struct store *store = link->options.store;
    *own = link->options.advertise;
    if (own->host[0] == '\0') {
        int rc = own_address_towards(&link->options.master, own);
        if (rc < 0) {
            log_trouble(link, "its address is not known");
            return rc;
        }
    }
    store->ops->usage(store, &usage);
    *m = (struct wire_server_register){.protocol = WIRE_PROTOCOL,
                                       .cluster = store->identity.cluster,
                                       .node = store->identity.node,
                                       .start = link->start,
                                       .host = wire_text(own->host),
                                       .port = own->port,
                                       .total_bytes = usage.total_bytes,
                                       .used_bytes = usage.used_bytes};
    return 0;
}

static int send_reports(struct master_link *link, union wire_any *request, const struct store_report *reports,
                        int64_t count)
{
    int64_t done = 0;
    int rc = 0;
    do {
        struct wire_out room = wire_out_on(link->report_room, sizeof link->report_room);
        struct wire_list list = {NULL, 0, 0};
        request->server_register.first = done == 0;
        while (done < count && list.count < WIRE_REPORT_LIMIT) {
            struct wire_chunk_report report = {reports[done].id, reports[done].version, reports[done].damaged};
            CHECK(wire_append_chunk_report(&room, &list, &report));
            done++;
        }
        request->server_register.last = done == count;
        request->server_register.chunks = list;
        rc = register_part(link, request);
    } while (rc == 0 && done < count && !link->stop);
    return rc;
}

/* An empty store learns its geometry from the answer to a part of a registration that it does not complete: so it is ready
 * when it registers. */
static int prepare_store(struct master_link *link, union wire_any *request)
{
    struct store *store = link->options.store;
    char text[UNITS_TEXT];
    if (link->prefaulted || !link->options.prefault)
        return 0;
    if (!store->ready) {
        request->server_register.first = 1;
        int rc = register_part(link, request);
        if (rc < 0)
            return rc;
        request->server_register.cluster = store->identity.cluster;
    }
    int64_t began = clock_mono_ns();
    int64_t bytes = store->ops->prefault(store, &link->stop);
    link->prefaulted = true;
    if (bytes < 0)
        log_warning("touching memory ahead: %s", strerror((int)-bytes));
    else
        log_info("touched %s of memory ahead in %.1f s", units_format_bytes((uint64_t)bytes, text),
                 (double)(clock_mono_ns() - began) / (double)NS_PER_S);
    return 0;
}

/* One try. 0: registered. */
static int try_to_register(struct master_link *link)
{
    union wire_any request = {.server_register = {.protocol = 0}};
    struct address own;
    char text[2][ADDRESS_TEXT];
    if (getrandom(&link->start, sizeof link->start, 0) != sizeof link->start)
        return -errno;
    int rc = fill_registration(link, &request.server_register, &own);
    if (rc == 0)
        rc = prepare_store(link, &request);
    if (rc < 0)
        return rc;
    master_commands_forget(link->commands);
    SCOPE_FREE struct store_report *reports = NULL;
    int64_t count = link->options.store->ops->list(link->options.store, &reports);
    rc = send_reports(link, &request, reports, count);
    if (rc < 0 || link->stop)
        return rc;
    link->trouble_ns = 0;
    if (link->options.registered)
        link->options.registered(link->options.context, link->server_id);
    log_info("registered at the master at %s as server %" PRIu32 ", reached at %s, with %" PRId64 " chunks",
             units_format_address(&link->options.master, text[0]), link->server_id,
             units_format_address(&own, text[1]), count);
    return 0;
}

/* ---- polling ---- */

static unsigned add_damaged(struct master_link *link, struct wire_out *room, struct wire_list *list)
{
    struct store_report items[DAMAGE_LIST_LIMIT];
    unsigned count = damage_list_peek(link->options.damage, items);
    for (unsigned i = 0; i < count; i++) {
        struct wire_chunk_report report = {items[i].id, items[i].version, 1};
        CHECK(wire_append_chunk_report(room, list, &report));
    }
    return count;
}

/* 0: go on; 1: register again. */
static int poll_once(struct master_link *link)
{
    struct store *store = link->options.store;
    struct store_usage usage;
    struct wire_out rooms[2];
    for (int i = 0; i < 2; i++)
        rooms[i] = wire_out_on(link->list_room[i], sizeof link->list_room[i]);
    store->ops->usage(store, &usage);
    union wire_any request = {.server_poll = {.server_id = link->server_id,
                                              .start = link->start,
                                              .total_bytes = usage.total_bytes,
                                              .used_bytes = usage.used_bytes,
                                              .chunks = usage.chunks,
                                              .counters = serve_counters_read(link->options.counters)}};
    unsigned results = master_commands_peek(link->commands, &rooms[0], &request.server_poll.results);
    unsigned damaged = add_damaged(link, &rooms[1], &request.server_poll.damaged);
    union wire_any value;
    struct wire_header reply;
    int rc = control_call(link->client, WIRE_TYPE_server_poll, &request, CALL_TIMEOUT_MS, &reply, &value);
    if (rc < 0 || reply.status != WIRE_OK) {
        log_trouble(link, rc == -ETIMEDOUT ? "does not answer" : rc < 0 ? strerror(-rc) : wire_status_text(reply.status));
        if (rc != -ETIMEDOUT)
            wait_to_retry(link);
        return 0;
    }
    if (link->trouble_ns)
        log_info("the master answers again");
    link->trouble_ns = 0;
    master_commands_told(link->commands, results);
    damage_list_told(link->options.damage, damaged);
    if (value.server_poll_reply.register_again)
        return 1;
    master_commands_take(link->commands, &value.server_poll_reply.commands);
    return 0;
}

/* So that nothing new is placed here in the seconds until the master would notice by itself. */
static void say_goodbye(const struct master_link *link)
{
    struct control_client *client; /* the link's own may be in the middle of a poll */
    struct wire_header reply;
    union wire_any value;
    struct store_usage usage;
    if (link->server_id == 0 || control_connect(&link->options.master, &client) < 0)
        return;
    link->options.store->ops->usage(link->options.store, &usage);
    union wire_any request = {.server_poll = {.server_id = link->server_id,
                                              .start = link->start,
                                              .total_bytes = usage.total_bytes,
                                              .used_bytes = usage.used_bytes,
                                              .chunks = usage.chunks,
                                              .counters = serve_counters_read(link->options.counters),
                                              .leaving = 1}};
    int rc = control_call(client, WIRE_TYPE_server_poll, &request, LEAVE_TIMEOUT_MS, &reply, &value);
    if (rc < 0)
        log_info("the master was not told: %s", strerror(-rc));
    control_client_destroy(client);
}

static void *run(void *argument)
{
    struct master_link *link = (struct master_link *)argument;
    while (!link->stop) {
        if (try_to_register(link) < 0) {
            wait_to_retry(link);
            continue;
        }
        while (!link->stop && poll_once(link) == 0) {
        }
    }
    return NULL;
}

int master_link_create(const struct master_link_options *options, struct master_link **link)
{
    struct master_link *l = check_alloc(calloc(1, sizeof *l));
    l->options = *options;
    int rc = control_connect(&options->master, &l->client);
    if (rc < 0) {
        free(l);
        return rc;
    }
    l->commands = master_commands_create(options->store);
    CHECK(pthread_create(&l->thread, NULL, run, l) == 0);
    *link = l;
    return 0;
}

void master_link_destroy(struct master_link *link)
{
    link->stop = true;
    control_client_cancel(link->client);
    (void)pthread_join(link->thread, NULL);
    say_goodbye(link);
    master_commands_destroy(link->commands);
    control_client_destroy(link->client);
    free(link);
}
