/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of the simulated machines, as fibers of one real thread, and the time they live in. One fiber runs at a
 * time, until it waits; who is next is drawn from the seed. Time stands still while anybody can run and jumps to the next
 * event when nobody can, so waiting costs nothing, and the same seed gives the same run.
 *
 * A fiber belongs to a node. Killing the node drops its fibers where they stand, as kill -9 does: nothing of theirs is
 * unwound or freed. Everything here belongs to the one real thread.
 */
#ifndef CALF_SIM_FIBERS_H
#define CALF_SIM_FIBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

enum { SIM_NODES = 16, SIM_KEYS = 8 };

struct sim_fiber;

#define SIM_NEVER INT64_MAX

/* Starts the world: seed, and whether each step is printed on stdout. Once in a process. */
void sim_begin(uint64_t seed, bool print);

/* Runs fibers and events until sim_stop is called, or nobody can run and nothing will happen any more. */
void sim_run(void);
void sim_stop(void);

/* Hash of every step so far: the same for the same seed and program. */
uint64_t sim_hash(void);

/* ---- randomness, all from the seed ---- */

uint64_t sim_random(void);
uint64_t sim_below(uint64_t limit);               /* 0 ... limit - 1 */
int64_t sim_between(int64_t low, int64_t high);   /* low ... high */
bool sim_chance(unsigned per_mille);

/* ---- time ---- */

int64_t sim_now(void); /* ns since the start */
void sim_pass(int64_t ns); /* as if the caller had worked for so long */

/* Calls run(argument) at that time, from no fiber: it must not wait. */
void sim_at(int64_t ns, void (*run)(void *argument), void *argument);

/* ---- fibers ---- */

/* The fiber's stack is of this module; the caller need not keep anything. */
struct sim_fiber *sim_spawn(unsigned node, void *(*run)(void *argument), void *argument);
unsigned sim_fiber_number(const struct sim_fiber *fiber); /* from 1 */
struct sim_fiber *sim_fiber_find(unsigned number);        /* NULL: there is none */
unsigned sim_node(void);                                  /* whose fiber runs; 0 if none does */
struct sim_fiber *sim_self(void);                         /* NULL outside */

/* Waits for the end of a fiber of the same node and takes its result. */
void *sim_join(struct sim_fiber *fiber);

/* Lets others run, perhaps. */
void sim_yield(void);

/* Waits until somebody wakes the key. False: the deadline came first. */
bool sim_wait(const void *key, int64_t deadline_ns);
void sim_wake(const void *key);     /* all that wait for it */
void sim_wake_one(const void *key); /* one, drawn */
void sim_sleep(int64_t ns);

/* Drops the fibers of a node. If the caller is one of them, it never returns. */
void sim_drop_node(unsigned node);

/* Slots for what a thread keeps for itself (pthread_setspecific). */
void **sim_key_slot(unsigned key);
void sim_key_destructor(unsigned key, void (*destroy)(void *value));

/* ---- the trace ---- */

/* Takes a step into the hash and, if asked for, prints it. what is a literal. */
void sim_trace(const char *what, uint64_t a, uint64_t b);
bool sim_is_printing(void);

#endif
