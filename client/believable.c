/* SPDX-License-Identifier: Apache-2.0 */
#include "client/believable.h"

#include "common/clock.h"
#include "common/wire_schema.h"

/* Of all replies since the beginning, the earliest end. */
static _Thread_local int64_t until_ns;
static _Thread_local bool any;

void believable_begin(void)
{
    any = false;
    until_ns = 0;
}

void believable_note(bool alone, int64_t asked_ns)
{
    int64_t end_ns = alone ? asked_ns + WIRE_ALONE_MS * NS_PER_MS : 0;
    if (!any || end_ns < until_ns)
        until_ns = end_ns;
    any = true;
}

int64_t believable_left_ns(void)
{
    int64_t left_ns = until_ns ? until_ns - clock_mono_ns() : 0;
    return left_ns > 0 ? left_ns : 0;
}
