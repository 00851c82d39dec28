#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real programs on the mounts of the deployments leave what they leave on a tmpfs (11-real-programs does it for bare).
# REAL_STEPS="copy tar git build sqlite fio sparse" takes all of them, which is too long for every run of the suite.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"
. "$(dirname "$0")/real-programs.sh"

cluster_requires bare-net docker-host docker-bridge
for scenario in bare-net docker-host docker-bridge; do
    step "$scenario"
    cluster up $scenario --size 768m >/dev/null
    # shellcheck disable=SC2086
    real_programs "$(mount_of $scenario)" ${REAL_STEPS:-tar git fio sparse}
    cluster down $scenario
    assert_nothing_left $scenario
done
