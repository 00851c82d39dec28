/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/test_kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *upper, *lower, *brief;
} kinds[TEST_KINDS] = {
    [TEST_WRITE] = {"write", "", "write", "write"},
    [TEST_READ] = {"read", "", "read", "read"},
    [TEST_RANDOM_WRITE] = {"random-write", "random-", "write", "rnd-wr"},
    [TEST_RANDOM_READ] = {"random-read", "random-", "read", "rnd-rd"},
    [TEST_REWRITE] = {"rewrite", "", "rewrite", "rewr"},
    [TEST_REREAD] = {"reread", "", "reread", "reread"},
    [TEST_MIXED] = {"mixed", "", "mixed", "mixed"},
    [TEST_BACKWARD_READ] = {"backward-read", "backwd-", "read", "bck-rd"},
    [TEST_STRIDE_READ] = {"stride-read", "stride-", "read", "str-rd"},
    [TEST_RECORD_REWRITE] = {"record-rewrite", "record-", "rewrite", "rec-rw"},
    [TEST_APPEND] = {"append", "", "append", "append"},
    [TEST_FWRITE] = {"fwrite", "", "fwrite", "fwrite"},
    [TEST_FREWRITE] = {"frewrite", "", "frewrit", "frewr"},
    [TEST_FREAD] = {"fread", "", "fread", "fread"},
    [TEST_FREREAD] = {"freread", "", "freread", "frerd"},
    [TEST_VECTOR_WRITE] = {"vector-write", "vector-", "write", "vec-wr"},
    [TEST_VECTOR_REWRITE] = {"vector-rewrite", "vector-", "rewrite", "vec-rw"},
    [TEST_VECTOR_READ] = {"vector-read", "vector-", "read", "vec-rd"},
    [TEST_VECTOR_REREAD] = {"vector-reread", "vector-", "reread", "vec-rr"},
    [TEST_CREATE] = {"create", "", "create", "create"},
    [TEST_STAT] = {"stat", "", "stat", "stat"},
    [TEST_OPEN] = {"open", "", "open", "open"},
    [TEST_READDIR] = {"readdir", "", "readdir", "rddir"},
    [TEST_RENAME] = {"rename", "", "rename", "rename"},
    [TEST_UNLINK] = {"unlink", "", "unlink", "unlink"},
};

/* Each ends with TEST_KINDS. iozone: the modes 0 to 12 of its -i in their order; pwrite and pread (9, 10) are what write and
 * read do here with the engine "sync", so they stand there once. */
static const enum test_kind article[] = {TEST_WRITE, TEST_READ, TEST_RANDOM_WRITE, TEST_RANDOM_READ, TEST_KINDS};
static const enum test_kind iozone[] = {
    TEST_WRITE,        TEST_REWRITE,        TEST_READ,        TEST_REREAD,        TEST_RANDOM_READ,
    TEST_RANDOM_WRITE, TEST_BACKWARD_READ,  TEST_RECORD_REWRITE, TEST_STRIDE_READ, TEST_FWRITE,
    TEST_FREWRITE,     TEST_FREAD,          TEST_FREREAD,     TEST_MIXED,         TEST_VECTOR_WRITE,
    TEST_VECTOR_REWRITE, TEST_VECTOR_READ,  TEST_VECTOR_REREAD, TEST_KINDS};
static const enum test_kind metadata[] = {TEST_CREATE, TEST_STAT,   TEST_OPEN,  TEST_READDIR,
                                          TEST_RENAME, TEST_UNLINK, TEST_KINDS};
static const enum test_kind probe[] = {TEST_RANDOM_READ, TEST_RANDOM_WRITE, TEST_KINDS};

static const struct {
    const char *name;
    const enum test_kind *tests;
} sets[] = {{"article", article}, {"iozone", iozone}, {"metadata", metadata}, {"probe", probe}};

const char *test_kind_name(enum test_kind test)
{
    return (unsigned)test < TEST_KINDS ? kinds[test].name : NULL;
}

int test_kind_parse(const char *name, enum test_kind *test)
{
    for (unsigned i = 0; i < TEST_KINDS; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            *test = (enum test_kind)i;
            return 0;
        }
    }
    return -EINVAL;
}

bool test_kind_counts_operations(enum test_kind test)
{
    return test >= TEST_CREATE && test <= TEST_UNLINK;
}

const char *test_kind_upper_label(enum test_kind test)
{
    return kinds[test].upper;
}

const char *test_kind_lower_label(enum test_kind test)
{
    return kinds[test].lower;
}

const char *test_kind_short_name(enum test_kind test)
{
    return kinds[test].brief;
}

size_t test_kind_expand(const char *word, enum test_kind tests[TEST_KINDS])
{
    if (test_kind_parse(word, &tests[0]) == 0)
        return 1;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        size_t count = 0;
        if (strcmp(word, sets[i].name) != 0)
            continue;
        for (; sets[i].tests[count] != TEST_KINDS; count++)
            tests[count] = sets[i].tests[count];
        return count;
    }
    return 0;
}

void test_kind_list(char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < TEST_KINDS && used < text_bytes; i++, used = strlen(text))
        (void)snprintf(text + used, text_bytes - used, "%s%s", i ? ", " : "", kinds[i].name);
    if (used < text_bytes)
        (void)snprintf(text + used, text_bytes - used, "; sets: " TEST_KIND_SETS);
}
