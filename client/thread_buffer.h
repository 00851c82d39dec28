/* SPDX-License-Identifier: Apache-2.0
 *
 * One reused buffer for each thread that moves file data: fresh memory costs a page fault for every 4 KiB, which is more
 * than the data path itself. Lives until its thread ends. Any thread; each sees only its own.
 */
#ifndef CALF_THREAD_BUFFER_H
#define CALF_THREAD_BUFFER_H

#include <stdint.h>

#include "common/wire_schema.h"

enum { THREAD_BUFFER_BYTES = WIRE_PAYLOAD_LIMIT };

/* THREAD_BUFFER_BYTES of page-aligned memory, the same at every call of a thread unless other memory is lent. */
uint8_t *thread_buffer_get(void);

/* The calling thread's buffer is this memory from now on, as large and as aligned; until NULL is lent. */
void thread_buffer_lend(uint8_t *memory);

#endif
