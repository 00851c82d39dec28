/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of `calf` against a master and a mount that are played: a control server in a thread, and a
 * directory with the extended attributes that a mount would answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include "client/admin_check.h"
#include "client/admin_cluster.h"
#include "client/admin_commands.h"
#include "client/admin_du.h"
#include "client/admin_files.h"
#include "client/admin_table.h"
#include "common/control.h"
#include "tests/unit/scratch_dir.h"

enum { OUTPUT_LIMIT = 8192 };

static char dir[SCRATCH_PATH], complaint[OUTPUT_LIMIT], *output;
static size_t output_bytes;

static int setup(void **state)
{
    (void)state;
    scratch_make(dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove(dir);
    free(output);
    output = NULL;
    return 0;
}

/* Runs a command; what it printed is then in output, and what it complained about in complaint. */
static int run(const struct address *master, int json, ...)
{
    char *arguments[8] = {NULL};
    struct admin admin = {.master = *master, .json = json != 0};
    va_list args;
    va_start(args, json);
    for (int i = 0; i < 7 && (arguments[i] = va_arg(args, char *)); i++) {
    }
    va_end(args);
    free(output);
    admin.out = open_memstream(&output, &output_bytes);
    FILE *caught = tmpfile();
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    (void)dup2(fileno(caught), STDERR_FILENO);
    int status = admin_commands_run(&admin, arguments);
    fflush(stderr);
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    rewind(caught);
    complaint[fread(complaint, 1, sizeof complaint - 1, caught)] = '\0';
    (void)fclose(caught);
    (void)fclose(admin.out);
    return status;
}

static const struct address nobody = {"127.0.0.1", 1};

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static void expect_one_line(const char *part)
{
    expect(complaint, part);
    assert_int_equal(strncmp(complaint, "calf: ", 6), 0);
    assert_ptr_equal(strchr(complaint, '\n'), complaint + strlen(complaint) - 1);
}

/* ---- table ---- */

static void test_table(void **state)
{
    (void)state;
    struct admin_table table;
    static const char *const cells[] = {"a", "1", "x", "long one", "1000", "yy"};
    admin_table_init(&table, "lrl");
    for (int i = 0; i < 6; i++)
        admin_table_cell(&table, "%s", cells[i]);
    FILE *out = open_memstream(&output, &output_bytes);
    admin_table_print(&table, 2, out);
    (void)fclose(out);
    admin_table_fini(&table);
    assert_string_equal(output, "  a            1  x\n  long one  1000  yy\n");
}

/* ---- a master that is played ---- */

struct master {
    struct control_server *server;
    struct address address;
    pthread_t thread;
    int stop[2]; /* a pipe */
    uint16_t status;
    _Atomic uint32_t snapshot_failures;
};

static void answer_servers(struct control_server *server, struct control_request *request, uint16_t status)
{
    uint8_t room[1024];
    struct wire_out out = wire_out_on(room, sizeof room);
    union wire_any reply = {.admin_servers_reply = {.servers = {0}}};
    struct wire_server_state one = {
        .server = {.id = 7, .host = wire_text("node-a"), .port = 9422}, .connected = 1, .total_bytes = 4 * GIB,
        .used_bytes = GIB, .chunks = 16, .counters = {.read_bytes = 5 * MIB, .damaged_blocks = 3, .shm_clients = 4},
        .since_poll_ms = 400};
    struct wire_server_state two = {.server = {.id = 12, .host = wire_text("::1"), .port = 1},
                                    .since_poll_ms = 90061000};
    assert_true(wire_append_server_state(&out, &reply.admin_servers_reply.servers, &one));
    assert_true(wire_append_server_state(&out, &reply.admin_servers_reply.servers, &two));
    control_reply(server, request, status, &reply);
}

static void *serve(void *argument)
{
    struct master *master = argument;
    struct pollfd fds[2] = {{.fd = control_server_fd(master->server), .events = POLLIN},
                            {.fd = master->stop[0], .events = POLLIN}};
    while (poll(fds, 2, -1) >= 0 && !fds[1].revents) {
        struct control_request *request;
        struct wire_header header;
        const void *body;
        union wire_any reply = {.admin_status_reply = {
            .cluster = UINT64_C(0xfedcba9876543210), .uptime_ms = 3723000, .journal = wire_text("interval"),
            .total_bytes = 4 * GIB, .used_bytes = GIB, .servers = 2, .servers_connected = 2, .sessions = 1, .files = 10,
            .directories = 3, .chunks = 16, .damaged_blocks = 3, .journal_bytes = 3 * MIB,
            .snapshot_age_ms = master->snapshot_failures ? 30 * UINT64_C(86400000) : UINT64_MAX,
            .snapshot_failures = master->snapshot_failures}};
        if (control_recv(master->server, &request, &header, &body) != 1)
            continue;
        if (header.type == WIRE_TYPE_admin_status)
            control_reply(master->server, request, master->status, &reply);
        else
            answer_servers(master->server, request, master->status);
    }
    return NULL;
}

static void start_master(struct master *master, uint16_t status)
{
    struct address any = {"127.0.0.1", 0};
    master->status = status;
    master->snapshot_failures = 0;
    assert_int_equal(control_listen(&any, &master->address, &master->server), 0);
    assert_int_equal(pipe(master->stop), 0);
    assert_int_equal(pthread_create(&master->thread, NULL, serve, master), 0);
}

static void stop_master(struct master *master)
{
    assert_int_equal(write(master->stop[1], "", 1), 1);
    (void)pthread_join(master->thread, NULL);
    (void)close(master->stop[0]);
    (void)close(master->stop[1]);
    control_server_destroy(master->server);
}

static void test_status(void **state)
{
    (void)state;
    struct master master;
    start_master(&master, WIRE_OK);
    assert_int_equal(run(&master.address, false, "status", NULL), ADMIN_DONE);
    expect(output, "good\n");
    expect(output, "1.00 GiB of 4.00 GiB used (25.0%)\n");
    expect(output, "2 of 2 connected\n");
    expect(output, "interval, 3.00 MiB\n");
    expect(output, "none yet\n");
    expect(output, "1 h 2 min\n");
    expect(output, "fedcba9876543210\n");
    assert_int_equal(run(&master.address, true, "status", NULL), ADMIN_DONE);
    json_t *value = json_loads(output, 0, NULL);
    assert_non_null(value);
    assert_int_equal(json_integer_value(json_object_get(value, "servers_connected")), 2);
    assert_int_equal(json_integer_value(json_object_get(value, "damaged_blocks")), 3);
    assert_string_equal(json_string_value(json_object_get(value, "cluster")), "fedcba9876543210");
    assert_string_equal(json_string_value(json_object_get(value, "journal")), "interval");
    json_decref(value);
    master.snapshot_failures = 43200; /* for a month, each minute */
    assert_int_equal(run(&master.address, false, "status", NULL), ADMIN_DONE);
    expect(output, "snapshots fail: 43200 tries since the last good one\n");
    expect(output, "30 d 0 h ago, and not since (see the master's log)\n");
    stop_master(&master);
}

static void test_servers(void **state)
{
    (void)state;
    struct master master;
    start_master(&master, WIRE_OK);
    assert_int_equal(run(&master.address, false, "servers", NULL), ADMIN_DONE);
    expect(output, " 7  node-a:9422  online  1.00 GiB  4.00 GiB  25.0%      16  5.00 MiB      0 B               3"
                   "  shm               0.4 s\n");
    expect(output, "12  [::1]:1      away ");
    expect(output, " 1 d 1 h\n");
    assert_int_equal(run(&master.address, true, "servers", NULL), ADMIN_DONE);
    expect(output, "\"online\": true");
    json_t *value = json_loads(output, 0, NULL), *one = json_array_get(json_object_get(value, "servers"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "host")), "node-a");
    assert_int_equal(json_integer_value(json_object_get(one, "read_bytes")), 5 * MIB);
    assert_null(json_object_get(one, "connected"));
    assert_string_equal(json_string_value(json_object_get(one, "transport")), "shm");
    json_decref(value);
    stop_master(&master);
}

