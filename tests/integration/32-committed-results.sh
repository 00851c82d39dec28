#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tables in docs/results/ are what `iobench compare` prints from the raw samples beside them, byte for byte; and the
# article's figures give the percentages that the documents name.
# timeout: 60
. "$(dirname "$0")/lib.sh"

found=0
for result in "$ROOT"/docs/results/*/results.json; do
    [ -e "$result" ] || continue
    found=$((found + 1))
    "$BIN/iobench" compare "$(dirname "$result")" >"$TEST_DIR/table.txt"
    cmp "$TEST_DIR/table.txt" "$(dirname "$result")/table.txt" || fail "$result: another table.txt"
    "$BIN/iobench" compare --markdown "$(dirname "$result")" >"$TEST_DIR/table.md"
    cmp "$TEST_DIR/table.md" "$(dirname "$result")/table.md" || fail "$result: another table.md"
done
[ $found -gt 0 ] || fail "there is no result in docs/results"

"$BIN/iobench" compare "$ROOT/docs/examples/moosefs-docker-article.csv" >"$TEST_DIR/article.txt"
for figure in 92.15 94.52 95.50 88.47 90.28 57.0 105.4 'single run'; do
    grep -qi "$figure" "$TEST_DIR/article.txt" || fail "the article's table lacks $figure"
done
