/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static const char *const test_names[TEST_KINDS] = {
    [TEST_WRITE] = "write",
    [TEST_READ] = "read",
    [TEST_RANDOM_WRITE] = "random-write",
    [TEST_RANDOM_READ] = "random-read",
};

const char *test_kind_name(enum test_kind test)
{
    return (unsigned)test < TEST_KINDS ? test_names[test] : NULL;
}

int test_kind_parse(const char *name, enum test_kind *test)
{
    for (unsigned i = 0; i < TEST_KINDS; i++) {
        if (strcmp(name, test_names[i]) == 0) {
            *test = (enum test_kind)i;
            return 0;
        }
    }
    return -EINVAL;
}

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

void result_fini(struct result *result)
{
    free(result->samples);
    result->samples = NULL;
    result->sample_count = result->sample_room = 0;
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
