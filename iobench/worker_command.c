/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/worker_command.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/control.h"
#include "common/options.h"
#include "common/scope.h"
#include "iobench/environment.h"
#include "iobench/interrupt.h"
#include "iobench/machine_wire.h"
#include "iobench/served_counters.h"
#include "iobench/text_print.h"
#include "iobench/worker_session.h"

enum { POLL_MS = 500 };

struct service {
    struct control_server *server;
    struct worker_session *session; /* NULL: none */
    uint64_t session_id;
    int64_t asked_ns; /* when the session's sweep was heard last */
    char boot_id[RESULT_NAME];
};

static void close_session(struct service *s, char why[WORKER_SESSION_WHY])
{
    why[0] = '\0';
    if (s->session && worker_session_close(s->session, why) < 0)
        fprintf(stderr, "iobench worker: %s\n", why);
    s->session = NULL;
}

static void answer_open(struct service *s, struct control_request *request, const struct wire_bench_open *asked)
{
    char why[WORKER_SESSION_WHY] = "", version[RESULT_TEXT];
    size_t bytes = 0;
    SCOPE_FREE char *found = NULL;
    bool lives = s->session && clock_mono_ns() - s->asked_ns < MACHINE_WIRE_LEASE_NS;
    if (asked->protocol != WIRE_PROTOCOL || !wire_copy_text(asked->version, version, sizeof version) ||
        strcmp(version, options_version()) != 0) {
        text_print(why, sizeof why, "it is another version of iobench (%s)", options_version());
    } else if (lives && s->session_id != asked->session) {
        text_print(why, sizeof why, "another sweep uses it");
    } else {
        close_session(s, why);
        if (worker_session_open(asked, &s->session, why) < 0)
            s->session = NULL;
        else if (!(found = worker_session_text(s->session, &bytes)) || bytes > WIRE_BENCH_RESULT_LIMIT)
            close_session(s, why);
        else
            why[0] = '\0';
        s->session_id = asked->session;
        s->asked_ns = clock_mono_ns();
    }
    union wire_any reply = {.bench_open_reply = {wire_text(why), clock_mono_ns(), wire_text(s->boot_id),
                                                 wire_bytes_of(found, found && !why[0] ? bytes : 0)}};
    control_reply(s->server, request, WIRE_OK, &reply);
}

static void answer_run(struct service *s, struct control_request *request, const struct wire_bench_run *asked)
{
    char why[WORKER_SESSION_WHY] = "";
    if (worker_session_run(s->session, asked, why) == 0)
        why[0] = '\0';
    union wire_any reply = {.bench_run_reply = {wire_text(why)}};
    control_reply(s->server, request, WIRE_OK, &reply);
}

static void answer_poll(struct service *s, struct control_request *request, const struct wire_bench_poll *asked)
{
    char why[WORKER_SESSION_WHY] = "";
    struct worker_view view = {.state = WIRE_BENCH_IDLE};
    if (asked->what == WIRE_BENCH_RELEASE)
        worker_session_release(s->session, asked->release_mono_ns);
    else if (asked->what == WIRE_BENCH_STOP)
        worker_session_stop(s->session);
    else if (asked->what == WIRE_BENCH_CLOSE)
        close_session(s, why);
    if (s->session)
        worker_session_look(s->session, &view);
    union wire_any reply = {
        .bench_poll_reply = {view.state, clock_mono_ns(), wire_text(view.phase), view.bytes, wire_text(why)}};
    control_reply(s->server, request, WIRE_OK, &reply);
}

static void answer_take(struct service *s, struct control_request *request)
{
    SCOPE_FREE uint8_t *packed = check_alloc(malloc(MACHINE_WIRE_HISTOGRAM));
    SCOPE_FREE char *text = NULL;
    size_t bytes, packed_bytes;
    int rc = worker_session_take(s->session, &text, &bytes, packed, &packed_bytes);
    if (rc == 0 && bytes > WIRE_BENCH_RESULT_LIMIT)
        rc = -E2BIG;
    union wire_any reply = {.bench_take_reply = {rc == 0 && !text, {0}, {0}}};
    if (rc == 0) {
        reply.bench_take_reply.figures = wire_bytes_of(text, bytes);
        reply.bench_take_reply.latency = wire_bytes_of(packed, packed_bytes);
    }
    control_reply(s->server, request, wire_status_from_error(rc), &reply);
}

