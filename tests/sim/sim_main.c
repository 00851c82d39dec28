/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole cluster in one process: the archives that the programs link, on fibers, with a fake clock, network and disks.
 * Each seed is one run, in a process of its own; the same seed of the same program gives the same run.
 *
 *     build/release/bin/sim                        seeds 1 to 1000, on all processors
 *     build/release/bin/sim --first 5001 --seeds 500
 *     build/release/bin/sim --seed 17 --trace      one seed again, each step printed
 *     build/release/bin/sim --twice --seeds 20     each seed twice: the steps must be the same
 *
 * Exit status: 0 all seeds passed; 1 some failed (each with a line "seed N FAILED"); 2 wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "tests/sim/sim_checks.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_fibers.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_nodes.h"
#include "tests/sim/sim_workload.h"

/* The libc's own: the calls of this program are wrapped too. */
void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

enum { CHECKER = SIM_CLIENT_FIRST + SIM_CLIENTS - 1, JOBS_LIMIT = 64, SECONDS_LIMIT = 60 };

struct outcome {
    uint64_t hash, operations;
    int64_t simulated_ns;
    bool passed;
};

struct choices {
    uint64_t first, count;
    unsigned jobs;
    bool trace, twice, keep_going;
};

static bool world_done;

/* ---- one run ---- */

static void wait_for_clients(void)
{
    int64_t until = sim_now() + 200 * NS_PER_S;
    for (unsigned i = 0; i < sim_nodes_cluster()->clients; i++) {
        unsigned node = SIM_CLIENT_FIRST + i;
        while (!workload_is_done(node)) {
            if (sim_now() > until)
                sim_violation("all is well again, but client %u has been stuck for %d s in: %s", node, 200,
                              workload_doing(node));
            sim_sleep(100 * NS_PER_MS);
        }
    }
}

static bool all_servers_are_known(void)
{
    const struct master *master = sim_nodes_master();
    unsigned known = 0;
    for (uint32_t i = 0; master && i < master->core.servers.count; i++)
        known += master->core.servers.list[i]->connected;
    return known == sim_nodes_cluster()->servers;
}

static void *run_world(void *argument)
{
    const struct sim_cluster *cluster = sim_nodes_cluster();
    sim_node_start(SIM_MASTER);
    for (unsigned i = 0; i < cluster->servers; i++)
        sim_node_start(SIM_SERVER_FIRST + i);
    while (!all_servers_are_known())
        sim_sleep(10 * NS_PER_MS);
    (void)sim_spawn(CHECKER, workload_set_up, NULL);
    while (!workload_ready)
        sim_sleep(10 * NS_PER_MS);
    for (unsigned i = 0; i < cluster->clients; i++)
        sim_node_start(SIM_CLIENT_FIRST + i);
    sim_faults_run();
    sim_sleep((int64_t)sim_below(5 * NS_PER_S));
    workload_stopping = true;
    wait_for_clients();
    checks_content(CHECKER);
    checks_copies();
    world_done = true;
    sim_stop();
    return argument;
}

static void run_seed(uint64_t seed, bool trace, struct outcome *outcome)
{
    (void)alarm(SECONDS_LIMIT);
    sim_begin(seed, trace);
    sim_nodes_set_client(workload_run);
    sim_faults_draw();
    if (trace)
        printf("seed %" PRIu64 ": %s\n", seed, sim_faults_describe());
    (void)sim_spawn(0, run_world, NULL);
    sim_run();
    if (!world_done)
        sim_violation("nobody can go on");
    *outcome = (struct outcome){sim_hash(), ledger_operations, sim_now(), true};
}

/* ---- many ---- */

static const char *fate(int status)
{
    static char text[80];
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        (void)snprintf(text, sizeof text, "runs for more than %d s", SECONDS_LIMIT);
    else if (WIFSIGNALED(status))
        (void)snprintf(text, sizeof text, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(text, sizeof text, "exit status %d", WEXITSTATUS(status));
    return text;
}

struct job {
    pid_t pid;
    uint64_t number; /* in this invocation, from 0 */
};

static void start(struct job *job, uint64_t number, const struct choices *choices, struct outcome *outcomes)
{
    uint64_t seed = choices->first + (choices->twice ? number / 2 : number);
    (void)fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        run_seed(seed, choices->trace, &outcomes[number]);
        (void)fflush(stdout);
        _exit(0);
    }
    *job = (struct job){pid, number};
}

