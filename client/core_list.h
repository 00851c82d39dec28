/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of processor cores as Linux writes them, "0-3,8". Any thread.
 */
#ifndef CALF_CORE_LIST_H
#define CALF_CORE_LIST_H

#include <stdbool.h>

/* How many it names; 0 for what is no such list. */
unsigned core_list_count(const char *list);

bool core_list_has(const char *list, unsigned core);

#endif
