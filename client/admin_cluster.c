/* SPDX-License-Identifier: Apache-2.0 */
#include "client/admin_cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "client/admin_table.h"
#include "common/control.h"
#include "common/stream.h"

enum { CONNECT_MS = 3000, ANSWER_MS = 5000 };
#define AGES_MS (UINT64_C(20) * 365 * 86400 * 1000) /* since long before this program: there was none */

/* ---- asking ---- */

static const union wire_any nothing; /* most requests have no fields */

/* nng goes on trying in silence, so whether anybody listens, and why not, is found out beforehand. */
static int probe(const struct admin *admin)
{
    struct stream stream;
    char text[ADDRESS_TEXT];
    int rc = stream_connect(&admin->master, CONNECT_MS, &stream);
    if (rc < 0)
        return admin_complain(ADMIN_FAILED,
                              "no master can be reached at %s: %s (its control address: --master or CALF_MASTER)",
                              units_format_address(&admin->master, text), strerror(-rc));
    stream_close(&stream);
    return ADMIN_DONE;
}

/* *client is for control_client_destroy in any case; *reply points into it. Complains and returns the exit
 * status. */
static int ask(const struct admin *admin, uint16_t type, const union wire_any *request, struct control_client **client,
               union wire_any *reply)
{
    struct wire_header header;
    char text[ADDRESS_TEXT];
    *client = NULL;
    int status = probe(admin);
    if (status != ADMIN_DONE)
        return status;
    (void)units_format_address(&admin->master, text);
    int rc = control_connect(&admin->master, client);
    if (rc == 0)
        rc = control_call(*client, type, request, ANSWER_MS, &header, reply);
    if (rc == -ETIMEDOUT)
        return admin_complain(ADMIN_FAILED, "%s: no answer within %d s; is it the control address of a calf-master?",
                              text, ANSWER_MS / 1000);
    if (rc < 0)
        return admin_complain(ADMIN_FAILED, "%s: %s", text, strerror(-rc));
    if (header.status == WIRE_NO_ENTRY)
        return admin_complain(ADMIN_WRONG, "no such chunkserver (calf servers lists them)");
    if (header.status != WIRE_OK)
        return admin_complain(ADMIN_FAILED, "%s: %s", text, wire_status_text(header.status));
    return ADMIN_DONE;
}

int admin_cluster_status(const struct admin *admin, char **arguments)
{
    struct control_client *client;
    union wire_any reply;
    (void)arguments;
    int status = ask(admin, WIRE_TYPE_admin_status, &nothing, &client, &reply);
    if (status == ADMIN_DONE)
        admin_cluster_print_status(admin, &reply.admin_status_reply);
    control_client_destroy(client);
    return status;
}

int admin_cluster_servers(const struct admin *admin, char **arguments)
{
    struct control_client *client;
    union wire_any reply;
    (void)arguments;
    int status = ask(admin, WIRE_TYPE_admin_servers, &nothing, &client, &reply);
    if (status == ADMIN_DONE)
        admin_cluster_print_servers(admin, &reply.admin_servers_reply.servers);
    control_client_destroy(client);
    return status;
}

static int set_drain(const struct admin *admin, const char *which, bool drain)
{
    struct control_client *client = NULL;
    struct address address;
    uint64_t id = 0;
    union wire_any reply, request = {.admin_drain = {.drain = drain}};
    if (units_parse_number(which, 1, UINT16_MAX, &id) == 0) {
        request.admin_drain.server_id = (uint32_t)id;
    } else if (units_parse_address(which, &address) == 0) {
        request.admin_drain.host = wire_text(address.host);
        request.admin_drain.port = address.port;
    } else {
        return admin_complain(ADMIN_WRONG, "%s: neither a chunkserver's id nor HOST:PORT (calf servers lists them)", which);
    }
    int status = ask(admin, WIRE_TYPE_admin_drain, &request, &client, &reply);
    if (status == ADMIN_DONE && admin->json)
        fprintf(admin->out, "{\"server\": %u, \"draining\": %s}\n", reply.admin_drain_reply.server_id,
                drain ? "true" : "false");
    else if (status == ADMIN_DONE && drain)
        fprintf(admin->out, "chunkserver %u is being emptied; calf servers says when it may be stopped\n",
                reply.admin_drain_reply.server_id);
    else if (status == ADMIN_DONE)
        fprintf(admin->out, "chunkserver %u gets chunks again\n", reply.admin_drain_reply.server_id);
    control_client_destroy(client);
    return status;
}

