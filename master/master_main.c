/* SPDX-License-Identifier: Apache-2.0
 *
 * calf-master: options, then the state from its directory, sockets, and the event loop, until a signal.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/log.h"
#include "common/options.h"
#include "common/stream.h"
#include "master/client_connections.h"
#include "master/data_directory.h"
#include "master/master_loop.h"
#include "master/server_control.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command_line {
    const char *data;
    bool init, init_only;
    unsigned geometry, journal_sync;
    bool geometry_given;
    struct address listen, control;
    uint64_t session_timeout_s, repair_after_s;
    const char *log_level;
};

static int parse(int argc, char **argv, struct command_line *line)
{
    const struct option_row rows[] = {
        {.name = "data", .kind = OPTION_TEXT, .argument = "DIR", .target = &line->data, .required = true,
         .help = "where journal and snapshots are"},
        {.name = "init", .kind = OPTION_FLAG, .target = &line->init,
         .help = "make a new cluster in DIR, which must not hold one, and serve it"},
        {.name = "init-only", .kind = OPTION_FLAG, .target = &line->init_only,
         .help = "with --init: end when the cluster is made, for whoever is started with one command line for ever"},
        {.name = "geometry", .kind = OPTION_CHOICE, .argument = "normal|small", .target = &line->geometry,
         .given = &line->geometry_given, 
         .help = "with --init: chunks of 64 MiB (normal) or, for tests, 64 KiB (small)"},
        {.name = "listen", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .target = &line->listen,
         .help = "where clients connect; default 127.0.0.1:9421; port 0: any free one"},
        {.name = "control", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .target = &line->control,
         .help = "where chunkservers and administrators connect; default 127.0.0.1:9420"},
        {.name = "journal-sync", .kind = OPTION_CHOICE, .argument = "interval|always", .target = &line->journal_sync,
         .help = "acknowledge when the journal is written, and sync it each second (interval, default), or when it "
                 "is on the disk (always)"},
        {.name = "session-timeout", .kind = OPTION_NUMBER, .argument = "SECONDS", .target = &line->session_timeout_s,
         .min = 1, .max = 86400, .help = "a client that is silent for longer loses its session; default 30"},
        {.name = "repair-after", .kind = OPTION_NUMBER, .argument = "SECONDS", .target = &line->repair_after_s, .min = 1,
         .max = 86400, .help = "copies on a chunkserver that is away for longer are made anew elsewhere; default 10"},
        {.name = "log", .kind = OPTION_TEXT, .argument = "LEVEL", .target = &line->log_level,
         .help = "error, warning, info (default) or debug"},
        {.name = NULL},
    };
    const struct options options = {
        .program = "calf-master",
        .usage = "--data DIR [--init] [options]",
        .about = "The metadata master of a calf cluster: name space, chunk table, sessions.",
        .closing = "Example: calf-master --data /var/lib/calf --init\n"
                   "Exit status: 0 ended by SIGTERM or SIGINT, 1 failed, 2 wrong usage or directory.",
        .rows = rows,
    };
    char **positional;
    enum log_level level = LOG_INFO;
    int rc = options_parse(&options, argc, argv, &positional);
    if (rc != OPTIONS_GO_ON)
        return rc;
    if (line->log_level && log_level_parse(line->log_level, &level) < 0) {
        fprintf(stderr, "calf-master: --log %s: error, warning, info or debug (try --help)\n", line->log_level);
        return OPTIONS_WRONG;
    }
    if (line->geometry_given && !line->init) {
        fprintf(stderr, "calf-master: --geometry is chosen once, with --init (try --help)\n");
        return OPTIONS_WRONG;
    }
    if (line->init_only && !line->init) {
        fprintf(stderr, "calf-master: --init-only goes with --init (try --help)\n");
        return OPTIONS_WRONG;
    }
    log_init("calf-master", level);
    return OPTIONS_GO_ON;
}

/* The directory, locked, with a cluster in it. 0, or an exit status. */
static int prepare_directory(const struct command_line *line, int *lock_fd)
{
    int rc = data_directory_lock(line->data, line->init, lock_fd);
    if (rc == -ENOENT) {
        fprintf(stderr, "calf-master: %s: no such directory%s\n", line->data,
                line->init ? "" : "; --init makes it and a new cluster in it");
        return EXIT_USAGE;
    }
    if (rc < 0) {
        fprintf(stderr, "calf-master: %s: %s\n", line->data,
                rc == -EBUSY ? "another master is running in it" : strerror(-rc));
        return rc == -ENOTDIR ? EXIT_USAGE : EXIT_FAILED;
    }
    if (line->init && data_directory_has_cluster(line->data)) {
        fprintf(stderr, "calf-master: --init: %s holds a cluster already; start without --init to serve it\n",
                line->data);
        return EXIT_USAGE;
    }
    if (!line->init && !data_directory_has_cluster(line->data)) {
        fprintf(stderr, "calf-master: %s holds no cluster; --init makes one\n", line->data);
        return EXIT_USAGE;
    }
    if (line->init && !data_directory_is_empty(line->data)) {
        fprintf(stderr, "calf-master: --init: %s holds other files; a new cluster wants a directory of its own\n",
                line->data);
        return EXIT_USAGE;
    }
    if (line->init)
        rc = data_directory_init(line->data, line->geometry ? CORE_CHUNK_BYTES_SMALL : CORE_CHUNK_BYTES_NORMAL);
    if (rc < 0) {
        fprintf(stderr, "calf-master: --init: %s: %s\n", line->data, strerror(-rc));
        return EXIT_FAILED;
    }
    return 0;
}

