/* SPDX-License-Identifier: Apache-2.0
 *
 * The tests by name: how they are called in options, files and tables. What a test does stands in workload.h. The order
 * is that of the tables; a new test comes last. Pure.
 */
#ifndef CALF_IOBENCH_TEST_KIND_H
#define CALF_IOBENCH_TEST_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum test_kind {
    TEST_WRITE,
    TEST_READ,
    TEST_RANDOM_WRITE,
    TEST_RANDOM_READ,
    TEST_REWRITE,
    TEST_REREAD,
    TEST_MIXED,
    TEST_BACKWARD_READ,
    TEST_STRIDE_READ,
    TEST_RECORD_REWRITE,
    TEST_APPEND,
    TEST_FWRITE,
    TEST_FREWRITE,
    TEST_FREAD,
    TEST_FREREAD,
    TEST_VECTOR_WRITE,
    TEST_VECTOR_REWRITE,
    TEST_VECTOR_READ,
    TEST_VECTOR_REREAD,
    TEST_CREATE,
    TEST_STAT,
    TEST_OPEN,
    TEST_READDIR,
    TEST_RENAME,
    TEST_UNLINK,
    TEST_KINDS
};

/* The first four are the article's. */
enum { TEST_ARTICLE_KINDS = TEST_RANDOM_READ + 1 };

/* "random-write"; NULL / -EINVAL for no such test. */
const char *test_kind_name(enum test_kind test);
int test_kind_parse(const char *name, enum test_kind *test) __attribute__((warn_unused_result));

/* True for tests of names, not of data: nothing is moved, so their rate is operations per second, and their block size
 * is 0. */
bool test_kind_counts_operations(enum test_kind test);

/* For narrow columns: at most seven characters each, "random-" over "write" ("" where one line is enough), and a single
 * word of six, "rnd-wr". */
const char *test_kind_upper_label(enum test_kind test);
const char *test_kind_lower_label(enum test_kind test);
const char *test_kind_short_name(enum test_kind test);

/* The tests that a word of --tests stands for: a test alone, or a set ("article", "iozone", "metadata", "probe"). Fills tests
 * and gives how many, 0 for no such word. */
size_t test_kind_expand(const char *word, enum test_kind tests[TEST_KINDS]);

/* All names and sets, separated by commas, for --help and errors. */
#define TEST_KIND_SETS "article, iozone, metadata, probe"
void test_kind_list(char *text, size_t text_bytes);

#endif
