/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/result_schema.h"

#include "iobench/result.h"

#define FIELD(type, member, kind_, name_) \
    {.name = (name_), .kind = (kind_), .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)}
#define OPTIONAL(type, member, kind_, name_)                                                                        \
    {.name = (name_), .kind = (kind_), .offset = offsetof(type, member), .size = sizeof(((type *)0)->member),       \
     .optional = true}
#define GROUP(name_, table) {.name = (name_), .fields = (table), .count = sizeof(table) / sizeof((table)[0])}

static const struct result_field top[] = {
    FIELD(struct result, label, RESULT_FIELD_TEXT, "label"),
    FIELD(struct result, version, RESULT_FIELD_TEXT, "iobench_version"),
    FIELD(struct result, iobench_hash, RESULT_FIELD_TEXT, "iobench_sha256"),
    FIELD(struct result, command_line, RESULT_FIELD_TEXT, "command_line"),
    FIELD(struct result, preset, RESULT_FIELD_TEXT, "preset"),
    FIELD(struct result, smoke_test, RESULT_FIELD_BOOL, "smoke_test"),
    FIELD(struct result, complete, RESULT_FIELD_BOOL, "complete"),
    FIELD(struct result, started_wall_ns, RESULT_FIELD_I64, "started_wall_ns"),
    FIELD(struct result, finished_wall_ns, RESULT_FIELD_I64, "finished_wall_ns"),
    FIELD(struct result, seed, RESULT_FIELD_TEXT64, "seed"),
    FIELD(struct result, cache, RESULT_FIELD_CACHE, "cache"),
    FIELD(struct result, engine, RESULT_FIELD_TEXT, "engine"),
    FIELD(struct result, file_bytes, RESULT_FIELD_U64, "file_bytes"),
    FIELD(struct result, rounds_planned, RESULT_FIELD_U32, "rounds_planned"),
    OPTIONAL(struct result, until_width_hundredths, RESULT_FIELD_U32, "until_width_hundredths"),
    OPTIONAL(struct result, max_rounds, RESULT_FIELD_U32, "max_rounds"),
    OPTIONAL(struct result, verify, RESULT_FIELD_BOOL, "verify"),
    OPTIONAL(struct result, clients, RESULT_FIELD_U32, "clients"),
    OPTIONAL(struct result, workers, RESULT_FIELD_TEXT, "workers"),
    OPTIONAL(struct result, sync, RESULT_FIELD_SYNC, "sync"),
    OPTIONAL(struct result, queue_depth, RESULT_FIELD_U32, "queue_depth"),
    OPTIONAL(struct result, rate_limit, RESULT_FIELD_U64, "rate_limit_operations_per_s"),
    OPTIONAL(struct result, duration_ns, RESULT_FIELD_I64, "duration_ns"),
    OPTIONAL(struct result, warm_up_ns, RESULT_FIELD_I64, "warm_up_ns"),
    OPTIONAL(struct result, interval_ns, RESULT_FIELD_I64, "interval_ns"),
    OPTIONAL(struct result, working_set_bytes, RESULT_FIELD_U64, "working_set_bytes"),
    OPTIONAL(struct result, read_percent, RESULT_FIELD_U32, "read_percent"),
    OPTIONAL(struct result, stride_blocks, RESULT_FIELD_U32, "stride_blocks"),
    OPTIONAL(struct result, files_per_worker, RESULT_FIELD_U32, "files_per_worker"),
    OPTIONAL(struct result, shared_file, RESULT_FIELD_BOOL, "shared_file"),
    OPTIONAL(struct result, processes, RESULT_FIELD_BOOL, "processes"),
    OPTIONAL(struct result, replacement, RESULT_FIELD_BOOL, "replacement"),
    OPTIONAL(struct result, msync, RESULT_FIELD_TEXT, "msync"),
    OPTIONAL(struct result, cpus, RESULT_FIELD_TEXT, "cpus"),
    OPTIONAL(struct result, numa_node, RESULT_FIELD_TEXT, "numa_node"),
};

