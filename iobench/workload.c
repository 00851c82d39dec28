/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/workload.h"

#include "common/check.h"

#define READS .reads = true
#define WRITES .writes = true
#define ONCE .order = ACCESS_RANDOM_ONCE
#define NEW .new_files = true
#define AGAIN .read_before = true
#define STDIO .engine = &engine_stdio
#define VECTORED .engine = &engine_vectored
#define NAMES .names = true

static const struct workload workloads[TEST_KINDS] = {
    [TEST_WRITE] = {TEST_WRITE, WRITES, NEW},
    [TEST_READ] = {TEST_READ, READS},
    [TEST_RANDOM_WRITE] = {TEST_RANDOM_WRITE, WRITES, ONCE},
    [TEST_RANDOM_READ] = {TEST_RANDOM_READ, READS, ONCE},
    [TEST_REWRITE] = {TEST_REWRITE, WRITES},
    [TEST_REREAD] = {TEST_REREAD, READS, AGAIN},
    [TEST_MIXED] = {TEST_MIXED, READS, WRITES, ONCE},
    [TEST_BACKWARD_READ] = {TEST_BACKWARD_READ, READS, .order = ACCESS_BACKWARD},
    [TEST_STRIDE_READ] = {TEST_STRIDE_READ, READS, .order = ACCESS_STRIDE},
    [TEST_RECORD_REWRITE] = {TEST_RECORD_REWRITE, WRITES, .order = ACCESS_SAME},
    [TEST_APPEND] = {TEST_APPEND, WRITES, NEW, .append = true},
    [TEST_FWRITE] = {TEST_FWRITE, WRITES, NEW, STDIO},
    [TEST_FREWRITE] = {TEST_FREWRITE, WRITES, STDIO},
    [TEST_FREAD] = {TEST_FREAD, READS, STDIO},
    [TEST_FREREAD] = {TEST_FREREAD, READS, AGAIN, STDIO},
    [TEST_VECTOR_WRITE] = {TEST_VECTOR_WRITE, WRITES, NEW, VECTORED},
    [TEST_VECTOR_REWRITE] = {TEST_VECTOR_REWRITE, WRITES, VECTORED},
    [TEST_VECTOR_READ] = {TEST_VECTOR_READ, READS, VECTORED},
    [TEST_VECTOR_REREAD] = {TEST_VECTOR_REREAD, READS, AGAIN, VECTORED},
    [TEST_CREATE] = {TEST_CREATE, NAMES},
    [TEST_STAT] = {TEST_STAT, NAMES},
    [TEST_OPEN] = {TEST_OPEN, NAMES},
    [TEST_READDIR] = {TEST_READDIR, NAMES},
    [TEST_RENAME] = {TEST_RENAME, NAMES},
    [TEST_UNLINK] = {TEST_UNLINK, NAMES},
};

const struct workload *workload_of(enum test_kind test)
{
    CHECK((unsigned)test < TEST_KINDS);
    return &workloads[test];
}

bool workload_covers(const struct workload *workload)
{
    return workload->writes && !workload->reads && workload->order != ACCESS_SAME;
}
