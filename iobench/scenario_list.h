/* SPDX-License-Identifier: Apache-2.0
 *
 * "A,B=DIR,...", a directory alone, and --aa: the names and directories of a sweep's scenarios. Pure but for the
 * working directory. Main thread.
 */
#ifndef CALF_IOBENCH_SCENARIO_LIST_H
#define CALF_IOBENCH_SCENARIO_LIST_H

#include "iobench/result.h"
#include "iobench/sweep_options.h"

/* Fills names, directories and A/A arms of config->scenarios from the options. 0; -EINVAL with one line in why. */
int scenario_list_parse(const struct sweep_options *options, struct result *config, char why[SWEEP_OPTIONS_WHY])
    __attribute__((warn_unused_result));

/* STATE/NAME/mnt, where cluster.sh mounts a scenario. -EINVAL when it does not fit. */
int scenario_list_mount_of(const char *state, const char *name, char directory[RESULT_TEXT])
    __attribute__((warn_unused_result));

#endif