#define ENVIRONMENT(member, kind, name) FIELD(struct result_environment, member, kind, name)
static const struct result_field environment[] = {
    ENVIRONMENT(hostname, RESULT_FIELD_TEXT, "hostname"),
    ENVIRONMENT(kernel, RESULT_FIELD_TEXT, "kernel"),
    ENVIRONMENT(cpu_model, RESULT_FIELD_TEXT, "cpu_model"),
    ENVIRONMENT(os, RESULT_FIELD_TEXT, "os"),
    ENVIRONMENT(virtualization, RESULT_FIELD_TEXT, "virtualization"),
    ENVIRONMENT(cpuidle_driver, RESULT_FIELD_TEXT, "cpuidle_driver"),
    ENVIRONMENT(cpuidle_governor, RESULT_FIELD_TEXT, "cpuidle_governor"),
    ENVIRONMENT(frequency_governor, RESULT_FIELD_TEXT, "frequency_governor"),
    ENVIRONMENT(container_runtime, RESULT_FIELD_TEXT, "container_runtime"),
    ENVIRONMENT(guest_halt_poll_ns, RESULT_FIELD_I64, "guest_halt_poll_ns"),
    OPTIONAL(struct result_environment, caches, RESULT_FIELD_TEXT, "caches"),
    OPTIONAL(struct result_environment, disks, RESULT_FIELD_TEXT, "disks"),
    OPTIONAL(struct result_environment, idle_states, RESULT_FIELD_TEXT, "idle_states"),
    ENVIRONMENT(cpus, RESULT_FIELD_U32, "cpus"),
    ENVIRONMENT(memory_bytes, RESULT_FIELD_U64, "memory_bytes"),
};

#define SCENARIO(member, kind, name) FIELD(struct scenario_info, member, kind, name)
static const struct result_field scenario[] = {
    SCENARIO(name, RESULT_FIELD_TEXT, "name"),
    SCENARIO(directory, RESULT_FIELD_TEXT, "directory"),
    SCENARIO(fs_type, RESULT_FIELD_TEXT, "fs_type"),
    SCENARIO(mount_source, RESULT_FIELD_TEXT, "mount_source"),
    OPTIONAL(struct scenario_info, mount_options, RESULT_FIELD_TEXT, "mount_options"),
    SCENARIO(device, RESULT_FIELD_TEXT, "device"),
    OPTIONAL(struct scenario_info, disk, RESULT_FIELD_TEXT, "disk"),
    SCENARIO(journal_mode, RESULT_FIELD_TEXT, "journal_mode"),
    OPTIONAL(struct scenario_info, transport, RESULT_FIELD_TEXT, "transport"),
    OPTIONAL(struct scenario_info, fuse, RESULT_FIELD_TEXT, "fuse"),
    SCENARIO(binary_hash, RESULT_FIELD_TEXT, "binary_sha256"),
    SCENARIO(a_a_arm, RESULT_FIELD_BOOL, "a_a_arm"),
};

#define SAMPLE(member, kind, name) FIELD(struct sample, member, kind, name)
static const struct result_field sample[] = {
    SAMPLE(scenario, RESULT_FIELD_U32, "scenario"),
    SAMPLE(round, RESULT_FIELD_U32, "round"),
    SAMPLE(position, RESULT_FIELD_U32, "position"),
    SAMPLE(test, RESULT_FIELD_TEST, "test"),
    SAMPLE(block_bytes, RESULT_FIELD_U64, "block_bytes"),
    SAMPLE(threads, RESULT_FIELD_U32, "threads"),
    OPTIONAL(struct sample, failed, RESULT_FIELD_BOOL, "failed"),
    OPTIONAL(struct sample, error, RESULT_FIELD_OWNED_TEXT, "error"),
    OPTIONAL(struct sample, mark, RESULT_FIELD_TEXT, "mark"),
    SAMPLE(start_wall_ns, RESULT_FIELD_I64, "start_wall_ns"),
    SAMPLE(bytes, RESULT_FIELD_U64, "bytes"),
    SAMPLE(operations, RESULT_FIELD_U64, "operations"),
    SAMPLE(elapsed_ns, RESULT_FIELD_I64, "elapsed_ns"),
    SAMPLE(first_done_ns, RESULT_FIELD_I64, "first_done_ns"),
    SAMPLE(first_done_bytes, RESULT_FIELD_U64, "first_done_bytes"),
    SAMPLE(flush_ns, RESULT_FIELD_I64, "flush_ns"),
    OPTIONAL(struct sample, fsync_ns, RESULT_FIELD_I64, "fsync_ns"),
    OPTIONAL(struct sample, close_ns, RESULT_FIELD_I64, "close_ns"),
    OPTIONAL(struct sample, read_operations, RESULT_FIELD_U64, "read_operations"),
    OPTIONAL(struct sample, warm_up_bytes, RESULT_FIELD_U64, "warm_up_bytes"),
    OPTIONAL(struct sample, failed_workers, RESULT_FIELD_U32, "failed_workers"),
    OPTIONAL(struct sample, server_calls, RESULT_FIELD_U64, "server_calls"),
};

static const struct result_field latency[] = {
    SAMPLE(latency.min_ns, RESULT_FIELD_U64, "min"),
    SAMPLE(latency.mean_ns, RESULT_FIELD_U64, "mean"),
    SAMPLE(latency.p50_ns, RESULT_FIELD_U64, "p50"),
    SAMPLE(latency.p90_ns, RESULT_FIELD_U64, "p90"),
    SAMPLE(latency.p99_ns, RESULT_FIELD_U64, "p99"),
    SAMPLE(latency.p999_ns, RESULT_FIELD_U64, "p999"),
    SAMPLE(latency.p9999_ns, RESULT_FIELD_U64, "p9999"),
    SAMPLE(latency.max_ns, RESULT_FIELD_U64, "max"),
};

