/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGTERM, SIGINT and SIGHUP end the program in an orderly way: a thread waits for them, lets waiting retries go (retry.h), and
 * pokes whoever serves until that has noticed. No handler runs in any other thread. From the main thread.
 */
#ifndef CALF_ENDING_H
#define CALF_ENDING_H

/* Blocks the signals, for all threads made afterwards, and starts to wait for them. */
void ending_start(void);

/* What makes the serving part stop; called once a signal has come (or at once, if one has come already), again and again, until the
 * hook is taken away with NULL, which waits for a call that is under way. */
void ending_set_hook(void (*hook)(void *argument), void *argument);

/* Ends the waiting. */
void ending_stop(void);

#endif
