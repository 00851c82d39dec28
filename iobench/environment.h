/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine a result was taken on: what decides its figures and what a reader must know to compare them. What
 * cannot be found is left empty; nothing is guessed. Main thread; runs `docker version` for at most a few
 * seconds.
 */
#ifndef CALF_IOBENCH_ENVIRONMENT_H
#define CALF_IOBENCH_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "iobench/result.h"

void environment_read(struct result_environment *environment);

/* What tells this start of this machine from all others; "" if it cannot be read. */
void environment_boot_id(char *text, size_t room);

/* The value of the first line "key<blanks>:<blanks>value" (or "key=value", quotes removed) of a file; false
 * if there is none. */
bool environment_find_value(const char *path, const char *key, char separator, char *value, size_t value_bytes);

/* One line that says why small blocks measure the hypervisor's wake-up first, or NULL where idle cores do not
 * halt (or it is not a virtual machine). */
const char *environment_idle_warning(const struct result_environment *environment);

#endif