static const struct result_field cpu[] = {
    SAMPLE(cpu.machine_busy_s, RESULT_FIELD_SECONDS, "machine_busy"),
    SAMPLE(cpu.workers_s, RESULT_FIELD_SECONDS, "workers"),
    SAMPLE(cpu.cluster_s, RESULT_FIELD_SECONDS, "cluster"),
    SAMPLE(cpu.unattributed_s, RESULT_FIELD_SECONDS, "unattributed"),
    SAMPLE(cpu.steal_s, RESULT_FIELD_SECONDS, "steal"),
};

static const struct result_field served[] = {
    SAMPLE(served_read_bytes, RESULT_FIELD_U64, "read_bytes"),
    SAMPLE(served_read_requests, RESULT_FIELD_U64, "read_requests"),
    SAMPLE(served_write_bytes, RESULT_FIELD_U64, "write_bytes"),
    SAMPLE(served_write_requests, RESULT_FIELD_U64, "write_requests"),
};

static const struct result_field worker_rates[] = {
    SAMPLE(worker_rates.min, RESULT_FIELD_U64, "min"),
    SAMPLE(worker_rates.mean, RESULT_FIELD_U64, "mean"),
    SAMPLE(worker_rates.max, RESULT_FIELD_U64, "max"),
    SAMPLE(worker_rates.mean_inner, RESULT_FIELD_U64, "mean_inner"),
};

static const struct result_field machine_rates[] = {
    SAMPLE(machine_rates.min, RESULT_FIELD_U64, "min"),
    SAMPLE(machine_rates.mean, RESULT_FIELD_U64, "mean"),
    SAMPLE(machine_rates.max, RESULT_FIELD_U64, "max"),
    SAMPLE(machine_rates.mean_inner, RESULT_FIELD_U64, "mean_inner"),
};

static const struct result_field pressure[] = {
    SAMPLE(pressure.cpu_ns, RESULT_FIELD_U64, "cpu"),
    SAMPLE(pressure.io_ns, RESULT_FIELD_U64, "io"),
    SAMPLE(pressure.memory_ns, RESULT_FIELD_U64, "memory"),
};

static const struct result_field part_cpu[] = {
    SAMPLE(cpu.part_s[RESULT_PART_MASTER], RESULT_FIELD_SECONDS, "master"),
    SAMPLE(cpu.part_s[RESULT_PART_CHUNKSERVERS], RESULT_FIELD_SECONDS, "chunkservers"),
    SAMPLE(cpu.part_s[RESULT_PART_CLIENTS], RESULT_FIELD_SECONDS, "clients"),
};

static const struct result_field memory[] = {
    SAMPLE(memory.machine, RESULT_FIELD_U32, "machine"),
    SAMPLE(memory.iobench, RESULT_FIELD_U32, "iobench"),
    SAMPLE(memory.part[RESULT_PART_MASTER], RESULT_FIELD_U32, "master"),
    SAMPLE(memory.part[RESULT_PART_CHUNKSERVERS], RESULT_FIELD_U32, "chunkservers"),
    SAMPLE(memory.part[RESULT_PART_CLIENTS], RESULT_FIELD_U32, "clients"),
    SAMPLE(memory.charged, RESULT_FIELD_U32, "charged"),
};

static const struct result_field instances[] = {
    SAMPLE(instances.count, RESULT_FIELD_U32, "count"),
    SAMPLE(instances.slowest_permille, RESULT_FIELD_U32, "slowest_permille"),
};

const struct result_group result_schema_top = GROUP("", top);
const struct result_group result_schema_environment = GROUP("environment", environment);
const struct result_group result_schema_scenario = GROUP("scenario", scenario);
const struct result_group result_schema_sample = GROUP("sample", sample);
const struct result_group result_schema_sample_groups[RESULT_SAMPLE_GROUPS] = {
    [RESULT_LATENCY] = GROUP("latency_ns", latency),
    [RESULT_CPU] = GROUP("cpu_ns", cpu),
    [RESULT_SERVED] = GROUP("served", served),
    [RESULT_WORKER_RATES] = GROUP("worker_per_s", worker_rates),
    [RESULT_PRESSURE] = GROUP("pressure_ns", pressure),
    [RESULT_PART_CPU] = GROUP("part_cpu_ns", part_cpu),
    [RESULT_MEMORY] = GROUP("memory_kib", memory),
    [RESULT_INSTANCES] = GROUP("instances", instances),
    [RESULT_MACHINE_RATES] = GROUP("machine_per_s", machine_rates),
};
