/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sweep is doing, on stderr: one status line that is rewritten in place (at most five times a second)
 * when that is a terminal, else a plain line every ten seconds. Colour only on a terminal and without NO_COLOR
 * in the environment. Measuring thread only; writes to stderr and nothing else.
 */
#ifndef CALF_IOBENCH_PROGRESS_H
#define CALF_IOBENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "iobench/result.h"

struct progress {
    bool terminal, color;
    bool quiet; /* nothing is shown: another machine shows it */
    bool line_shown; /* the cursor stands in the status line */
    uint64_t runs, run;
    uint32_t round, rounds;
    char scenario[RESULT_NAME], cell[RESULT_NAME];
    const char *phase;
    char detail[RESULT_TEXT];                 /* rate, or which worker is stuck */
    uint64_t p99_ns; /* 0: not known in this phase */
    int64_t p99_seen_ns;
    double estimate_total_s, estimate_done_s; /* as planned, without what was skipped */
    int64_t started_ns, shown_ns;
};

void progress_init(struct progress *p, uint64_t runs, double estimate_s);

/* One run begins: number (from 1), round (from 0), who and what. Names are copied. */
void progress_run(struct progress *p, uint64_t run, uint32_t round, uint32_t rounds, const char *scenario,
                  const char *cell);

/* The run's present phase; a constant text. Shown at once on a terminal. */
void progress_phase(struct progress *p, const char *phase);

/* True when a p99 would be worth finding out: once a second on a terminal, once for each plain line. */
bool progress_wants_p99(const struct progress *p);
void progress_p99(struct progress *p, uint64_t p99_ns);

/* While bytes move. stuck: NULL, or which worker does not. */
void progress_moving(struct progress *p, uint64_t bytes, int64_t elapsed_ns, const char *stuck);

/* A run that was planned to take estimate_s is over; or was skipped, because an earlier sweep has it. */
void progress_done(struct progress *p, double estimate_s);
void progress_skip(struct progress *p, double estimate_s);

/* A line of its own that stays, such as a failed cell. */
void progress_note(struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the status line away. */
void progress_clear(struct progress *p);

/* Seconds left, judged by how long the runs that are done took against their estimates. Never negative. */
double progress_eta_s(const struct progress *p, int64_t now_ns);

#endif