int admin_cluster_drain(const struct admin *admin, char **arguments)
{
    return set_drain(admin, arguments[0], true);
}

int admin_cluster_undrain(const struct admin *admin, char **arguments)
{
    return set_drain(admin, arguments[0], false);
}

/* ---- JSON: every field of the schema under its name ---- */

static void print_json(const struct admin *admin, json_t *value)
{
    (void)json_dumpf(value, admin->out, JSON_INDENT(2));
    fputc('\n', admin->out);
    json_decref(value);
}

static json_t *json_text(struct wire_bytes text)
{
    json_t *value = json_stringn((const char *)text.data, text.length);
    return value ? value : json_string("?"); /* not UTF-8 */
}

#define JSON_u8(object, name, value) (void)json_object_set_new(object, name, json_integer(value))
#define JSON_u16(object, name, value) (void)json_object_set_new(object, name, json_integer(value))
#define JSON_u32(object, name, value) (void)json_object_set_new(object, name, json_integer(value))
#define JSON_u64(object, name, value) (void)json_object_set_new(object, name, json_integer((json_int_t)(value)))
#define JSON_str(object, name, value) (void)json_object_set_new(object, name, json_text(value))
#define JSON_rec_server(object, name, value) add_server(object, &value)
#define JSON_rec_counters(object, name, value) add_counters(object, &value)
#define JSON_FIELD(kind, name, limit, meaning) JSON_##kind(object, #name, value->name);

static void add_server(json_t *object, const struct wire_server *value)
{
    WIRE_FIELDS_server(JSON_FIELD)
}

static void add_counters(json_t *object, const struct wire_counters *value)
{
    WIRE_FIELDS_counters(JSON_FIELD)
}

/* How clients reach it: what connections it has from them. */
static const char *transport_of(const struct wire_server_state *state)
{
    const struct wire_counters *n = &state->counters;
    if (!state->connected || n->tcp_clients + n->shm_clients == 0)
        return "-";
    return n->tcp_clients == 0 ? "shm" : n->shm_clients == 0 ? "tcp" : "shm and tcp";
}

static json_t *server_json(const struct wire_server_state *value)
{
    json_t *object = json_object();
    WIRE_FIELDS_server_state(JSON_FIELD)
    (void)json_object_del(object, "connected");
    (void)json_object_set_new(object, "online", json_boolean(value->connected));
    (void)json_object_set_new(object, "transport", json_string(transport_of(value)));
    (void)json_object_set_new(object, "draining", json_boolean(value->draining));
    (void)json_object_set_new(object, "may_be_stopped", json_boolean(value->draining && value->to_move == 0));
    return object;
}

static json_t *status_json(const struct wire_admin_status_reply *value)
{
    json_t *object = json_object();
    char cluster[17];
    WIRE_FIELDS_admin_status_reply(JSON_FIELD)
    /* It may not fit the numbers that JSON readers have. */
    (void)snprintf(cluster, sizeof cluster, "%016" PRIx64, value->cluster);
    (void)json_object_set_new(object, "cluster", json_string(cluster));
    return object;
}

/* ---- text ---- */

