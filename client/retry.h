/* SPDX-License-Identifier: Apache-2.0
 *
 * Trying again while a master or a chunkserver is away: growing pauses, a limit in time, and two ways to be let go early:
 * the request that this thread serves was interrupted, or the program ends. A struct retry belongs to one operation of one
 * thread.
 */
#ifndef CALF_RETRY_H
#define CALF_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct retry {
    int64_t deadline_ns; /* monotonic */
    int64_t pause_ns;    /* the next one */
};

/* The limit counts from now. Does not block. */
void retry_start(struct retry *retry, int64_t limit_ns);

/* Sleeps: 1 ms at first, twice as long each time, at most half a second. 0: try again; -EIO: the limit is over (no sleep);
 * -EINTR: interrupted, or the program ends. */
int retry_wait(struct retry *retry) __attribute__((warn_unused_result));

/* True if a wait of this thread would end with -EINTR. Does not block. */
bool retry_is_let_go(void);

/* What this thread asks between two tries, to learn whether its request was interrupted; NULL: never is. */
void retry_set_interrupted(bool (*interrupted)(void *argument), void *argument);

/* Lets every waiting retry of the process go, now and for good. May be called from a signal handler. */
void retry_stop_all(void);

#endif
