/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C and its kin. The first SIGINT, SIGTERM or SIGHUP only sets a flag, which everything that takes long
 * looks at; one that comes more than a second later ends the program at once. Signals that would end the program
 * in the middle of an I/O error (SIGPIPE, SIGXFSZ) are ignored, so that the error is returned. SIGUSR1 does
 * nothing but interrupt a system call of the thread it is sent to.
 */
#ifndef CALF_IOBENCH_INTERRUPT_H
#define CALF_IOBENCH_INTERRUPT_H

#include <stdbool.h>

/* Once, from main, before threads start. */
void interrupt_install(void);

/* Any thread. */
bool interrupt_requested(void);

/* Blocks the terminating signals in the calling thread, so that main gets them. */
void interrupt_block_here(void);

/* In a child before exec: what interrupt_install ignored is as it was for other programs. */
void interrupt_restore_child(void);

#endif
