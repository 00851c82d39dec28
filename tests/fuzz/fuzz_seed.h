/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts an input that the program made itself into the corpus, for formats that chance would not find: to be called from
 * LLVMFuzzerInitialize, before the corpus is read. The corpus is the first argument that is no option.
 */
#ifndef CALF_FUZZ_SEED_H
#define CALF_FUZZ_SEED_H

#include <sys/stat.h>

#include "common/check.h"
#include "tests/unit/scratch_dir.h"

static inline void fuzz_seed(int argc, char **argv, const char *name, const void *data, size_t bytes)
{
    struct stat status;
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-' && stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            CHECK(scratch_write(argv[i], name, data, bytes) == 0);
            return;
        }
}

#endif
