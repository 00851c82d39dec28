/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_nodes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunkserver/damage_list.h"
#include "chunkserver/data_service.h"
#include "chunkserver/master_link.h"
#include "chunkserver/store_files.h"
#include "common/check.h"
#include "common/log.h"
#include "common/stream.h"
#include "master/client_connections.h"
#include "master/data_directory.h"
#include "master/master_loop.h"
#include "master/server_control.h"
#include "tests/sim/sim_descriptors.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_network.h"

enum { CLIENT_PORT = 9421, CONTROL_PORT = 9420, DATA_PORT = 9422, LOG_LINES = 60, LOG_BYTES = 300, OPEN_LIMIT = 12 };

static struct sim_cluster cluster;
static bool is_up[SIM_NODES];
static struct master *current_master;
static struct store *stores[SIM_NODES];
static void *(*run_client)(void *argument);
static char log_lines[LOG_LINES][LOG_BYTES];
static unsigned log_count;

void sim_nodes_begin(const struct sim_cluster *chosen)
{
    cluster = *chosen;
    log_init("calf", LOG_INFO);
    sim_disk_on_crash(NULL);
}

const struct sim_cluster *sim_nodes_cluster(void)
{
    return &cluster;
}

void sim_nodes_set_client(void *(*run)(void *argument))
{
    run_client = run;
}

/* ---- log and verdict ---- */

/* Without the time and the program's name, which say nothing here. */
void sim_nodes_log(const char *text, size_t bytes)
{
    char *line = log_lines[log_count++ % LOG_LINES];
    const char *what = memchr(text, ' ', bytes);
    int length = what ? (int)(bytes - (size_t)(what - text)) : (int)bytes;
    (void)snprintf(line, LOG_BYTES, "%12.6f node %u:%.*s", (double)sim_now() / 1e9, sim_node(), length, what ? what : text);
    if (sim_is_printing())
        printf("%s", line);
}

void sim_violation(const char *format, ...)
{
    va_list arguments;
    printf("VIOLATION at %.6f s (node %u): ", (double)sim_now() / 1e9, sim_node());
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\nlast log lines:\n");
    unsigned first = log_count > LOG_LINES ? log_count - LOG_LINES : 0;
    for (unsigned i = first; i < log_count; i++)
        printf("  %s", log_lines[i % LOG_LINES]);
    (void)fflush(stdout);
    _exit(1);
}

/* ---- programs ---- */

static struct address address_of(unsigned node, uint16_t port)
{
    struct address address = {.port = port};
    (void)snprintf(address.host, sizeof address.host, "10.0.0.%u", node);
    return address;
}

static void wait_for_ever(void)
{
    static const char never;
    for (;;)
        (void)sim_wait(&never, SIM_NEVER);
}

/* What an administrator has made beforehand. */
static void make_directory(const char *name)
{
    struct sim_vnode *root = sim_disk_root(sim_node());
    if (!sim_vnode_entry(root, name))
        sim_vnode_add(root, name, sim_vnode_create(true));
    sim_vnode_sync(root);
}

static void *run_master(void *argument)
{
    struct master *master = check_alloc(calloc(1, sizeof *master));
    struct address clients = address_of(SIM_MASTER, CLIENT_PORT), control = address_of(SIM_MASTER, CONTROL_PORT);
    struct control_server *server;
    struct master_loop *loop;
    char why[DATA_DIRECTORY_WHY];
    int lock_fd, fd;
    make_directory("data");
    master->dir = "/data";
    master->sync = cluster.sync;
    master->session_timeout_ms = 30000;
    int rc = data_directory_lock(master->dir, true, &lock_fd);
    if (rc < 0)
        sim_violation("the master's directory cannot be locked: %s", strerror(-rc));
    if (!data_directory_has_cluster(master->dir))
        rc = data_directory_init(master->dir, CORE_CHUNK_BYTES_SMALL);
    if (rc == 0)
        rc = data_directory_open(master, why);
    if (rc < 0)
        sim_violation("the master does not start: %s", why);
    CHECK(master_loop_create(master, &loop) == 0 && control_listen(&control, NULL, &server) == 0 &&
          server_control_create(master, loop, server, &master->control) == 0 &&
          stream_listen(&clients, &fd, NULL) == 0 && client_connections_create(master, loop, fd, &master->clients) == 0);
    current_master = master;
    sim_trace("master", journal_epoch(master->journal), master->core.chunks.table.count);
    rc = master_loop_run(loop);
    sim_violation("the master ended by itself: %s", strerror(-rc));
    return argument;
}

static void refused(void)
{
    sim_violation("a chunkserver was refused by its master");
}

static void *run_server(void *argument)
{
    unsigned node = sim_node();
    struct address bound, listen = address_of(node, DATA_PORT);
    struct serve_counters *counters = check_alloc(calloc(1, sizeof *counters));
    struct damage_list *damage = check_alloc(calloc(1, sizeof *damage));
    struct store *store;
    int fd;
    damage_list_init(damage, counters);
    struct store_files_options options = {.path = "/store", .size_bytes = cluster.store_bytes,
                                          .watch = {damage_list_note, damage}, .open_limit = OPEN_LIMIT};
    make_directory("store");
    int rc;
    while ((rc = store_files_open(&options, &store)) == -EIO)
        sim_sleep(NS_PER_S); /* its disk fails: it is started again and again */
    if (rc < 0)
        sim_violation("a chunkserver's store does not open: %s", strerror(-rc));
    stores[node] = store;
    CHECK(stream_listen(&listen, &fd, &bound) == 0);
    (void)data_service_create(fd, store, counters);
    struct master_link_options link_options = {.master = address_of(SIM_MASTER, CONTROL_PORT), .advertise = bound,
                                               .store = store, .counters = counters, .damage = damage,
                                               .refused = refused};
    struct master_link *link;
    CHECK(master_link_create(&link_options, &link) == 0);
    wait_for_ever();
    return argument;
}

int sim_nodes_mount(struct fs **fs)
{
    char name[16];
    (void)snprintf(name, sizeof name, "client%u", sim_node());
    struct fs_options options = {
        .master = address_of(SIM_MASTER, CLIENT_PORT), .retry_ns = SIM_RETRY_NS, .node = name};
    return fs_mount(&options, fs);
}

/* ---- life ---- */

bool sim_node_is_up(unsigned node)
{
    return is_up[node];
}

void sim_node_start(unsigned node)
{
    CHECK(!is_up[node]);
    is_up[node] = true;
    sim_network_power(node, true);
    sim_trace("start", node, 0);
    (void)sim_spawn(node, node == SIM_MASTER ? run_master : node < SIM_CLIENT_FIRST ? run_server : run_client, NULL);
}

void sim_node_kill(unsigned node, bool with_power)
{
    sim_trace("kill", node, with_power);
    if (node == SIM_MASTER)
        current_master = NULL;
    stores[node] = NULL;
    is_up[node] = false;
    sim_disk_faults(node)->crash_in = 0;
    if (with_power) {
        sim_network_power(node, false);
        sim_disk_lose_power(node);
    }
    sim_descriptor_close_all(node);
    sim_drop_node(node);
}

struct master *sim_nodes_master(void)
{
    return current_master;
}

struct store *sim_nodes_store(unsigned node)
{
    return stores[node];
}
