#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The simulation's layer of the suite: the same seed twice gives the same steps, SEEDS runs (default 1000) from seed FIRST
# (default 1), the planted faults, and that no call of the shipped code escapes. The last line is "sim: N passed, N failed, 0 skipped", a run of a seed and a
# planted fault being one test each.
set -u

cd "$(dirname "$0")/../.." || exit 2
make -s -j"$(nproc)" build/release/bin/sim || exit 1
sim=build/release/bin/sim
passed=0 failed=0

count() { # count LOG; adds the numbers of its last line
    local p f
    read -r p f < <(sed -n 's/^[a-z]*: \([0-9]*\) passed, \([0-9]*\) failed, .*/\1 \2/p' "$1" | tail -n 1)
    passed=$((passed + ${p:-0}))
    failed=$((failed + ${f:-1}))
}

# A call to the outside that nobody replaced would make runs differ, or reach the real machine.
unknown=$(nm -u --dynamic $sim | awk '{ print $2 }' | sed 's/@.*//' | grep -v -e '^_[_I]' | grep -vxF -f tests/sim/harmless.txt)
if [ -n "$unknown" ]; then
    echo "FAIL  calls that the simulation neither replaces (tests/sim/wrapped.txt) nor knows as harmless (harmless.txt):" $unknown
    failed=1
else
    passed=1
fi

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for part in "$sim --twice --seeds 10" "$sim --first ${FIRST:-1} --seeds ${SEEDS:-1000} --keep-going" tests/sim/planted.sh; do
    # shellcheck disable=SC2086
    $part 2>&1 | tee "$log"
    count "$log"
done
echo "sim: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
