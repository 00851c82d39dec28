/* SPDX-License-Identifier: Apache-2.0
 *
 * For how long what the master told this thread may be believed without asking again. While this client's session is the only
 * one, nobody else can change anything, and a second session is let in only after WIRE_ALONE_MS have passed since it came; so what
 * was asked before may be believed that long from when it was asked. Else: not at all.
 *
 * State of the calling thread; an operation begins it, each call to the master narrows it.
 */
#ifndef CALF_BELIEVABLE_H
#define CALF_BELIEVABLE_H

#include <stdbool.h>
#include <stdint.h>

void believable_begin(void);

/* A reply came to what was asked at asked_ns (monotonic); alone: as in its header. */
void believable_note(bool alone, int64_t asked_ns);

/* Nanoseconds from now; 0: not at all, also if the master was not asked since the beginning. */
int64_t believable_left_ns(void);

#endif
