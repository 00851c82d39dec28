#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The simulation, SEEDS runs from seed 1 in pieces: what has passed with the programs of this commit stands in STATE and is not run
# again, so that it goes on where it was interrupted.
#
#     tests/campaign/simulation.sh SEEDS STATE
set -u

cd "$(dirname "$0")/../.." || exit 2
SEEDS=${1:?simulation.sh: how many seeds?} STATE=${2:?simulation.sh: which file says how far it came?}
PIECE=250
make -s -j"$(nproc)" build/release/bin/sim || exit 1
version=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
read -r for_version next < <(cat "$STATE" 2>/dev/null)
[ "${for_version:-}" = "$version" ] || next=1
while [ "$next" -le "$SEEDS" ]; do
    count=$((SEEDS - next + 1 < PIECE ? SEEDS - next + 1 : PIECE))
    build/release/bin/sim --first "$next" --seeds $count || exit 1
    next=$((next + count))
    echo "$version $next" >"$STATE"
done
echo "$SEEDS seeds passed at $version"
