/* SPDX-License-Identifier: Apache-2.0
 *
 * One `iobench worker` as the sweep that leads it sees it: its connection, its clock, the figures of the last cell. A call that gets no
 * answer in time, or an error, closes the link (is_open) and leaves one line that names the worker (why). Main thread;
 * every call blocks, MACHINES_SILENT_MS at most unless it says otherwise.
 */
#ifndef CALF_IOBENCH_MACHINE_LINK_H
#define CALF_IOBENCH_MACHINE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/units.h"
#include "common/wire.h"
#include "iobench/machine_merge.h"
#include "iobench/served_counters.h"

struct machine_link;

struct machine_state {
    uint8_t state; /* enum wire_bench_state */
    const char *phase; /* as machine_link_phase */
    uint64_t bytes;
};

/* directory: NULL, or where this worker's files are to be. *link is the caller's for destroy. 0 or a negative errno. */
int machine_link_create(const struct address *address, const char *name, const char *directory, struct machine_link **link)
    __attribute__((warn_unused_result));
void machine_link_destroy(struct machine_link *link);

const char *machine_link_name(const struct machine_link *link);
const char *machine_link_why(const struct machine_link *link);
bool machine_link_is_open(const struct machine_link *link);

/* What it was doing when it was looked at last: one of the phases of cell.h, a constant text. */
const char *machine_link_phase(const struct machine_link *link);

/* Is anybody there? Waits for timeout_ms at most. */
bool machine_link_answers(struct machine_link *link, int timeout_ms);

/* The configuration goes out with this seed; waits for half a minute at most. 0; -EIO. */
int machine_link_open(struct machine_link *link, uint64_t session, const struct result *config, uint64_t seed,
                      uint64_t space_bytes) __attribute__((warn_unused_result));

/* What the worker found of the scenarios, but for their directories if it has one of its own. */
void machine_link_take_found(const struct machine_link *link, struct result *config);

/* The worker's machine. */
const struct result_environment *machine_link_environment(const struct machine_link *link);

/* All return 0 or -EIO. */
int machine_link_run(struct machine_link *link, const struct wire_bench_run *run) __attribute__((warn_unused_result));
int machine_link_look(struct machine_link *link, struct machine_state *state) __attribute__((warn_unused_result));
int machine_link_release(struct machine_link *link, int64_t our_mono_ns) __attribute__((warn_unused_result));
int machine_link_stop(struct machine_link *link) __attribute__((warn_unused_result));
int machine_link_served(struct machine_link *link, uint32_t scenario, struct served_counters *counters)
    __attribute__((warn_unused_result));

/* The figures; valid until the next take. 0; -EIO: none, or the cell failed there (then the link stays open); -ECANCELED: stopped. */
int machine_link_take(struct machine_link *link, struct machine_part *part) __attribute__((warn_unused_result));

/* The session is over; its files are gone. 0 also where none was open; -EIO and why. */
int machine_link_close(struct machine_link *link) __attribute__((warn_unused_result));

#endif
