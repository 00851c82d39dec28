/* SPDX-License-Identifier: Apache-2.0
 *
 * calf-chunkserver: options, then a store, a data service and a link to the master, until a signal.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chunkserver/damage_list.h"
#include "chunkserver/data_service.h"
#include "chunkserver/master_link.h"
#include "chunkserver/scrub.h"
#include "chunkserver/serve_counters.h"
#include "chunkserver/shm_listen.h"
#include "chunkserver/store_files.h"
#include "common/log.h"
#include "common/options.h"
#include "common/shared_memory.h"
#include "common/stream.h"
#include "common/units.h"

enum { EXIT_FAILED = 1, EXIT_WRONG = 2, SIZE_MIN = 1 << 20 };

struct chunkserver_options {
    const char *store, *shm;
    char shm_full[SHARED_MEMORY_DIRECTORY_LIMIT + 1];
    uint64_t size_bytes;
    struct address master, listen, advertise;
    bool advertise_given, prefault;
    uint64_t scrub;
    unsigned log_level, kind;
};

enum store_kind { STORE_RAM, STORE_DISK };

static struct serve_counters counters;
static struct damage_list damage;
static volatile sig_atomic_t was_refused;

static void refused(void)
{
    was_refused = 1;
    (void)kill(getpid(), SIGTERM);
}

static int parse(int argc, char **argv, struct chunkserver_options *o)
{
    *o = (struct chunkserver_options){.listen = {.host = "127.0.0.1", .port = 9422}, .scrub = 1 << 20, .log_level = LOG_INFO};
    struct option_row rows[] = {
        {.name = "store", .kind = OPTION_TEXT, .argument = "DIR", .target = &o->store, .required = true,
         .help = "directory of the chunks, which must exist; an empty one becomes a store"},
        {.name = "size", .kind = OPTION_SIZE, .argument = "BYTES", .target = &o->size_bytes, .required = true,
         .min = SIZE_MIN, .help = "how much of it to use; k, m, g, t are powers of 1024"},
        {.name = "master", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .target = &o->master, .required = true,
         .help = "control address of the master"},
        {.name = "listen", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .target = &o->listen,
         .help = "where to serve data (127.0.0.1:9422); port 0: any; no host: all addresses"},
        {.name = "advertise", .kind = OPTION_ADDRESS, .argument = "HOST:PORT", .target = &o->advertise,
         .given = &o->advertise_given,
         .help = "where clients and other servers reach it, if not where it listens; port 0: the same"},
        {.name = "store-kind", .kind = OPTION_CHOICE, .argument = "ram|disk", .target = &o->kind,
         .help = "what DIR lies on (ram); disk: O_DIRECT, and nothing is acknowledged before the device has it"},
        {.name = "shm", .kind = OPTION_TEXT, .argument = "DIR", .target = &o->shm,
         .help = "share memory with clients that name the same directory (calf-mount --shm); others use TCP"},
        {.name = "prefault", .kind = OPTION_FLAG, .target = &o->prefault,
         .help = "touch all memory of the store before serving"},
        {.name = "scrub", .kind = OPTION_SIZE, .argument = "BYTES", .target = &o->scrub, .max = UINT64_C(1) << 40,
         .help = "of data compared with its checksums in a second, to find rot (1m: 0.05% of a core, 1 GiB in 17 minutes); "
                 "an eighth of that while it is busy; 0: never"},
        {.name = "log", .kind = OPTION_CHOICE, .argument = "error|warning|info|debug", .target = &o->log_level,
         .help = "least important lines to write (info)"},
        {.name = NULL},
    };
    struct options options = {
        .program = "calf-chunkserver",
        .usage = "--store DIR --size BYTES --master HOST:PORT [options]",
        .about = "Stores chunks of a calf cluster in a directory, usually a RAM disk, and serves them to clients and other\n"
                 "chunkservers.",
        .closing = "Ends on SIGTERM and SIGINT. Exit status: 0 ended, 1 failed, 2 wrong usage or input.",
        .rows = rows,
    };
    char **positional;
    int rc = options_parse(&options, argc, argv, &positional);
    if (rc == OPTIONS_GO_ON && o->shm && !shared_memory_directory("calf-chunkserver", o->shm, o->shm_full))
        return OPTIONS_WRONG;
    return rc;
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool listens_anywhere(const struct address *address)
{
    return address->host[0] == '\0' || strcmp(address->host, "0.0.0.0") == 0 || strcmp(address->host, "::") == 0;
}

/* The socket for shared memory is named by the id that the master gave. */
struct sharing {
    const char *directory;
    struct data_service *service;
    bool started;
};

