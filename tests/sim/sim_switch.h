/* SPDX-License-Identifier: Apache-2.0
 *
 * Leaving one stack for another: a few instructions where they are written out (x86-64), else ucontext(3), which costs a
 * system call each time.
 */
#ifndef CALF_SIM_SWITCH_H
#define CALF_SIM_SWITCH_H

#include <stddef.h>

#ifdef __x86_64__
struct sim_context {
    void *stack_pointer;
};
#else
#include <ucontext.h>
struct sim_context {
    ucontext_t context;
};
#endif

/* The first switch to it calls run on that stack; run never returns. */
void sim_context_make(struct sim_context *context, void *stack, size_t bytes, void (*run)(void));

/* Goes on at `to`; comes back when somebody switches to `from`. */
void sim_context_switch(struct sim_context *from, struct sim_context *to);

#endif
