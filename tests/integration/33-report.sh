#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `iobench report` writes one file that a browser shows without an error and without a network, at 1280 and 390 pixels, light
# and dark: every chart has content, no text overlaps or is cut off, the figures in charts are those of results.json. Its size
# is limited for the article preset, and what is no result is refused in one line.
# timeout: 300
. "$(dirname "$0")/lib.sh"

make -s -C "$ROOT" "OUT=$(dirname "$BIN")" "$BIN/synthetic-result" >"$TEST_DIR/make.log" 2>&1 ||
    fail "synthetic-result does not build: $(tail -n 1 "$TEST_DIR/make.log")"

step "a report of the article preset: four deployments, 200 cells, 6 rounds"
"$BIN/synthetic-result" "$TEST_DIR/article" 4 10 5 6 0.05 0.03 7
assert_eq "$("$BIN/iobench" report "$TEST_DIR/article")" "$TEST_DIR/article/report.html" "where the report is"
bytes=$(stat -c %s "$TEST_DIR/article/report.html")
[ "$bytes" -lt 1500000 ] || fail "the report of the article preset has $bytes bytes"
! grep -nE '(src|href)="?(https?:)?//' "$TEST_DIR/article/report.html" || fail "the report refers to something outside"
! grep -n '@[A-Z]*@' "$TEST_DIR/article/report.html" || fail "a place in the page was not filled"

step "the baseline's name, another place, standard output, a CSV, two results"
"$BIN/iobench" report "$TEST_DIR/article/results.json" --baseline docker-host --out - >"$TEST_DIR/other.html"
grep -q 'Compared with <strong>docker-host</strong>' "$TEST_DIR/other.html" || fail "another baseline does not show"
"$BIN/iobench" report "$ROOT/docs/examples/moosefs-docker-article.csv" --out "$TEST_DIR/csv.html" >/dev/null
grep -q '<strong>92.2%</strong>\|<strong>92.1%</strong>' "$TEST_DIR/csv.html" || fail "the article's overall figure is missing"
grep -q 'Single runs:' "$TEST_DIR/csv.html" || fail "the report does not say that single runs have no interval"
"$BIN/synthetic-result" "$TEST_DIR/noise" 5 3 5 8 -0.06 0.02 8 # wide figures: faster, five thread counts
"$BIN/iobench" report "$TEST_DIR/article" "$TEST_DIR/noise" --out "$TEST_DIR/both.html" >/dev/null
grep -q 'Not in pairs:' "$TEST_DIR/both.html" || fail "the report does not say that two results have no pairs"

step "what is no result"
status=0
"$BIN/iobench" report "$ROOT/README.md" --out "$TEST_DIR/none.html" 2>"$TEST_DIR/refusal" || status=$?
assert_eq "$status" 2 "the exit status"
assert_eq "$(wc -l <"$TEST_DIR/refusal")" 1 "the lines of the refusal"
[ ! -e "$TEST_DIR/none.html" ] || fail "a refused report was written"

step "compare of 50,000 samples takes less than a second of CPU time"
"$BIN/synthetic-result" "$TEST_DIR/large" 5 10 5 50 0.05 0.05 3
TIMEFORMAT=%U
seconds=$({ time "$BIN/iobench" compare "$TEST_DIR/large" >/dev/null; } 2>&1)
echo "$seconds s"
awk -v s="$seconds" 'BEGIN { exit !(s < 1) }' || fail "comparing 50,000 samples took $seconds s"
rm -r "$TEST_DIR/large"

requires chromium python3
step "in a browser: a result with a noise arm, and names that look like HTML"
python3 - "$TEST_DIR/noise/results.json" "$TEST_DIR/names.json" <<'EOF'
import json, sys
result = json.load(open(sys.argv[1]))
result['scenarios'][2]['name'] = '<b>&"x</script><!--'
del result['fnv1a64']
json.dump(result, open(sys.argv[2], 'w'))
EOF
"$BIN/iobench" report "$TEST_DIR/names.json" --out "$TEST_DIR/names.html" >/dev/null
python3 "$ROOT/tests/tools/report_check.py" "$TEST_DIR/names.html" "$TEST_DIR/screenshots" "$TEST_DIR/names.json"
