/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/engine.h"

#include <string.h>

static const struct engine *const engines[] = {&engine_sync};

const struct engine *engine_find(const char *name)
{
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    return NULL;
}

const char *engine_names(void)
{
    return "sync";
}