/* Signals are for the event loop alone, whatever threads others begin. */
static void block_signals(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* As many descriptors as the system lets a process have. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int fail_at(const char *option, const struct address *address, int rc)
{
    char text[ADDRESS_TEXT];
    log_error("%s %s: %s", option, units_format_address(address, text), strerror(-rc));
    return EXIT_FAILED;
}

/* Opens the sockets and says where. 0, or an exit status. */
static int open_sockets(struct master *master, struct master_loop *loop, const struct command_line *line)
{
    struct address clients, control;
    struct control_server *server;
    char text[2][ADDRESS_TEXT];
    int fd, rc = control_listen(&line->control, &control, &server);
    if (rc < 0)
        return fail_at("--control", &line->control, rc);
    rc = server_control_create(master, loop, server, &master->control);
    if (rc < 0)
        return fail_at("--control", &line->control, rc);
    rc = stream_listen(&line->listen, &fd, &clients);
    if (rc == 0)
        rc = client_connections_create(master, loop, fd, &master->clients);
    if (rc < 0)
        return fail_at("--listen", &line->listen, rc);
    log_info("cluster %016llx: serves clients at %s, chunkservers and administrators at %s",
             (unsigned long long)master->core.cluster, units_format_address(&clients, text[0]),
             units_format_address(&control, text[1]));
    return 0;
}

static int serve(struct master *master, const struct command_line *line)
{
    struct master_loop *loop;
    int rc = master_loop_create(master, &loop);
    if (rc < 0) {
        log_error("event loop: %s", strerror(-rc));
        return EXIT_FAILED;
    }
    int status = open_sockets(master, loop, line);
    if (status == 0 && master_loop_run(loop) < 0)
        status = EXIT_FAILED;
    client_connections_destroy(master->clients);
    server_control_destroy(master->control);
    master_loop_destroy(loop);
    return status;
}

int main(int argc, char **argv)
{
    struct command_line line = {.listen = {.host = "127.0.0.1", .port = 9421},
                                .control = {.host = "127.0.0.1", .port = 9420},
                                .session_timeout_s = 30,
                                .repair_after_s = 10};
    char why[DATA_DIRECTORY_WHY];
    int lock_fd = -1;
    log_init("calf-master", LOG_INFO);
    int rc = parse(argc, argv, &line);
    if (rc != OPTIONS_GO_ON)
        return rc == OPTIONS_DONE ? 0 : EXIT_USAGE;
    int status = prepare_directory(&line, &lock_fd);
    if (status || line.init_only)
        return status;
    raise_limits();
    block_signals();
    static struct master master;
    master.dir = line.data;
    master.sync = line.journal_sync ? JOURNAL_SYNC_ALWAYS : JOURNAL_SYNC_INTERVAL;
    master.session_timeout_ms = (uint32_t)line.session_timeout_s * 1000;
    rc = data_directory_open(&master, why);
    master.core.repair.patience_ns = (int64_t)line.repair_after_s * NS_PER_S;
    if (rc < 0) {
        fprintf(stderr, "calf-master: %s\n", why);
        return EXIT_FAILED;
    }
    status = serve(&master, &line);
    journal_close(master.journal);
    core_fini(&master.core);
    (void)close(lock_fd);
    return status;
}