static const char *format_duration(uint64_t ms, char text[UNITS_TEXT])
{
    uint64_t s = ms / 1000;
    if (s < 60)
        (void)snprintf(text, UNITS_TEXT, "%" PRIu64 ".%" PRIu64 " s", s, ms % 1000 / 100);
    else if (s < 3600)
        (void)snprintf(text, UNITS_TEXT, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(text, UNITS_TEXT, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    else
        (void)snprintf(text, UNITS_TEXT, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
    return text;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* The worst thing that is wrong, in a few words. */
static void add_health(struct admin_table *table, const struct wire_admin_status_reply *status)
{
    admin_table_cell(table, "health");
    if (status->chunks_missing)
        admin_table_cell(table, "chunks without a valid copy that can be reached: %" PRIu64, status->chunks_missing);
    else if (status->damaged_copies)
        admin_table_cell(table, "damaged copies: %" PRIu64, status->damaged_copies);
    else if (status->chunks_below_goal)
        admin_table_cell(table, "chunks with fewer copies than wanted: %" PRIu64, status->chunks_below_goal);
    else if (status->snapshot_failures)
        admin_table_cell(table, "snapshots fail: %u tries since the last good one", status->snapshot_failures);
    else if (status->servers == 0)
        admin_table_cell(table, "no chunkserver has registered yet");
    else if (status->servers_connected < status->servers)
        admin_table_cell(table, "chunkservers away: %u", status->servers - status->servers_connected);
    else
        admin_table_cell(table, "good");
}

static void add_number(struct admin_table *table, const char *name, uint64_t value)
{
    admin_table_cell(table, "%s", name);
    admin_table_cell(table, "%" PRIu64, value);
}

static void print_status_text(const struct admin *admin, const struct wire_admin_status_reply *status)
{
    struct admin_table table;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    admin_table_init(&table, "ll");
    add_health(&table, status);
    admin_table_cell(&table, "space");
    admin_table_cell(&table, "%s of %s used (%.1f%%)", units_format_bytes(status->used_bytes, a),
                     units_format_bytes(status->total_bytes, b), percent(status->used_bytes, status->total_bytes));
    admin_table_cell(&table, "chunkservers");
    admin_table_cell(&table, "%u of %u connected", status->servers_connected, status->servers);
    add_number(&table, "sessions", status->sessions);
    add_number(&table, "files", status->files);
    add_number(&table, "directories", status->directories);
    add_number(&table, "chunks", status->chunks);
    add_number(&table, "  without a valid copy in reach", status->chunks_missing);
    add_number(&table, "  with fewer copies than wanted", status->chunks_below_goal);
    add_number(&table, "  with one copy", status->chunks_one_copy);
    add_number(&table, "  with two copies", status->chunks_two_copies);
    add_number(&table, "  with more", status->chunks_more_copies);
    add_number(&table, "damaged copies", status->damaged_copies);
    add_number(&table, "damaged blocks seen", status->damaged_blocks);
    add_number(&table, "repair queue", status->repair_queue);
    admin_table_cell(&table, "copies made");
    admin_table_cell(&table, "%" PRIu64 " since the master started, %" PRIu64 " failed, %" PRIu64 " under way",
                     status->copies_made, status->copies_failed, status->copies_running);
    admin_table_cell(&table, "journal");
    admin_table_cell(&table, "%.*s, %s", (int)status->journal.length, (const char *)status->journal.data,
                     units_format_bytes(status->journal_bytes, a));
    admin_table_cell(&table, "snapshot");
    if (status->snapshot_age_ms > AGES_MS)
        admin_table_cell(&table, "none yet");
    else
        admin_table_cell(&table, "%s ago%s", format_duration(status->snapshot_age_ms, a),
                         status->snapshot_failures ? ", and not since (see the master's log)" : "");
    admin_table_cell(&table, "master up for");
    admin_table_cell(&table, "%s", format_duration(status->uptime_ms, a));
    admin_table_cell(&table, "cluster");
    admin_table_cell(&table, "%016" PRIx64, status->cluster);
    admin_table_print(&table, 0, admin->out);
    admin_table_fini(&table);
}

static void add_server_row(struct admin_table *table, const struct wire_server_state *state)
{
    char text[ADDRESS_TEXT];
    struct address address = {.port = state->server.port};
    if (!wire_copy_text(state->server.host, address.host, sizeof address.host))
        address.host[0] = '?';
    admin_table_cell(table, "%u", state->server.id);
    admin_table_cell(table, "%s", units_format_address(&address, text));
    if (!state->draining)
        admin_table_cell(table, "%s", state->connected ? "online" : "away");
    else if (state->to_move)
        admin_table_cell(table, "%s, draining: %" PRIu64 " to move", state->connected ? "online" : "away", state->to_move);
    else
        admin_table_cell(table, "%s, drained: may be stopped", state->connected ? "online" : "away");
    admin_table_cell(table, "%s", units_format_bytes(state->used_bytes, text));
    admin_table_cell(table, "%s", units_format_bytes(state->total_bytes, text));
    admin_table_cell(table, "%.1f%%", percent(state->used_bytes, state->total_bytes));
    admin_table_cell(table, "%" PRIu64, state->chunks);
    admin_table_cell(table, "%s", units_format_bytes(state->counters.read_bytes, text));
    admin_table_cell(table, "%s", units_format_bytes(state->counters.write_bytes, text));
    admin_table_cell(table, "%" PRIu64, state->counters.damaged_blocks);
    admin_table_cell(table, "%s", transport_of(state));
    admin_table_cell(table, "%s", format_duration(state->since_poll_ms, text));
}

static void print_servers_text(const struct admin *admin, struct wire_list servers)
{
    static const char *const titles[] = {"id",     "address", "state",   "used",           "size",     "full",
                                         "chunks", "read",    "written", "damaged blocks", "clients use", "heard from"};
    struct admin_table table;
    struct wire_server_state state;
    if (servers.count == 0) {
        fputs("no chunkserver has registered yet\n", admin->out);
        return;
    }
    admin_table_init(&table, "rllrrrrrrrlr");
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        admin_table_cell(&table, "%s", titles[i]);
    while (wire_next_server_state(&servers, &state))
        add_server_row(&table, &state);
    admin_table_print(&table, 0, admin->out);
    admin_table_fini(&table);
}

void admin_cluster_print_status(const struct admin *admin, const struct wire_admin_status_reply *status)
{
    if (admin->json)
        print_json(admin, status_json(status));
    else
        print_status_text(admin, status);
}

void admin_cluster_print_servers(const struct admin *admin, const struct wire_list *servers)
{
    struct wire_list rest = *servers;
    struct wire_server_state state;
    if (!admin->json) {
        print_servers_text(admin, rest);
        return;
    }
    json_t *array = json_array();
    while (wire_next_server_state(&rest, &state))
        (void)json_array_append_new(array, server_json(&state));
    print_json(admin, json_pack("{s:o}", "servers", array));
}

/* ---- ping ---- */

int admin_cluster_ping(const struct admin *admin, char **arguments)
{
    struct address address;
    struct stream stream;
    struct wire_header header;
    const void *body;
    union wire_any hello = {.hello = {.protocol = WIRE_PROTOCOL, .role = WIRE_ROLE_ADMIN}};
    (void)admin;
    if (units_parse_address(arguments[0], &address) < 0)
        return admin_complain(ADMIN_WRONG, "ping %s: not HOST:PORT", arguments[0]);
    int rc = stream_connect(&address, CONNECT_MS, &stream);
    if (rc < 0)
        return admin_complain(ADMIN_FAILED, "nobody serves at %s: %s", arguments[0], strerror(-rc));
    rc = stream_set_timeout(&stream, ANSWER_MS);
    if (rc == 0)
        rc = stream_call(&stream, WIRE_TYPE_hello, 1, &hello, &header, &body);
    stream_close(&stream);
    if (rc < 0)
        return admin_complain(ADMIN_FAILED, "%s does not answer as a chunkserver: %s", arguments[0], strerror(-rc));
    if (header.status != WIRE_OK)
        return admin_complain(ADMIN_FAILED, "%s: %s", arguments[0], wire_status_text(header.status));
    return ADMIN_DONE;
}
