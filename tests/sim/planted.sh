#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shows that the simulation sees faults: each patch of tests/sim/planted/ is applied to a copy of the tree, the simulation is
# built from it, and a seed must fail within SEEDS (default 1000). A patch that does not apply to the present code
# fails too. The last line is "planted: N passed, N failed, 0 skipped".
#
# usage: planted.sh [NAME...]        names of patches, without .patch; none means all
set -u

cd "$(dirname "$0")/../.." || exit 2
seeds=${SEEDS:-1000}
work=$(mktemp -d "${TMPDIR:-/tmp}/calf-planted.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# With what is built already, so that only what the patch changes is compiled.
copy_tree() {
    mkdir -p "$work/tree/build" &&
        cp -a Makefile common master chunkserver client iobench tests "$work/tree/" &&
        cp -a build/release "$work/tree/build/"
}

# Prints why it failed, or the seed that found the fault.
try() { # try PATCH
    local patch=$PWD/$1 seed
    rm -rf "$work/tree"
    copy_tree || { echo "the tree cannot be copied"; return 1; }
    cd "$work/tree" || return 1
    if ! patch -p1 -s -f -N -F 2 <"$patch" >"$work/log" 2>&1; then
        echo "the patch does not apply to the present code: $(head -n 1 "$work/log")"
        return 1
    fi
    if ! make -s -j"$(nproc)" build/release/bin/sim >"$work/log" 2>&1; then
        echo "the patched code does not build: $(grep -m 1 error "$work/log")"
        return 1
    fi
    build/release/bin/sim --first 1 --seeds "$seeds" >"$work/log" 2>&1
    seed=$(sed -n 's/^seed \([0-9]*\) FAILED.*/\1/p' "$work/log" | head -n 1)
    if [ -z "$seed" ]; then
        echo "not seen within $seeds seeds"
        return 1
    fi
    echo "seen by seed $seed: $(grep -m 1 -o -e 'VIOLATION.*' -e 'seed .* FAILED.*' "$work/log" | cut -c 1-160)"
}

# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(cd tests/sim/planted && ls -- *.patch | sed 's/\.patch$//')
make -s -j"$(nproc)" build/release/bin/sim >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
for name in "$@"; do
    if answer=$(try "tests/sim/planted/$name.patch"); then
        passed=$((passed + 1))
        echo "pass  planted/$name: $answer"
    else
        failed=$((failed + 1))
        echo "FAIL  planted/$name: $answer"
    fi
done
echo "planted: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