static void answer_served(struct service *s, struct control_request *request, const struct wire_bench_served *asked)
{
    struct served_counters counters = {.known = false};
    const char *mount = worker_session_mount(s->session, asked->scenario);
    if (mount)
        served_counters_read(mount, &counters);
    union wire_any reply = {.bench_served_reply = {counters.known, counters.read_bytes, counters.read_requests,
                                                   counters.write_bytes, counters.write_requests, counters.write_copies}};
    control_reply(s->server, request, WIRE_OK, &reply);
}

/* All but open are for the session that lasts. */
static bool is_of_session(const struct service *s, uint16_t type, const union wire_any *value)
{
    const uint64_t session = type == WIRE_TYPE_bench_run      ? value->bench_run.session
                             : type == WIRE_TYPE_bench_poll   ? value->bench_poll.session
                             : type == WIRE_TYPE_bench_take   ? value->bench_take.session
                             : type == WIRE_TYPE_bench_served ? value->bench_served.session
                                                              : 0;
    return s->session && session == s->session_id;
}

static void answer(struct service *s, struct control_request *request, const struct wire_header *header, const void *body)
{
    union wire_any value;
    if (wire_get_any(header->type, body, header->body_bytes, &value) < 0) {
        control_reply(s->server, request, WIRE_BAD_MESSAGE, NULL);
        return;
    }
    if (header->type == WIRE_TYPE_bench_open) {
        answer_open(s, request, &value.bench_open);
        return;
    }
    if (!is_of_session(s, header->type, &value)) {
        control_reply(s->server, request, WIRE_NO_SESSION, NULL);
        return;
    }
    s->asked_ns = clock_mono_ns();
    if (header->type == WIRE_TYPE_bench_run)
        answer_run(s, request, &value.bench_run);
    else if (header->type == WIRE_TYPE_bench_poll)
        answer_poll(s, request, &value.bench_poll);
    else if (header->type == WIRE_TYPE_bench_take)
        answer_take(s, request);
    else
        answer_served(s, request, &value.bench_served);
}

static void serve(struct service *s)
{
    char why[WORKER_SESSION_WHY];
    struct pollfd wait = {.fd = control_server_fd(s->server), .events = POLLIN};
    while (!interrupt_requested()) {
        struct control_request *request;
        struct wire_header header;
        const void *body;
        (void)poll(&wait, 1, POLL_MS);
        while (!interrupt_requested() && control_recv(s->server, &request, &header, &body) == 1)
            answer(s, request, &header, body);
        if (s->session && clock_mono_ns() - s->asked_ns > MACHINE_WIRE_LEASE_NS) {
            fprintf(stderr, "iobench worker: its sweep has not been heard for 30 s and is given up\n");
            close_session(s, why);
        }
    }
    close_session(s, why);
}

static const char about[] =
    "Does its part of sweeps that another machine leads (iobench sweep --workers): the leader has it prepare each cell,\n"
    "releases all machines at one moment, and merges the figures. One sweep at a time.";

static const char closing[] =
    "Whoever reaches the address can have test files made in any directory that this user may write to, so listen only\n"
    "where you trust everybody. Ctrl-C removes the test files of a sweep that is under way.\n"
    "\n"
    "  iobench worker --listen 10.0.0.2:7070\n"
    "\n"
    "exit status: 0 interrupted while idle or at work, 1 cannot listen, 2 wrong usage";

int worker_command(int argc, char **argv)
{
    struct address listen = {0}, bound;
    const struct option_row rows[] = {
        {"listen", 'l', OPTION_ADDRESS, "HOST:PORT", "where sweeps reach it; port 0: any that is free", &listen, true, 0, 0, NULL},
        {0},
    };
    const struct options table = {"iobench worker", "--listen HOST:PORT", about, closing, rows, 0, 0};
    char **positional, text[ADDRESS_TEXT];
    int rc = options_parse(&table, argc, argv, &positional);
    if (rc != OPTIONS_GO_ON)
        return rc == OPTIONS_DONE ? 0 : 2;
    static struct service service;
    interrupt_install();
    environment_boot_id(service.boot_id, sizeof service.boot_id);
    rc = control_listen(&listen, &bound, &service.server);
    if (rc < 0) {
        fprintf(stderr, "iobench worker: cannot listen on %s: %s\n", units_format_address(&listen, text), strerror(-rc));
        return 1;
    }
    printf("listening on %s\n", units_format_address(&bound, text));
    (void)fflush(stdout);
    serve(&service);
    control_server_destroy(service.server);
    return 0;
}
