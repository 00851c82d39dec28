/* SPDX-License-Identifier: Apache-2.0
 *
 * One deployment of a sweep: where it is, that it is what was asked for, and the directory in it that holds the
 * test files. A scenario that is named without a directory is STATE/NAME/mnt, which must be the mount of a calf
 * cluster, because an unmounted one would silently measure the local disk. Main thread; blocks on the file
 * system.
 */
#ifndef CALF_IOBENCH_SCENARIO_H
#define CALF_IOBENCH_SCENARIO_H

#include <stdbool.h>

#include "iobench/engine.h"
#include "iobench/file_set.h"
#include "iobench/mount_table.h"
#include "iobench/result.h"

struct scenario {
    struct scenario_info *info; /* the result's; name and directory are given, attaching fills the rest */
    bool by_name;               /* must be a calf mount at exactly its directory */
    bool started;               /* by us: to be stopped again */
    bool attached;              /* the run directory is made */
    bool given_up;              /* a worker never came back: nothing more is asked of its file system */
    char given_up_why[RESULT_TEXT];
    uint32_t instances; /* mounts: mnt, mnt2, ... that the workers are spread over; 0 or 1: one */
    char mount_point[MOUNT_POINT_LIMIT];
    char run_directory[FILE_SET_DIRECTORY];
    char pids_path[RESULT_TEXT + 16];
    bool keep_files;            /* test files stay when all is over */
    struct file_set prepared, written, names;
    struct worker_file parts[FILE_SET_FILES]; /* of a shared file, as the cell in hand divides it */
};

enum { SCENARIO_WHY = 768 };

/* True if STATE/NAME/mnt (the scenario's directory) is a calf mount now. */
bool scenario_is_mounted(const struct scenario *s);

/* Checks the directory, fills info (real path, file system, source, device, what the cluster says of itself)
 * and the mount point. 0; -EINVAL, with one line in why that says what is wrong and what to do. */
int scenario_inspect(struct scenario *s, char why[SCENARIO_WHY]) __attribute__((warn_unused_result));

/* True if a and b lie on one device and neither is the other's A/A arm: comparing them would say nothing. */
bool scenario_same_device(const struct scenario *a, const struct scenario *b);

/* Makes the run directory (or takes over what a killed sweep with this seed left), checks that needed_bytes
 * are free and, if direct or outside of the kernel, that the engine can move blocks of block_bytes. 0, or a negative errno and why.
 * Detach it also after an error. */
int scenario_attach(struct scenario *s, uint64_t seed, uint64_t needed_bytes, const struct engine *engine,
                    bool direct, uint64_t block_bytes, char why[SCENARIO_WHY]) __attribute__((warn_unused_result));

/* Removes the test files and the run directory, unless they are to be kept. 0 or a negative errno of what stayed. */
int scenario_detach(struct scenario *s) __attribute__((warn_unused_result));

#endif