static void registered(void *context, uint32_t server_id)
{
    struct sharing *sharing = context;
    if (!sharing->directory || sharing->started)
        return;
    sharing->started = shm_listen_start(sharing->directory, server_id, sharing->service) == 0;
}

/* What clients are told. Host empty: the link finds out. */
static struct address advertised(const struct chunkserver_options *o, const struct address *bound)
{
    struct address a = o->advertise_given ? o->advertise : *bound;
    if (a.port == 0)
        a.port = bound->port;
    if (listens_anywhere(&a))
        a.host[0] = '\0';
    return a;
}

/* Waits until it is told to end; all threads have these signals blocked. */
static int wait_for_end(const sigset_t *signals)
{
    int number;
    while (sigwait(signals, &number) != 0) {
    }
    if (was_refused)
        return EXIT_FAILED;
    log_info("ends: signal %d", number);
    return 0;
}

static int serve(const struct chunkserver_options *o, const sigset_t *signals, int listen_fd,
                 const struct address *bound, struct store *store)
{
    char text[ADDRESS_TEXT];
    struct data_service *service = data_service_create(listen_fd, store, &counters);
    struct sharing sharing = {.directory = o->shm ? o->shm_full : NULL, .service = service};
    struct master_link_options link_options = {.master = o->master,
                                               .advertise = advertised(o, bound),
                                               .store = store,
                                               .counters = &counters,
                                               .damage = &damage,
                                               .prefault = o->prefault,
                                               .registered = registered,
                                               .context = &sharing,
                                               .refused = refused};
    struct scrub *scrub = o->scrub ? scrub_create(store, &counters, o->scrub) : NULL;
    struct master_link *link;
    log_info("serves on %s", units_format_address(bound, text));
    int status = EXIT_FAILED, rc = master_link_create(&link_options, &link);
    if (rc < 0) {
        log_error("--master %s: %s", units_format_address(&o->master, text), strerror(-rc));
    } else {
        status = wait_for_end(signals);
        master_link_destroy(link);
    }
    scrub_destroy(scrub);
    data_service_destroy(service);
    return status;
}

static bool is_wrong_input(int rc)
{
    return rc == -ENOENT || rc == -ENOTDIR || rc == -ENOTEMPTY || rc == -EUCLEAN;
}

int main(int argc, char **argv)
{
    struct chunkserver_options o;
    int rc = parse(argc, argv, &o);
    if (rc != OPTIONS_GO_ON)
        return rc == OPTIONS_DONE ? 0 : EXIT_WRONG;
    log_init("calf-chunkserver", (enum log_level)o.log_level);
    raise_descriptor_limit();
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    damage_list_init(&damage, &counters);

    struct store_files_options store_options = {
        .path = o.store, .size_bytes = o.size_bytes, .durable = o.kind == STORE_DISK, .watch = {damage_list_note, &damage}};
    struct store *store;
    rc = store_files_open(&store_options, &store);
    if (rc < 0)
        return is_wrong_input(rc) ? EXIT_WRONG : EXIT_FAILED;
    struct address bound;
    int listen_fd;
    int status = EXIT_FAILED;
    rc = stream_listen(&o.listen, &listen_fd, &bound);
    if (rc < 0) {
        char text[ADDRESS_TEXT];
        log_error("cannot listen on %s: %s (see --listen)", units_format_address(&o.listen, text), strerror(-rc));
    } else {
        status = serve(&o, &signals, listen_fd, &bound, store);
    }
    store->ops->destroy(store);
    damage_list_fini(&damage);
    return status;
}