static void report(const struct choices *choices, const struct outcome *outcomes, uint64_t number, int status)
{
    uint64_t seed = choices->first + (choices->twice ? number / 2 : number);
    const struct outcome *outcome = &outcomes[number];
    if (!outcome->passed)
        printf("seed %" PRIu64 " FAILED: %s; again: build/release/bin/sim --seed %" PRIu64 " --trace\n", seed,
               fate(status), seed);
    else if (choices->count == 1)
        printf("seed %" PRIu64 " passed: %" PRIu64 " operations in %.1f simulated s, steps %016" PRIx64 "\n", seed,
               outcome->operations, (double)outcome->simulated_ns / 1e9, outcome->hash);
}

static uint64_t compare_pairs(const struct choices *choices, const struct outcome *outcomes)
{
    uint64_t different = 0;
    for (uint64_t i = 0; i < choices->count; i++) {
        if (outcomes[2 * i].hash == outcomes[2 * i + 1].hash)
            continue;
        printf("seed %" PRIu64 " FAILED: two runs differ (%016" PRIx64 ", %016" PRIx64 ")\n", choices->first + i,
               outcomes[2 * i].hash, outcomes[2 * i + 1].hash);
        different++;
    }
    return different;
}

static int run_all(const struct choices *choices)
{
    uint64_t runs = choices->count * (choices->twice ? 2 : 1), next = 0, failed = 0, operations = 0;
    struct outcome *outcomes = __real_mmap64(NULL, (runs + 1) * sizeof *outcomes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct job jobs[JOBS_LIMIT];
    unsigned running = 0;
    double simulated_s = 0;
    CHECK(outcomes != MAP_FAILED);
    while (next < runs || running) {
        if (next < runs && running < choices->jobs && (choices->keep_going || !failed)) {
            start(&jobs[running++], next, choices, outcomes);
            next++;
            continue;
        }
        if (!running)
            break;
        int status;
        pid_t pid = wait(&status);
        unsigned i = 0;
        while (jobs[i].pid != pid)
            i++;
        const struct outcome *outcome = &outcomes[jobs[i].number];
        failed += !outcome->passed;
        operations += outcome->operations;
        simulated_s += (double)outcome->simulated_ns / 1e9;
        report(choices, outcomes, jobs[i].number, status);
        jobs[i] = jobs[--running];
    }
    if (choices->twice && !failed)
        failed += compare_pairs(choices, outcomes);
    printf("sim: %" PRIu64 " passed, %" PRIu64 " failed, 0 skipped (seeds from %" PRIu64 ", %" PRIu64
           " operations, %.0f simulated s)\n", next - failed, failed, choices->first, operations, simulated_s);
    return failed ? 1 : 0;
}

static int usage(const char *what)
{
    fprintf(stderr, "sim: %s (usage: sim [--seed N [--trace]] [--first N] [--seeds N] [--jobs N] [--twice] [--keep-going])\n",
            what);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},  {"first", required_argument, NULL, 'f'},
        {"seeds", required_argument, NULL, 'n'}, {"jobs", required_argument, NULL, 'j'},
        {"trace", no_argument, NULL, 't'},       {"twice", no_argument, NULL, '2'},
        {"keep-going", no_argument, NULL, 'k'},  {NULL, 0, NULL, 0}};
    struct choices choices = {.first = 1, .count = 1000, .jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
    for (int letter; (letter = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
        if (letter == 's') {
            choices.first = number;
            choices.count = 1;
        } else if (letter == 'f') {
            choices.first = number;
        } else if (letter == 'n') {
            choices.count = number;
        } else if (letter == 'j') {
            choices.jobs = (unsigned)number;
        } else if (letter == 't' || letter == '2' || letter == 'k') {
            choices.trace |= letter == 't';
            choices.twice |= letter == '2';
            choices.keep_going |= letter == 'k';
        } else {
            return usage("unknown option");
        }
    }
    if (optind < argc || choices.count == 0 || choices.jobs == 0 || choices.jobs > JOBS_LIMIT)
        return usage("a number is missing or out of range");
    return run_all(&choices);
}
