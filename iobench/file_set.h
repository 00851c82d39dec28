/* SPDX-License-Identifier: Apache-2.0
 *
 * The test files of one scenario: names, identities and sizes, and their removal. Three sets per scenario: the
 * prepared files that reading and rewriting tests share ("f.0", "f.1", ...), those that a write test makes
 * ("w.0", ...), and the directories of tests of names ("d.0", ...; worker_names.h removes them). The files themselves are written by workers. Not thread-safe.
 */
#ifndef CALF_IOBENCH_FILE_SET_H
#define CALF_IOBENCH_FILE_SET_H

#include <stdint.h>

#include "iobench/workers.h"

enum { FILE_SET_FILES = 256, FILE_SET_DIRECTORY = 416, FILE_SET_PATH = FILE_SET_DIRECTORY + 16 };

struct file_set {
    char prefix;
    uint64_t file_bytes;                      /* of each, 0 before the first preparation */
    uint32_t count;                           /* so many exist whole, from 0 */
    struct worker_file files[FILE_SET_FILES]; /* named all along, whether they exist or not */
    char paths[FILE_SET_FILES][FILE_SET_PATH];
};

/* Names the files; makes none. prefix: one letter. The identities' file numbers start at first_number. */
void file_set_init(struct file_set *set, const char *directory, char prefix, uint32_t first_number);

/* File i lies on mount i % count of the same file system: its path begins with that mount's directory, DIRECTORY + number from
 * the second on ("/run/calf/bare/mnt", "mnt2", ...), where set's begin with the first one's. */
void file_set_spread(struct file_set *set, const char *mount, uint32_t count);

/* Gives files from..to-1 a new generation: what is written next. */
void file_set_renew(struct file_set *set, uint32_t from, uint32_t to, uint32_t generation);

/* Removes files 0..count-1 as far as they exist, and forgets them. 0, or the negative errno of the first that
 * stayed. */
int file_set_remove(struct file_set *set, uint32_t count) __attribute__((warn_unused_result));

/* Removes everything that an earlier run may have left in the directory: files and directories named PREFIX.NUMBER. The rest
 * stays. */
void file_set_sweep_directory(const char *directory);

#endif
