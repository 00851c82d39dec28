/* SPDX-License-Identifier: Apache-2.0
 *
 * CHECK stops a wrong program at once, in release builds too. It is for what can only be a fault of our own:
 * operating errors (a full disk, a lost peer, hostile input) are returned, never CHECKed.
 */
#ifndef CALF_CHECK_H
#define CALF_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                            \
    do {                                                                                            \
        if (__builtin_expect(!(condition), 0)) {                                                    \
            fprintf(stderr, "%s:%d: %s: CHECK failed: %s\n", __FILE__, __LINE__, __func__,          \
                    #condition);                                                                    \
            abort();                                                                                \
        }                                                                                           \
    } while (0)

/* Memory of this program's own making: without it nothing can go on. Sizes that come from outside are
 * limited first, so that running out here means the machine is out of memory. */
static inline void *check_alloc(void *p)
{
    if (__builtin_expect(!p, 0)) {
        fprintf(stderr, "out of memory\n");
        abort();
    }
    return p;
}

#endif
