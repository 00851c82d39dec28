#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The long tests, one after the other; hours. What has passed is not run again until the sources change or build/campaign is
# removed, so it goes on where it was interrupted. Each step's output is in build/campaign/STEP.log, its result a line in
# build/campaign/summary; tests/campaign.md is the committed record.
#
#     tests/campaign/campaign.sh [STEP...]      default: all
#
# Programs of others are built outside of this tree and named by the environment; a step whose program is not named is skipped:
#     PJDFSTEST=DIR     pjdfstest, built        FSX=FILE       fsx of xfstests        FSSTRESS=FILE   fsstress of xfstests
# The step tools wants Debian's packages fio, stress-ng, dbench, bonnie++ and fsmark.
set -u

cd "$(dirname "$0")/../.." || exit 2
out=build/campaign
mkdir -p $out

#  step          command; $n: what the environment must name, if anything
STEPS='
pjdfstest       PJDFSTEST  tests/campaign/pjdfstest.sh "$PJDFSTEST" $out/pjdfstest.summary
fsx             FSX        tests/campaign/fsx.sh "$FSX"
fsstress        FSSTRESS   tests/campaign/fsstress.sh "$FSSTRESS"
tools           -          tests/campaign/tools.sh
ledger          -          env LEDGER_ROUNDS=200 tests/integration/41-ledger.sh
model           -          env MODEL_SEEDS=10 MODEL_OPS=20000 tests/integration/42-model.sh
simulation      -          tests/campaign/simulation.sh 10000 $out/simulation.state
journal-power   -          env CALF_TEST_CASES=5000 build/release/tests/test_journal_power
million-files   -          tests/campaign/million-files.sh 1000000 $out/million-files.summary
cycles          -          make cycles
'
version=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
make -s -j"$(nproc)" all build/release/tests/test_journal_power build/release/bin/model || exit 1

run_step() { # run_step NAME NEEDS COMMAND
    local name=$1 needs=$2 command=$3 start=$SECONDS status
    if [ "$(cat $out/"$name".passed 2>/dev/null)" = "$version" ]; then
        echo "$name: passed before, at $version"
        return 0
    fi
    if [ "$needs" != - ] && [ -z "${!needs:-}" ]; then
        echo "SKIP $name: the environment does not name $needs"
        return 0
    fi
    echo "$name: $command"
    eval "$command" >$out/"$name".log 2>&1 </dev/null
    status=$?
    printf '%s %s %s: %s in %d s\n' "$(date -u +%Y-%m-%dT%H:%MZ)" "$version" "$name" \
        "$([ $status -eq 0 ] && echo passed || echo "FAILED, status $status")" $((SECONDS - start)) | tee -a $out/summary
    if [ $status -ne 0 ]; then
        tail -n 20 $out/"$name".log | sed 's/^/    /'
        return 1
    fi
    echo "$version" >$out/"$name".passed
}

failed=0 ran=0
while read -r name needs command; do
    [ -n "$name" ] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    ran=$((ran + 1))
    run_step "$name" "$needs" "$command" || failed=$((failed + 1))
done <<<"$STEPS"
[ $ran -gt 0 ] || { echo "campaign.sh: no such step: $*" >&2; exit 2; }
echo "campaign: $((ran - failed)) of $ran steps without a failure"
[ $failed -eq 0 ]
