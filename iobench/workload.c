/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/workload.h"

#include "common/check.h"

static const struct workload workloads[TEST_KINDS] = {
    [TEST_WRITE] = {TEST_WRITE, .writes = true, .random = false, .new_files = true},
    [TEST_READ] = {TEST_READ, .writes = false, .random = false, .new_files = false},
    [TEST_RANDOM_WRITE] = {TEST_RANDOM_WRITE, .writes = true, .random = true, .new_files = false},
    [TEST_RANDOM_READ] = {TEST_RANDOM_READ, .writes = false, .random = true, .new_files = false},
};

const struct workload *workload_of(enum test_kind test)
{
    CHECK((unsigned)test < TEST_KINDS);
    return &workloads[test];
}
