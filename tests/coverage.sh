#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the tests reach: runs unit tests, simulation and, as root, the host scripts with programs that count their lines and branches
# (MODE=cov), then writes build/coverage/summary.txt (by file, with every line that nothing reached) and build/coverage/coverage.md
# (the same without lines that are no error's; tests/coverage.md is a dated copy). gcov comes with gcc. About half an hour.
#
# usage: coverage.sh [unit] [sim] [host] [report]      default: all, from zero; with names: those, added to what was counted before
# SEEDS: of the simulation (200). A process that is killed leaves no counts; one that ends by SIGTERM does.
set -u

cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C
out=build/coverage
mkdir -p $out
parts=$*
[ -n "$parts" ] || find build/cov -name '*.gcda' -delete 2>/dev/null
failed=0

wanted() { [ -z "$parts" ] || [[ " $parts " == *" $1 "* ]]; }

# A test that fails still reaches what it reaches; the status says so at the end.
run_part() { # run_part NAME command...
    local name=$1
    shift
    wanted "$name" || return 0
    "$@" </dev/null 2>&1 | tee $out/"$name".log
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
}

unit_programs() { find tests/unit -name 'test_*.c' | sort | sed 's|^tests/unit/\(.*\)\.c$|build/cov/tests/\1|'; }

mapfile -t programs < <(unit_programs)
make -s -j"$(nproc)" MODE=cov all build/cov/bin/sim build/cov/bin/model "${programs[@]}" || exit 1

run_part unit env UNIT_TIMEOUT=400 tests/run-unit.sh "${programs[@]}"
run_part sim build/cov/bin/sim --seeds "${SEEDS:-200}"
if [ "$(id -u)" -eq 0 ]; then
    run_part host env CALF_BIN=build/cov/bin CALF_TIME_FACTOR=3 tests/integration/run.sh 1 2 3 4
elif wanted host; then
    echo "coverage.sh: the host scripts need root, so they are left out" >&2
fi
if wanted report; then
    python3 tests/tools/coverage_report.py build/cov $out || exit 1
fi
exit $failed
