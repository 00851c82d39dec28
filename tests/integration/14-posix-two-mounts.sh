#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same with every file seen through two mounts, and sqlite3 on one database from both.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/posix-cases.sh"

requires sqlite3
start_posix_cluster 2
mount_calf mnt
A=$MNT
mount_calf second
B=$MNT
posix_cases two "$A" "$B"
posix_cases two-direct "$A" "$B" --direct --only "$FILE_CASES,$CACHE_CASES"

step "sqlite3 from both mounts at once"
sqlite3 "$A/db" 'create table t (who, n); pragma journal_mode=delete;' >/dev/null
insert() { # insert MOUNT WHO: a transaction for each row, in one process that keeps the database open
    local n
    {
        echo '.timeout 60000'
        for n in $(seq 40); do echo "begin immediate; insert into t values ('$2', $n); commit; select count(*) > 0 from t;"; done
    } | sqlite3 -bail "$1/db" >"$TEST_DIR/sqlite.$2"
}
start_job one insert "$A" one
start_job two insert "$B" two
start_job three insert "$B" three
for job in one two three; do
    job_status $job 120 || fail "$job: $(tail -n 3 "$TEST_DIR/job-$job.log")"
done
for mount in "$A" "$B"; do
    assert_eq "$(sqlite3 "$mount/db" 'pragma integrity_check; select count(*), count(distinct who || n) from t;' | tr '\n' ' ')" \
        'ok 120|120 ' "rows"
done
