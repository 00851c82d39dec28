/* SPDX-License-Identifier: Apache-2.0
 *
 * What one sweep has this machine do: `iobench worker` looks at the directories, makes its own test directory in each, and runs
 * cells (cell.h) in a thread of its own, which waits at the gate until it is told when to release its workers. One session at
 * a time. All functions are for one thread, the one that answers; none waits for a cell but close.
 */
#ifndef CALF_IOBENCH_WORKER_SESSION_H
#define CALF_IOBENCH_WORKER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"
#include "iobench/result.h"

enum { WORKER_SESSION_WHY = 1024 };

struct worker_session;

struct worker_view {
    uint8_t state; /* enum wire_bench_state */
    char phase[RESULT_NAME];
    uint64_t bytes;
};

/* Checks the configuration, which may be hostile, and the directories. 0, and *session is the caller's for close; -EINVAL and why. */
int worker_session_open(const struct wire_bench_open *asked, struct worker_session **session, char why[WORKER_SESSION_WHY])
    __attribute__((warn_unused_result));

/* The configuration with what was found. See machine_wire_text. */
char *worker_session_text(struct worker_session *session, size_t *bytes) __attribute__((warn_unused_result));

/* Begins a cell. 0; -EINVAL and why: one runs already, or it is none of the configuration's. */
int worker_session_run(struct worker_session *session, const struct wire_bench_run *asked, char why[WORKER_SESSION_WHY])
    __attribute__((warn_unused_result));

void worker_session_look(struct worker_session *session, struct worker_view *view);
void worker_session_release(struct worker_session *session, int64_t release_mono_ns);
void worker_session_stop(struct worker_session *session);

/* The figures of the cell that is over, as a result with one sample and a packed histogram (MACHINE_WIRE_HISTOGRAM bytes of room); the
 * session is idle then. 0, *text NULL: it was stopped; -EAGAIN: none is over; -ENOMEM. The caller frees *text. */
int worker_session_take(struct worker_session *session, char **text, size_t *bytes, uint8_t *packed, size_t *packed_bytes)
    __attribute__((warn_unused_result));

/* The mount point of a scenario of the configuration; NULL: no such number. */
const char *worker_session_mount(const struct worker_session *session, uint32_t scenario);

/* Stops what runs, removes the test files and frees everything. 0 or -EBUSY and why: what stayed behind. */
int worker_session_close(struct worker_session *session, char why[WORKER_SESSION_WHY]) __attribute__((warn_unused_result));

#endif
