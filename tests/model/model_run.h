/* SPDX-License-Identifier: Apache-2.0
 *
 * Does a list of operations to real files and compares with the model after each; nothing else may touch the directories.
 */
#ifndef CALF_MODEL_RUN_H
#define CALF_MODEL_RUN_H

#include "tests/model/model.h"

struct model_place {
    const char *mounts[2]; /* the same directory through one mount or two */
    bool two;              /* two mounts: every operation opens and closes, as close-to-open promises no more */
    bool direct;           /* O_DIRECT is to be tried */
};

/* Runs ops in a new subdirectory, and removes it if all was right. 0; or 1: why says which operation gave what, and
 * *failed_at is its place in the list (count: the comparison at the end). */
int model_run(const struct model_place *place, const struct model_op *ops, size_t count, char why[MODEL_WHY],
              size_t *failed_at) __attribute__((warn_unused_result));

#endif