static void test_no_master(void **state)
{
    (void)state;
    struct master master;
    assert_int_equal(run(&nobody, false, "status", NULL), ADMIN_FAILED);
    expect_one_line("127.0.0.1:1: Connection refused");
    assert_int_equal(run(&nobody, true, "servers", NULL), ADMIN_FAILED);
    expect_one_line("127.0.0.1:1: Connection refused");
    start_master(&master, WIRE_BUSY);
    assert_int_equal(run(&master.address, false, "status", NULL), ADMIN_FAILED);
    expect_one_line(": busy");
    stop_master(&master);
}

static void test_health(void **state)
{
    (void)state;
    static const struct {
        struct wire_admin_status_reply status;
        const char *text;
    } cases[] = {
        {{.servers = 2, .servers_connected = 1}, "chunkservers away: 1"},
        {{.servers = 0}, "no chunkserver has registered yet"},
        {{.servers = 1, .servers_connected = 1, .chunks_below_goal = 4}, "chunks with fewer copies than wanted: 4"},
        {{.servers = 1, .servers_connected = 1, .chunks_below_goal = 4, .damaged_copies = 5}, "damaged copies: 5"},
        {{.servers = 1, .damaged_copies = 5, .chunks_missing = 6}, "chunks without a valid copy that can be reached: 6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        free(output);
        struct admin admin = {.out = open_memstream(&output, &output_bytes)};
        admin_cluster_print_status(&admin, &cases[i].status);
        (void)fclose(admin.out);
        expect(output, cases[i].text);
    }
}

static void test_usage(void **state)
{
    (void)state;
    assert_int_equal(run(&nobody, false, "fly", NULL), ADMIN_WRONG);
    expect_one_line("fly: no such command");
    assert_int_equal(run(&nobody, false, "goal", NULL), ADMIN_WRONG);
    expect_one_line("goal: get PATH, or set N PATH...");
    assert_int_equal(run(&nobody, false, "goal", "get", NULL), ADMIN_WRONG);
    expect_one_line("an argument is missing (usage: calf goal get PATH)");
    assert_int_equal(run(&nobody, false, "status", "now", NULL), ADMIN_WRONG);
    expect_one_line("too many arguments (usage: calf status)");
    assert_int_equal(run(&nobody, false, "goal", "set", "17", dir, NULL), ADMIN_WRONG);
    expect_one_line("17: not a number of copies (1 to 16)");
}

/* ---- a mount that is played ---- */

static const char two_chunks[] =
    "[{\"index\": 0, \"id\": 100, \"version\": 1, \"server\": 1, \"host\": \"10.0.0.1\", \"port\": 9422,"
    "  \"state\": \"valid\"},"
    " {\"index\": 0, \"id\": 100, \"version\": 1, \"server\": 2, \"host\": \"10.0.0.2\", \"port\": 9422,"
    "  \"state\": \"away\"},"
    " {\"index\": 3, \"id\": 104, \"version\": 2}]";

/* Makes a file with a goal and these chunks. Its path, or NULL where the file system has no such attributes. */
static const char *make_file(const char *chunks)
{
    static char path[2 * SCRATCH_PATH];
    assert_int_equal(scratch_write(dir, "file", "0123456789", 10), 0);
    (void)scratch_path(dir, "file", path);
    if (setxattr(path, "user.calf.goal", "2", 1, 0) < 0)
        return NULL;
    assert_int_equal(setxattr(path, "user.calf.chunks.0", chunks, strlen(chunks), 0), 0);
    return path;
}

static const char *require_file(const char *chunks)
{
    const char *path = make_file(chunks);
    if (!path) {
        print_message("SKIP: %s has no user extended attributes (set TMPDIR)\n", dir);
        skip();
    }
    return path;
}

static void test_file(void **state)
{
    (void)state;
    const char *path = require_file(two_chunks);
    assert_int_equal(run(&nobody, false, "file", path, NULL), ADMIN_DONE);
    expect(output, "/file: 10 B, goal 2, 2 chunks\n"
                   "  chunk   id  version  server  address        state\n"
                   "      0  100        1       1  10.0.0.1:9422  valid\n"
                   "                            2  10.0.0.2:9422  away\n"
                   "      3  104        2       -  -              no copy\n");
    assert_int_equal(run(&nobody, true, "file", path, NULL), ADMIN_DONE);
    json_t *value = json_loads(output, 0, NULL), *chunks = json_object_get(value, "chunks");
    assert_int_equal(json_array_size(chunks), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(chunks, 0), "copies")), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(chunks, 1), "copies")), 0);
    assert_int_equal(json_integer_value(json_object_get(value, "size")), 10);
    json_decref(value);
}

