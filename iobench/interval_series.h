/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run's rate went: the operations of each piece of time, taken from a total that is looked at now and then. It holds
 * RESULT_INTERVALS pieces at most: a run that needs more has every two pieces joined and goes on with longer ones, so memory does
 * not depend on its length. One thread.
 */
#ifndef CALF_IOBENCH_INTERVAL_SERIES_H
#define CALF_IOBENCH_INTERVAL_SERIES_H

#include <stdint.h>

#include "iobench/result.h"

struct interval_series {
    int64_t interval_ns, next_ns; /* 0: no series is kept */
    uint64_t seen_operations;
    uint32_t count;
    struct sample_interval pieces[RESULT_INTERVALS];
};

void interval_series_init(struct interval_series *series, int64_t interval_ns);

/* So many operations until now_ns after the beginning. Ends a piece when that is due. */
void interval_series_look(struct interval_series *series, int64_t now_ns, uint64_t operations);

/* The run is over: what is left becomes the last piece. A run of a single piece has no series. */
void interval_series_end(struct interval_series *series, int64_t end_ns, uint64_t operations);

#endif
