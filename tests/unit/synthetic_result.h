/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that were never measured, for tests: every figure comes from a seed and a known truth. Random numbers, noise, and a
 * whole result with all fields filled. Not thread-safe.
 */
#ifndef CALF_TESTS_SYNTHETIC_RESULT_H
#define CALF_TESTS_SYNTHETIC_RESULT_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "iobench/result.h"

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t synthetic_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Above 0, below 1. */
static inline double synthetic_uniform(uint64_t *state)
{
    return ((double)(synthetic_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double synthetic_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(synthetic_uniform(state)));
    return radius * cos(2 * 3.14159265358979323846 * synthetic_uniform(state));
}

struct synthetic_plan {
    uint32_t scenarios; /* up to 5: bare, bare-net, docker-host, docker-bridge, and bare-again as A/A arm */
    uint32_t blocks, threads, rounds;
    double loss;  /* of each further scenario against the one before, e.g. 0.05 */
    double noise; /* standard deviation of the log rate */
    uint64_t seed;
};

static inline void synthetic_environment(struct result_environment *e)
{
    *e = (struct result_environment){.guest_halt_poll_ns = 0, .cpus = 2, .memory_bytes = UINT64_C(24) << 30};
    strcpy(e->hostname, "testhost");
    strcpy(e->kernel, "6.18.5");
    strcpy(e->cpu_model, "Imaginary CPU @ 3.00GHz");
    strcpy(e->os, "Debian GNU/Linux 12 (bookworm)");
    strcpy(e->virtualization, "kvm");
    strcpy(e->cpuidle_driver, "haltpoll");
    strcpy(e->cpuidle_governor, "haltpoll");
    strcpy(e->container_runtime, "Docker 28.0");
}

static inline void synthetic_fill_sample(struct sample *s, double mb_per_s, uint64_t *state)
{
    s->bytes = UINT64_C(64) << 20;
    s->operations = s->bytes / s->block_bytes;
    s->elapsed_ns = (int64_t)((double)s->bytes / (mb_per_s * 1e6) * 1e9);
    s->first_done_ns = s->elapsed_ns * 9 / 10;
    s->first_done_bytes = s->bytes * 9 / 10;
    s->flush_ns = 12345;
    s->start_wall_ns = INT64_C(1795000000000000000) + (int64_t)s->round * 1000000000;
    s->latency = (struct latency_summary){1000, 2000, 1900, 3000, 4000, 5000, 6000, 7000};
    s->cpu.machine_busy_s = 0.5 + 0.1 * s->scenario + 0.01 * synthetic_uniform(state);
    s->cpu.workers_s = 0.1;
    s->cpu.cluster_s = 0.2;
    s->cpu.unattributed_s = s->cpu.machine_busy_s - 0.3;
    s->cpu.steal_s = 0.001;
    s->served_known = true;
    s->served_read_bytes = s->bytes;
    s->served_read_requests = s->operations;
}

/* Fills r, which is initialized, with a whole result; the caller calls result_fini. */
static inline void synthetic_result(struct result *r, const struct synthetic_plan *plan)
{
    static const char *const names[] = {"bare", "bare-net", "docker-host", "docker-bridge", "bare-again"};
    uint64_t state = plan->seed;
    strcpy(r->version, "calf 0.1 (commit 0123456789ab)");
    memset(r->iobench_hash, 'a', 64);
    strcpy(r->command_line, "iobench sweep --scenarios bare,bare-net \"quoted\"");
    strcpy(r->preset, "article");
    strcpy(r->engine, "sync");
    r->complete = true;
    r->started_wall_ns = INT64_C(1795000000000000000);
    r->finished_wall_ns = INT64_C(1795000600000000000);
    r->seed = UINT64_C(0xfedcba9876543210);
    r->file_bytes = UINT64_C(64) << 20;
    r->rounds_planned = plan->rounds;
    synthetic_environment(&r->environment);
    r->scenario_count = plan->scenarios;
    for (uint32_t i = 0; i < plan->scenarios; i++) {
        struct scenario_info *s = &r->scenarios[i];
        strcpy(s->name, names[i]);
        (void)snprintf(s->directory, sizeof s->directory, "/run/calf/%s/mnt", names[i]);
        strcpy(s->fs_type, "fuse.calf");
        strcpy(s->mount_source, "calf");
        strcpy(s->journal_mode, "interval");
        memset(s->binary_hash, 'b', 64);
        s->a_a_arm = i == 4;
    }
    r->test_count = TEST_ARTICLE_KINDS;
    for (uint32_t i = 0; i < TEST_ARTICLE_KINDS; i++)
        r->tests[i] = (enum test_kind)i;
    r->block_count = plan->blocks;
    for (uint32_t i = 0; i < plan->blocks; i++)
        r->block_bytes[i] = UINT64_C(4096) << i;
    r->thread_count = plan->threads;
    for (uint32_t i = 0; i < plan->threads; i++)
        r->threads[i] = 1U << i;
    uint32_t cells = TEST_ARTICLE_KINDS * plan->blocks * plan->threads;
    for (uint32_t round = 0; round < plan->rounds; round++)
        for (uint32_t cell = 0; cell < cells; cell++)
            for (uint32_t scenario = 0; scenario < plan->scenarios; scenario++) {
                struct sample *s = result_add_sample(r);
                s->scenario = scenario;
                s->round = round;
                s->position = scenario;
                s->test = (enum test_kind)(cell % TEST_ARTICLE_KINDS);
                s->block_bytes = r->block_bytes[cell / TEST_ARTICLE_KINDS % plan->blocks];
                s->threads = r->threads[cell / TEST_ARTICLE_KINDS / plan->blocks];
                double truth = 100.0 * (1 + cell) * (scenario == 4 ? 1 : pow(1 - plan->loss, scenario));
                synthetic_fill_sample(s, truth * exp(plan->noise * synthetic_normal(&state)), &state);
            }
}

#endif