static void test_file_nonsense(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{}", "[1]", "[{\"index\": \"x\"}]", "[{\"index\": 0, \"id\": 1}", "[[]]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *path = require_file(texts[i]);
        assert_int_equal(run(&nobody, i % 2, "file", path, NULL), ADMIN_FAILED);
        expect_one_line("not understood");
        assert_string_equal(output, "");
    }
}

static void test_goal(void **state)
{
    (void)state;
    const char *path = require_file("[]");
    char text[8] = "";
    assert_int_equal(run(&nobody, false, "goal", "get", path, NULL), ADMIN_DONE);
    assert_string_equal(output, "2\n");
    assert_int_equal(run(&nobody, false, "goal", "set", "3", path, path, NULL), ADMIN_DONE);
    assert_int_equal(getxattr(path, "user.calf.goal", text, sizeof text), 1);
    assert_int_equal(text[0], '3');
    assert_int_equal(run(&nobody, true, "goal", "get", path, NULL), ADMIN_DONE);
    expect(output, "\"goal\": 3");
}

static void test_not_on_a_mount(void **state)
{
    (void)state;
    static const char *const commands[] = {"file", "check"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(&nobody, false, commands[i], dir, NULL), ADMIN_WRONG);
        expect_one_line("not on a calf mount");
        assert_int_equal(run(&nobody, false, commands[i], "/nonexistent/x", NULL), ADMIN_WRONG);
        expect_one_line("/nonexistent/x: No such file");
    }
    assert_int_equal(run(&nobody, false, "goal", "set", "2", dir, NULL), ADMIN_WRONG);
    expect_one_line("not on a calf mount");
    assert_int_equal(getxattr(dir, "user.calf.goal", NULL, 0), -1);
}

