/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a result that was never measured, for tests of what reads results: known truth, noise from a seed.
 *
 * usage: synthetic-result DIRECTORY SCENARIOS BLOCKS THREADS ROUNDS LOSS NOISE SEED
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "common/check.h"
#include "iobench/result_file.h"
#include "tests/unit/synthetic_result.h"

int main(int argc, char **argv)
{
    if (argc != 9) {
        fprintf(stderr, "usage: synthetic-result DIRECTORY SCENARIOS BLOCKS THREADS ROUNDS LOSS NOISE SEED\n");
        return 2;
    }
    struct synthetic_plan plan = {
        .scenarios = (uint32_t)atoi(argv[2]),
        .blocks = (uint32_t)atoi(argv[3]),
        .threads = (uint32_t)atoi(argv[4]),
        .rounds = (uint32_t)atoi(argv[5]),
        .loss = atof(argv[6]),
        .noise = atof(argv[7]),
        .seed = (uint64_t)atoll(argv[8]),
    };
    struct result *r = check_alloc(calloc(1, sizeof *r));
    result_init(r);
    synthetic_result(r, &plan);
    (void)mkdir(argv[1], 0777);
    int error = result_file_write(r, argv[1]);
    if (error != 0)
        fprintf(stderr, "synthetic-result: cannot write to %s: %s\n", argv[1], strerror(-error));
    result_fini(r);
    free(r);
    return error != 0;
}
