/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the wire schema by which `iobench sweep --workers` leads `iobench worker` on other machines; rows as
 * wire_schema.h explains them, which includes this. Data only.
 */
#ifndef CALF_WIRE_SCHEMA_BENCH_H
#define CALF_WIRE_SCHEMA_BENCH_H

enum {
    WIRE_BENCH_RESULT_LIMIT = 128 * 1024,    /* bytes of a result as text */
    WIRE_BENCH_HISTOGRAM_LIMIT = 128 * 1024, /* bytes of a histogram: those of its slots that hold something */
};

#define WIRE_BENCH_MESSAGES(M)                                                                                       \
    M(bench_open, 70, query, 0, 0, "a sweep begins: the worker looks at the directories and makes its own in them")  \
    M(bench_run, 71, query, 0, 0, "one cell: the worker prepares it and waits at the gate")                          \
    M(bench_poll, 72, query, 0, 0, "how far it is; and what it is to do")                                            \
    M(bench_take, 73, query, 0, 0, "the figures of the cell that is over")                                           \
    M(bench_served, 74, query, 0, 0, "what the cluster behind a scenario's mount has served")

#define WIRE_FIELDS_bench_open(F)                                                                                    \
    F(u32, protocol, 0, "WIRE_PROTOCOL")                                                                             \
    F(str, version, WIRE_NAME_LIMIT, "of iobench: both ends must be the same")                                       \
    F(u64, session, 0, "random; in every later request")                                                             \
    F(u64, space_bytes, 0, "needed in each scenario")                                                                \
    F(bytes, config, WIRE_BENCH_RESULT_LIMIT, "a result without samples, in the format of results.json")
#define WIRE_FIELDS_bench_open_reply(F)                                                                              \
    F(str, error, 1024, "empty: open")                                                                               \
    F(i64, mono_ns, 0, "the worker's monotonic clock")                                                               \
    F(str, boot_id, WIRE_NAME_LIMIT, "of its machine: containers on one machine have the same")                      \
    F(bytes, found, WIRE_BENCH_RESULT_LIMIT, "the same result with environment and scenarios filled")
#define WIRE_FIELDS_bench_run(F)                                                                                     \
    F(u64, session, 0, "")                                                                                           \
    F(u32, scenario, 0, "index in config")                                                                           \
    F(u32, test, 0, "index in config's tests")                                                                       \
    F(u64, block_bytes, 0, "")                                                                                       \
    F(u64, file_bytes, 0, "of each thread")                                                                          \
    F(u32, threads, 0, "")                                                                                           \
    F(u64, order_seed, 0, "")
#define WIRE_FIELDS_bench_run_reply(F) F(str, error, 1024, "empty: it has begun")
#define WIRE_FIELDS_bench_poll(F)                                                                                    \
    F(u64, session, 0, "")                                                                                           \
    F(u8, what, 0, "WIRE_BENCH_LOOK, _RELEASE, _STOP or _CLOSE")                                                     \
    F(i64, release_mono_ns, 0, "with _RELEASE: when, by the worker's clock")
#define WIRE_FIELDS_bench_poll_reply(F)                                                                              \
    F(u8, state, 0, "WIRE_BENCH_IDLE, _PREPARING, _READY, _MOVING or _OVER")                                         \
    F(i64, mono_ns, 0, "as in bench_open_reply")                                                                     \
    F(str, phase, 64, "for people")                                                                                  \
    F(u64, bytes, 0, "moved in the window so far")                                                                   \
    F(str, error, 1024, "of _CLOSE: what stayed behind")
#define WIRE_FIELDS_bench_take(F) F(u64, session, 0, "")
#define WIRE_FIELDS_bench_take_reply(F)                                                                              \
    F(u8, cancelled, 0, "1: stopped before its end, no figures")                                                     \
    F(bytes, figures, WIRE_BENCH_RESULT_LIMIT, "a result with the one sample")                                       \
    F(bytes, latency, WIRE_BENCH_HISTOGRAM_LIMIT, "count, sum, least, most; then slot and count of each slot in use; all u64")
#define WIRE_FIELDS_bench_served(F)                                                                                  \
    F(u64, session, 0, "")                                                                                           \
    F(u32, scenario, 0, "")
#define WIRE_FIELDS_bench_served_reply(F)                                                                            \
    F(u8, known, 0, "")                                                                                              \
    F(u64, read_bytes, 0, "")                                                                                        \
    F(u64, read_requests, 0, "")                                                                                     \
    F(u64, write_bytes, 0, "")                                                                                       \
    F(u64, write_requests, 0, "")                                                                                    \
    F(u64, write_copies, 0, "")

enum wire_bench_what { WIRE_BENCH_LOOK, WIRE_BENCH_RELEASE, WIRE_BENCH_STOP, WIRE_BENCH_CLOSE };
enum wire_bench_state { WIRE_BENCH_IDLE, WIRE_BENCH_PREPARING, WIRE_BENCH_READY, WIRE_BENCH_MOVING, WIRE_BENCH_OVER };

#endif
