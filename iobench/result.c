/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/result.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

const char *cache_mode_name(enum cache_mode cache)
{
    switch (cache) {
    case CACHE_COLD:
        return "cold";
    case CACHE_DIRECT:
        return "direct";
    case CACHE_WARM:
        return "warm";
    }
    return NULL;
}

void result_init(struct result *result)
{
    memset(result, 0, sizeof *result);
    result->environment.guest_halt_poll_ns = -1;
}

void sample_fini(struct sample *sample)
{
    free(sample->intervals);
    free(sample->error);
    sample->intervals = NULL;
    sample->error = NULL;
    sample->interval_count = 0;
}

void sample_set_error(struct sample *sample, const char *error)
{
    char *copy = check_alloc(strndup(error, RESULT_TEXT - 1));
    free(sample->error);
    sample->error = copy;
}

void sample_copy(struct sample *to, const struct sample *from)
{
    *to = *from;
    to->intervals = NULL;
    to->error = from->error ? check_alloc(strdup(from->error)) : NULL;
    if (from->interval_count == 0)
        return;
    size_t bytes = from->interval_count * sizeof *from->intervals;
    to->intervals = check_alloc(malloc(bytes));
    memcpy(to->intervals, from->intervals, bytes);
}

const char *sync_mode_name(enum sync_mode sync)
{
    static const char *const names[SYNC_MODES] = {"fsync", "none", "dsync", "sync"};
    return (unsigned)sync < SYNC_MODES ? names[sync] : NULL;
}

void result_fini(struct result *result)
{
    for (size_t i = 0; i < result->sample_count; i++)
        sample_fini(&result->samples[i]);
    free(result->samples);
    free(result->machines);
    result->samples = NULL;
    result->machines = NULL;
    result->machine_count = 0;
    result->sample_count = result->sample_room = 0;
}

struct result_machine *result_add_machine(struct result *result)
{
    CHECK(result->machine_count < RESULT_MACHINES);
    if (!result->machines)
        result->machines = check_alloc(calloc(RESULT_MACHINES, sizeof *result->machines));
    return &result->machines[result->machine_count++];
}

struct sample *result_add_sample(struct result *result)
{
    if (result->sample_count == result->sample_room) {
        size_t room = result->sample_room ? 2 * result->sample_room : 64;
        CHECK(room <= SIZE_MAX / sizeof *result->samples);
        result->samples = check_alloc(realloc(result->samples, room * sizeof *result->samples));
        result->sample_room = room;
    }
    struct sample *sample = &result->samples[result->sample_count++];
    memset(sample, 0, sizeof *sample);
    return sample;
}