/* ---- check ---- */

struct failures {
    int count, error;
    uint64_t offset;
};

static void count_failure(void *context, const char *path, uint64_t offset, int error)
{
    struct failures *failures = context;
    (void)path;
    failures->count++;
    failures->offset = offset;
    failures->error = error;
}

static void test_check(void **state)
{
    (void)state;
    struct failures failures = {0};
    const struct admin_check_calls calls = {&failures, count_failure, NULL};
    struct admin_check_result result;
    char path[2 * SCRATCH_PATH], big[70000] = {0};
    assert_int_equal(scratch_write(dir, "small", "abc", 3), 0);
    assert_int_equal(scratch_write(dir, "big", big, sizeof big), 0);
    assert_int_equal(symlink("/nonexistent", scratch_path(dir, "link", path)), 0);
    assert_int_equal(mkfifo(scratch_path(dir, "fifo", path), 0600), 0);
    assert_int_equal(admin_check_walk(dir, &calls, &result), 0);
    assert_int_equal(result.files, 2);
    assert_int_equal(result.bytes, 70003);
    assert_int_equal(result.failed, 0);
    assert_int_equal(failures.count, 0);
    /* Nothing is mapped at address 0, so reading it there fails. */
    assert_int_equal(admin_check_walk("/proc/self/mem", &calls, &result), 0);
    assert_int_equal(result.failed, 1);
    assert_int_equal(failures.error, EIO);
    assert_int_equal(failures.offset, 0);
    assert_int_equal(admin_check_walk("/nonexistent", &calls, &result), -ENOENT);
}

static void test_check_command(void **state)
{
    (void)state;
    const char *path = require_file("[]");
    assert_int_equal(run(&nobody, false, "check", path, NULL), ADMIN_DONE);
    assert_string_equal(output, "1 files, 10 B read, 0 failed; 0 copies of chunks, 0 bad\n");
    assert_int_equal(run(&nobody, true, "check", path, NULL), ADMIN_DONE);
    expect(output, "\"failed\": []");
}

static int two_copies(void *context, const char *path)
{
    (void)path;
    ++*(int *)context;
    return 2;
}

static void test_du(void **state)
{
    (void)state;
    struct admin_du_total total;
    char path[2 * SCRATCH_PATH], other[2 * SCRATCH_PATH], data[5000] = {1};
    struct stat st;
    int asked = 0;
    assert_int_equal(scratch_write(dir, "big", data, sizeof data), 0);
    assert_int_equal(link(scratch_path(dir, "big", path), scratch_path(dir, "again", other)), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(scratch_write(dir, "hole", data, 0), 0);
    assert_int_equal(truncate(scratch_path(dir, "hole", path), 1 << 30), 0);
    assert_int_equal(symlink("/nonexistent", scratch_path(dir, "link", path)), 0);
    assert_int_equal(admin_du_walk(dir, two_copies, &asked, &total), 0);
    assert_int_equal(total.files, 3);
    assert_int_equal(total.directories, 1);
    assert_int_equal(total.apparent_bytes, sizeof data + (1 << 30));
    assert_int_equal(total.used_bytes, st.st_blocks * 512);
    assert_int_equal(total.stored_bytes, 2 * st.st_blocks * 512);
    assert_int_equal(total.failed, 0);
    assert_int_equal(asked, 1);
    assert_int_equal(admin_du_walk("/nonexistent", two_copies, &asked, &total), -ENOENT);
}

static void test_du_command(void **state)
{
    (void)state;
    const char *path = require_file("[]");
    assert_int_equal(run(&nobody, false, "du", path, NULL), ADMIN_DONE);
    expect(output, ": 1 files, 0 directories; 10 B long, ");
    assert_int_equal(run(&nobody, true, "du", path, NULL), ADMIN_DONE);
    expect(output, "\"apparent_bytes\": 10");
    assert_int_equal(run(&nobody, false, "du", "/proc", NULL), ADMIN_WRONG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_table), TEST(test_status), TEST(test_servers), TEST(test_no_master), TEST(test_health),
        TEST(test_usage), TEST(test_file), TEST(test_file_nonsense), TEST(test_goal), TEST(test_not_on_a_mount),
        TEST(test_check), TEST(test_check_command), TEST(test_du), TEST(test_du_command),
    };
    (void)setenv("TMPDIR", "/tmp", 0); /* the memory file system of older kernels has no user attributes */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
